"""Debian's own initrd for a kernel of another architecture: made by its mkinitramfs, on an emulated machine, once."""

from __future__ import annotations

import tempfile
from pathlib import Path

from lab import boot, files, host_root
from lab.devices import Disk, Place
from lab.kernels import Kernel
from lab.qemu import Config

_OUTPUT = "output"
_SIZE = 128 << 20
#: It is a shell script that starts thousands of programs.
_SECONDS = 900.0
#: Kernels for every kind of hardware have so many drivers that all of them take very long: theirs has those
#: of the emulated machine.
_CONFIGURE = "cp -r /etc/initramfs-tools /tmp/configuration && echo MODULES={} >/tmp/configuration/conf.d/modules"


def make(kernel: Kernel, initramfs: Path, target: Path) -> None:
    """Boot this kernel, on the machine's root, and have it make its initrd."""
    with tempfile.TemporaryDirectory(prefix="initrd-") as name:
        directory = Path(name)
        files.ext4(kernel.root, directory / "kernel", spare=1 << 20)
        config = Config(
            kernel.image,
            initramfs,
            kernel.arch.boot_words,
            disks=[
                Disk("system", host_root.root_disk(kernel.arch)),
                Disk(f"kernel-{kernel.flavour}", directory / "kernel"),
                Disk(_OUTPUT, f"{_SIZE >> 20}M"),
            ],
            shells=1,
            arch=kernel.arch,
        )
        running = boot.boot(config, lambda: Place("cold", directory, directory), f"initrd for {kernel.version}")
        try:
            shell = running.consoles.first()
            shell.run(_CONFIGURE.format("most" if "cloud" in kernel.version else "dep"))
            shell.run(f"mkinitramfs -d /tmp/configuration -o /tmp/initrd {kernel.version}", timeout=_SECONDS)
            size = int(shell.run("stat -c %s /tmp/initrd").output)
            disk = shell.run(f"grep -lx {_OUTPUT} /sys/block/vd*/serial").output.split("/")[3]
            shell.run(f"dd if=/tmp/initrd of=/dev/{disk} bs=1M conv=fsync status=none")
        finally:
            running.stop()
        with (directory / f"{_OUTPUT}.raw").open("rb") as output:
            data = output.read(size)
    new = target.with_name(f"{target.name}.new")
    new.write_bytes(data)
    new.rename(target)
