"""The emulated machine's root: a Debian 13 file system, as tree and as disk."""

from __future__ import annotations

from pathlib import Path

from lab import cache, debian, files
from lab.arch import DEFAULT, Arch

# systemd is there for those who boot it; the lab's own init is faster.
_PACKAGES = (
    *("kmod", "procps", "pciutils", "util-linux", "util-linux-extra", "busybox-static"),
    *("initramfs-tools", "zstd", "bsdextrautils", "strace", "systemd-sysv", "udev", "dbus"),
    *("ca-certificates", "python3", "python3-drgn", "less", "file"),
    *debian.MEASURING,
    # What a host does for its partitions: addresses, and disks the usual way to compare with.
    *("dnsmasq-base", "nbd-server"),
)
#: What people run containers with: the reference that our runtime is measured by, and who calls it.
_CONTAINERS = ("podman", "crun", "netavark", "nftables")
_SPARE = 2 << 30


def root_tree(arch: Arch = DEFAULT) -> Path:
    """Return the machine's root file system as a directory."""

    def finish(target: Path) -> None:
        files.write(target / "etc/hostname", "lab\n")
        files.write(target / "etc/fstab", "")
        (target / "lab").mkdir()

    what = f"making the machine's Debian root ({arch.name})"
    packages = (*_PACKAGES, *(_CONTAINERS if arch.native else ()))
    return debian.tree("host-root", what, packages, finish, Path(__file__), arch=arch)


def root_disk(arch: Arch = DEFAULT) -> Path:
    """Return the root as an ext4 image; machines write to a throw-away layer over it."""
    tree = root_tree(arch)
    name, _, key = tree.name.rpartition("-")
    return cache.make(
        f"{name}.ext4", key, "making the machine's root disk", lambda target: files.ext4(tree, target, _SPARE)
    )
