"""A root disk for partitions: a stock Debian 13 with systemd.

A partition that boots a kernel of the host's /boot with Debian's initrd and
``root=LABEL=partition`` gets a login on its console, by systemd's own means:
ttyIKC0 is the last console= of its command line.
"""

from __future__ import annotations

from pathlib import Path

from lab import cache, debian, files, kernels
from lab.arch import ARCHES, DEFAULT, Arch
from lab.command import run
from lab.paths import SRC

#: Label of the file system and name of the partition that boots it.
NAME = "partition"

_PACKAGES = (
    *("systemd-sysv", "udev", "dbus", "login", "kmod", "procps", "python3-minimal"),
    *debian.MEASURING,
    "nbd-client",  # a disk over the network, to compare with
)
_SPARE = 1 << 30
_NETWORK = SRC / "lab" / "guest" / "partition.network"

# Stock services that make tests wait or run at random moments.  Tests start
# nginx themselves; waiting for a network stops a partition that has none.
_UNWANTED = (
    *("nginx.service", "systemd-networkd-wait-online.service", "e2scrub_reap.service"),
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer"),
)


def root_tree(arch: Arch = DEFAULT) -> Path:
    """Return the root file system as a directory, without kernel modules."""

    def finish(target: Path) -> None:
        files.write(target / "etc/hostname", f"{NAME}\n")
        files.write(target / "etc/hosts", f"127.0.0.1 localhost {NAME}\n")
        files.write(target / "etc/fstab", f"LABEL={NAME} / ext4 errors=remount-ro 0 1\n")
        # Empty, not absent: each boot has an id of its own and is no first boot.
        files.write(target / "etc/machine-id", "")
        files.write(target / "etc/systemd/network/80-lab.network", _NETWORK.read_text())
        # Nothing to bring up to date (the linker's cache, mostly) in every first boot.
        for part in ("etc", "var"):
            (target / part / ".updated").touch()
        run("systemctl", f"--root={target}", "enable", "systemd-networkd", "systemd-network-generator")
        run("systemctl", f"--root={target}", "disable", *_UNWANTED)

    what = "making the partitions' Debian root"
    return debian.tree("partition-root", what, _PACKAGES, finish, Path(__file__), _NETWORK, arch=arch)


def partition_root(flavour: str = "6.12", arch: str = DEFAULT.name) -> Path:
    """Return an ext4 image of it with that kernel's modules; use a throw-away layer or a copy."""
    tree = root_tree(ARCHES[arch])
    return with_modules("partition-root", tree, flavour, NAME, "making the partitions' root disk", ARCHES[arch])


def with_modules(name: str, tree: Path, flavour: str, label: str, what: str, arch: Arch = DEFAULT) -> Path:
    """Return an ext4 image of a cached tree with a kernel's modules; ``label`` is the file system's."""
    (kernel,) = kernels.get(flavour, arch=arch)

    def build(target: Path) -> None:
        # In a mount namespace, for the modules shall not be copied first.
        script = 'mount --bind "$1" "$2" && exec "${@:3}"'
        image = ("python3", "-m", "lab.files", tree, target, str(_SPARE), label)
        modules = (kernel.root / "lib" / "modules", tree / "usr" / "lib" / "modules")
        run("unshare", "--mount", "--propagation", "unchanged", "bash", "-c", script, "bash", *modules, *image)

    key = cache.digest(tree.name, kernel.version, Path(__file__))
    return cache.make(f"{name}-{kernel.name}.ext4", key, f"{what} ({kernel.name})", build)
