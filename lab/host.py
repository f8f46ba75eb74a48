"""The emulated machine's disks: a Debian 13 root, one disk per stock kernel."""

from __future__ import annotations

import re
from pathlib import Path

from lab import cache, files
from lab.command import run
from lab.kernels import Kernel
from lab.paths import SRC

# systemd is there for those who boot it; the lab's own init is faster.
_PACKAGES = """
    kmod procps iproute2 pciutils util-linux util-linux-extra busybox-static initramfs-tools zstd
    bsdextrautils strace systemd-sysv udev dbus ca-certificates python3 less file
""".split()
_HERE = SRC / "lab"
_GIB = 1 << 30


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
            *("trixie", target, *trixie),
        )
        files.write(target / "etc/hostname", "lab\n")
        files.write(target / "etc/fstab", "")
        files.write(target / "etc/resolv.conf", "")
        run("chroot", target, "passwd", "-d", "root")
        (target / "lab").mkdir()
        (target / "usr/lib/modules").mkdir(exist_ok=True)

    return cache.make("host-root", cache.digest(*_PACKAGES, *trixie, Path(__file__)), "making the machine's Debian root", build)


def root_disk() -> Path:
    """The root as an ext4 image; machines write to a throw-away layer over it."""
    tree = root_tree()

    def build(target: Path) -> None:
        files.ext4(tree, target, spare=2 * _GIB)

    return cache.make("host-root.ext4", tree.name.rpartition("-")[2], "making the machine's root disk", build)


def kernel_disk(kernel: Kernel) -> Path:
    """boot/ and lib/modules/ of one kernel, with Debian's own initrd for it."""
    tree = root_tree()

    def build(target: Path) -> None:
        initrd = kernel.root / "boot" / f"initrd.img-{kernel.version}"
        _mkinitramfs(tree, kernel, initrd)
        files.ext4(kernel.root, target, spare=_GIB // 4)

    key = cache.digest(tree.name, kernel.version)
    name = f"kernel-{kernel.flavour}.ext4"
    return cache.make(name, key, f"making the disk of kernel {kernel.version} (with Debian's initrd)", build)


def _mkinitramfs(tree: Path, kernel: Kernel, initrd: Path) -> None:
    """Run Debian's mkinitramfs in the machine's root, in a mount namespace."""
    boot = kernel.root / "boot"
    script = f"""
        set -e
        mount --bind {kernel.root}/lib/modules {tree}/usr/lib/modules
        mount --bind {boot} {tree}/boot
        mount -t proc proc {tree}/proc
        mount -t tmpfs tmpfs {tree}/var/tmp
        chroot {tree} mkinitramfs -o /boot/{initrd.name}.new {kernel.version}
        mv {initrd}.new {initrd}
    """
    run("unshare", "--mount", "--propagation", "unchanged", "sh", "-c", script)


def _insmod_order(kernel: Kernel, names: list[str]) -> list[Path]:
    """The files of these modules and all they need, in loading order."""
    order: list[Path] = []
    for name in names:
        text = run("modprobe", "-d", kernel.root, "-S", kernel.version, "--show-depends", name)
        for match in re.finditer(r"^insmod (\S+)", text, re.MULTILINE):
            path = Path(match[1])
            if path not in order:
                order.append(path)
    return order


def initramfs(kernel: Kernel) -> Path:
    """The tiny initramfs that finds the machine's disks and hands over to them."""
    init = _HERE / "guest" / "host-initramfs"

    def build(target: Path) -> None:
        tree = target.with_suffix(".tree")
        cache.remove(tree)
        (tree / "bin").mkdir(parents=True)
        run("cp", "/bin/busybox", tree / "bin/busybox")
        files.write(tree / "init", init.read_text(), 0o755)
        modules = ["virtio_pci", "virtio_blk", "ext4", "virtio_console", "virtio_rng"]
        for number, module in enumerate(_insmod_order(kernel, modules)):
            name = module.name.partition(".")[0]
            plain = tree / "modules" / f"{number:02}-{name}.ko"
            plain.parent.mkdir(exist_ok=True)
            run("cp", module, plain.with_name(plain.name + module.suffix if module.suffix != ".ko" else plain.name))
            if module.suffix != ".ko":
                run({".xz": "xz", ".zst": "zstd"}[module.suffix], "-d", "-q", plain.with_name(plain.name + module.suffix))
        files.cpio(tree, target)
        cache.remove(tree)

    key = cache.digest(kernel.version, init, Path(__file__))
    return cache.make(f"host-initramfs-{kernel.flavour}", key, f"making the machine's initramfs ({kernel.flavour})", build)


def partition_initrd() -> Path:
    """The bare busybox initrd that partitions boot: /boot/lab-initrd.img."""
    guest = _HERE / "guest"

    def build(target: Path) -> None:
        tree = target.with_suffix(".tree")
        cache.remove(tree)
        for directory in ("bin", "dev", "proc", "sys", "tmp", "etc", "root"):
            (tree / directory).mkdir(parents=True)
        (tree / "sbin").symlink_to("bin")
        run("cp", "/bin/busybox", tree / "bin/busybox")
        files.write(tree / "init", (guest / "partition-init").read_text(), 0o755)
        files.write(tree / "etc/inittab", (guest / "partition-inittab").read_text())
        files.cpio(tree, target)
        cache.remove(tree)

    return cache.make("lab-initrd", cache.digest(guest, Path(__file__)), "making the lab's partition initrd", build)
