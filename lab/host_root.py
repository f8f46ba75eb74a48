"""The emulated machine's root: a Debian 13 file system, as tree and as disk."""

from __future__ import annotations

from pathlib import Path

from lab import cache, files
from lab.command import run

# systemd is there for those who boot it; the lab's own init is faster.
_PACKAGES = (
    *("kmod", "procps", "iproute2", "pciutils", "util-linux", "util-linux-extra", "busybox-static"),
    *("initramfs-tools", "zstd", "bsdextrautils", "strace", "systemd-sysv", "udev", "dbus"),
    *("ca-certificates", "python3", "python3-drgn", "less", "file"),
)
_SPARE = 2 << 30


def root_tree() -> Path:
    """The machine's root file system as a directory."""
    sources = Path("/etc/apt/sources.list").read_text()
    trixie = [line for line in sources.splitlines() if "trixie" in line]

    def build(target: Path) -> None:
        run(
            "mmdebstrap",
            *("--variant=minbase", f"--include={','.join(_PACKAGES)}"),
            *("--dpkgopt=force-unsafe-io", "--dpkgopt=path-exclude=/usr/share/man/*"),
            *("--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/locale/*"),
            "trixie",
            target,
            *trixie,
        )
        files.write(target / "etc/hostname", "lab\n")
        files.write(target / "etc/fstab", "")
        files.write(target / "etc/resolv.conf", "")
        run("chroot", target, "passwd", "-d", "root")
        (target / "lab").mkdir()
        (target / "usr/lib/modules").mkdir(exist_ok=True)

    key = cache.digest(*_PACKAGES, *trixie, Path(__file__))
    return cache.make("host-root", key, "making the machine's Debian root", build)


def root_disk() -> Path:
    """The root as an ext4 image; machines write to a throw-away layer over it."""
    tree = root_tree()
    key = tree.name.rpartition("-")[2]
    return cache.make(
        "host-root.ext4", key, "making the machine's root disk", lambda target: files.ext4(tree, target, _SPARE)
    )
