"""What the emulated machine boots: a disk per stock kernel, and the initramfs files."""

from __future__ import annotations

import re
from pathlib import Path

from lab import cache, files, foreign_initrd, vmlinux
from lab.arch import DEFAULT, Arch
from lab.command import run
from lab.host_root import root_tree
from lab.kernels import Kernel
from lab.paths import SRC

_GUEST = SRC / "lab" / "guest"
_UNPACK = {".xz": "xz", ".zst": "zstd"}


def kernel_disk(kernel: Kernel, debian_initrd: bool = False) -> Path:
    """Return the disk with boot/ and lib/modules/ of one kernel, it unpacked, and Debian's own initrd for it.

    Of a foreign architecture's it has an initrd only if that is asked for.
    """
    tree = root_tree(kernel.arch)
    bare = not (kernel.arch.native or debian_initrd)
    packed = kernel.unpacked != kernel.image

    def build(target: Path) -> None:
        initrd = kernel.root / "boot" / f"initrd.img-{kernel.version}"
        if kernel.arch.native:
            _mkinitramfs(tree, kernel, initrd)
        elif not bare:
            foreign_initrd.make(kernel, initramfs(kernel), initrd)
        if packed:
            vmlinux.unpack(kernel.image, kernel.unpacked)
        files.ext4(kernel.root, target, spare=256 << 20)

    key = cache.digest(tree.name, kernel.version, *([Path(vmlinux.__file__)] if packed else []))
    name = f"kernel-{kernel.name}{'-bare' if bare else ''}.ext4"
    return cache.make(name, key, f"making the disk of kernel {kernel.version}", build)


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
    """Return the files of these modules and all they need, in loading order."""
    order: list[Path] = []
    for name in names:
        text = run("modprobe", "-d", kernel.root, "-S", kernel.version, "--show-depends", name)
        for match in re.finditer(r"^insmod (\S+)", text, re.MULTILINE):
            path = Path(match[1])
            if path not in order:
                order.append(path)
    return order


def initramfs(kernel: Kernel) -> Path:
    """Return the tiny initramfs that finds the machine's disks and hands over to them."""
    init = _GUEST / "host-initramfs"
    scripts = [_GUEST / f"host-{name}" for name in ("init", "shell", "systemd", "install", "refresh")]

    def build(target: Path) -> None:
        tree = target.with_suffix(".tree")
        cache.remove(tree)
        (tree / "bin").mkdir(parents=True)
        run("cp", _busybox(kernel.arch), tree / "bin/busybox")
        files.write(tree / "init", init.read_text(), 0o755)
        # The lab's own init and its shells; everything else comes when the machine runs.
        for script in scripts:
            files.write(tree / "root-files" / "lab" / script.name.removeprefix("host-"), script.read_text(), 0o755)
        modules = ["virtio_pci", "virtio_blk", "ext4", "virtio_console", "virtio_rng"]
        (tree / "modules").mkdir()
        for number, module in enumerate(_insmod_order(kernel, modules)):
            # Their names are the order in which they are loaded.
            copy = tree / "modules" / f"{number:02}-{module.name}"
            run("cp", module, copy)
            if copy.suffix in _UNPACK:
                run(_UNPACK[copy.suffix], "-d", "-q", "--rm" if copy.suffix == ".zst" else "-f", copy)
        files.cpio(tree, target)
        cache.remove(tree)

    key = cache.digest(kernel.version, init, *scripts, Path(__file__))
    return cache.make(f"host-initramfs-{kernel.name}", key, f"making the machine's initramfs ({kernel.name})", build)


def _busybox(arch: Arch) -> Path:
    """Return a static busybox."""
    return Path("/bin/busybox") if arch.native else root_tree(arch) / "usr/bin/busybox"


def partition_initrd(arch: Arch = DEFAULT) -> Path:
    """Return the bare busybox initrd that partitions boot: /boot/lab-initrd.img."""

    def build(target: Path) -> None:
        tree = target.with_suffix(".tree")
        cache.remove(tree)
        for directory in ("bin", "dev", "proc", "sys", "tmp", "etc", "root"):
            (tree / directory).mkdir(parents=True)
        (tree / "sbin").symlink_to("bin")
        run("cp", _busybox(arch), tree / "bin/busybox")
        files.write(tree / "init", (_GUEST / "partition-init").read_text(), 0o755)
        files.write(tree / "etc/inittab", (_GUEST / "partition-inittab").read_text())
        files.cpio(tree, target)
        cache.remove(tree)

    return cache.make(
        f"lab-initrd{arch.suffix}",
        cache.digest(_GUEST / "partition-init", _GUEST / "partition-inittab", Path(__file__)),
        "making the lab's partition initrd",
        build,
    )
