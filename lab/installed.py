"""A Debian on a disk of its own, as its installer leaves it: firmware, GRUB, systemd, a stock kernel of its own.

Unlike Machine, which the lab boots, it is what a user has: it starts as the disk says, what is written stays until it
is gone, and nothing of SHIMOS is on it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal

from lab import boot, cache, debian, files
from lab.arch import AMD64
from lab.boot import Running
from lab.command import run
from lab.devices import Disk, Nic, Place
from lab.partition import PartitionConsole
from lab.paths import SRC
from lab.qemu import Config
from lab.shell import Result

Firmware = Literal["uefi", "bios"]

_SHELL = SRC / "lab" / "guest" / "host-shell"
_SHELLS = 2
#: Its kernel and what belongs to it by the names that stay, boot loaders for both kinds of firmware, volumes, and
#: what packages with DKMS modules depend on, for no network is needed then.  The kernel is that of the release
#: itself, so that the security archive has a newer one.
_PACKAGES = (
    *("linux-image-cloud-amd64/trixie", "linux-headers-cloud-amd64/trixie", "initramfs-tools", "zstd"),
    *("grub2-common", "grub-pc-bin", "grub-efi-amd64-bin", "fdisk", "dosfstools", "e2fsprogs"),
    *("systemd-sysv", "udev", "dbus", "login", "kmod", "procps", "iproute2", "lvm2", "dkms", "file"),
)
_GRUB = f"""\
GRUB_DEFAULT=0
GRUB_TIMEOUT=0
GRUB_DISTRIBUTOR=Debian
GRUB_CMDLINE_LINUX="{AMD64.boot_words}"
"""
_FSTAB = """\
LABEL=installed / ext4 errors=remount-ro 0 1
LABEL=ESP /boot/efi vfat umask=0077 0 1
"""
_UNIT = """\
[Service]
ExecStart=/lab/shell /dev/%i
WorkingDirectory=/root
Environment=HOME=/root LANG=C.UTF-8 TERM=linux PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
Environment=SHIMOS_LAB_RESTARTS=2
"""
# They run at random moments.
_UNWANTED = (
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer"),
    *("e2scrub_reap.service", "systemd-networkd-wait-online.service"),
)
#: The disk in MiB: what is before the root file system, for GRUB's code and the firmware's own partition.
_ESP, _ROOT = 2, 66
_PARTITIONS = f"""\
label: gpt
start=1MiB, size=1MiB, type=21686148-6449-6E6F-744E-656564454649
start={_ESP}MiB, size={_ROOT - _ESP}MiB, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B
start={_ROOT}MiB, type=linux
"""
_SPARE = 1 << 30
#: Within which systemd has shells, also on a busy computer.
_SECONDS = 300.0


def _tree() -> Path:
    def finish(target: Path) -> None:
        files.write(target / "etc/hostname", "installed\n")
        files.write(target / "etc/hosts", "127.0.0.1 localhost installed\n")
        files.write(target / "etc/fstab", _FSTAB)
        files.write(target / "etc/default/grub", _GRUB)
        (target / "boot/efi").mkdir(exist_ok=True)
        files.write(target / "lab/shell", _SHELL.read_text(), 0o755)
        units = target / "etc/systemd/system"
        files.write(units / "lab-shell@.service", _UNIT)
        wants = units / "multi-user.target.wants"
        wants.mkdir(exist_ok=True)
        for number in range(_SHELLS):
            (wants / f"lab-shell@hvc{number}.service").symlink_to("../lab-shell@.service")
        # Consoles are the lab's.
        generators = target / "etc/systemd/system-generators"
        generators.mkdir(exist_ok=True)
        (generators / "systemd-getty-generator").symlink_to("/dev/null")
        run("systemctl", f"--root={target}", "enable", "systemd-networkd")
        run("systemctl", f"--root={target}", "disable", *_UNWANTED)

    what = "making the Debian of an installed machine"
    return debian.tree("installed-root", what, _PACKAGES, finish, Path(__file__), _SHELL)


def _partitioned(tree: Path, target: Path) -> None:
    """Make the disk as an installer has it before its boot loader: partitions, and files in two of them."""
    root = target.with_suffix(".root")
    try:
        files.ext4(tree, root, _SPARE, "installed")
        size = _ROOT + (root.stat().st_size >> 20) + 2
        with target.open("wb") as disk:
            disk.truncate(size << 20)
        # With the tree's own programs, in a mount namespace.
        script = f"""
            set -e
            mount --bind {target.parent} {tree}/mnt
            echo '{_PARTITIONS}' | chroot {tree} sfdisk --quiet /mnt/{target.name}
            chroot {tree} mkfs.vfat -F 16 -n ESP --offset={_ESP << 11} /mnt/{target.name} {(_ROOT - _ESP) << 10}
        """
        run("unshare", "--mount", "--propagation", "unchanged", "sh", "-c", script)
        run("dd", f"if={root}", f"of={target}", "bs=1M", f"seek={_ROOT}", "conv=notrunc,sparse", "status=none")
    finally:
        cache.remove(root)


def disk() -> Path:
    """Return the disk, which both kinds of firmware boot; use a copy or a throw-away layer."""
    tree = _tree()

    def build(target: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="installed-") as name:
            directory = Path(name)
            raw = directory / "system.raw"
            _partitioned(tree, raw)
            # GRUB wants to be installed on the machine that it will start.
            config = Config(
                tree / "vmlinuz",
                tree / "initrd.img",
                f"root=LABEL=installed {AMD64.boot_words}",
                disks=[Disk("system", f"{raw.stat().st_size >> 20}M")],
                shells=_SHELLS,
            )
            running = boot.boot(config, lambda: Place("cold", directory, directory), "installation", _SECONDS)
            try:
                shell = running.consoles.first()
                shell.run("grub-install --target=i386-pc /dev/vda", 120)
                shell.run("grub-install --target=x86_64-efi --removable --no-nvram", 120)
                shell.run("update-grub", 120)
                shell.run("systemctl poweroff --no-block")
                running.emulator.wait(120)
            finally:
                running.stop()
            shutil.move(raw, target)

    key = cache.digest(tree.name, Path(__file__))
    return cache.make("installed.raw", key, "installing a Debian with GRUB", build)


class Installed:
    """Such a machine. What is written on its disk lasts over restarts, and ends with it."""

    def __init__(self, firmware: Firmware, disks: Sequence[Disk] = (), cpus: int = 4, memory: str = "4G"):
        base = disk()
        self._directory = Path(tempfile.mkdtemp(prefix="installed-"))
        layer = self._directory / "system.qcow2"
        run("qemu-img", "create", "-q", "-f", "qcow2", "-b", base, "-F", "raw", layer)
        flash = "if=pflash,format=raw,unit={},file=/usr/share/OVMF/OVMF_{}_4M.fd,{}"
        code, variables = flash.format(0, "CODE", "readonly=on"), flash.format(1, "VARS", "snapshot=on")
        firmware_arguments = {
            "uefi": ["-drive", code, "-drive", variables],
            # In system management mode it reads a disk so slowly that GRUB does not begin within minutes.
            "bios": ["-machine", "smm=off"],
        }
        self._config = Config(
            None,
            None,
            "",
            disks=[disk.made() for disk in disks],
            nics=[Nic()],
            cpus=cpus,
            memory=memory,
            shells=_SHELLS,
            extra=[
                *firmware_arguments[firmware],
                *("-drive", f"file={layer},format=qcow2,if=none,id=system,cache=unsafe,discard=unmap"),
                *("-device", "virtio-blk-pci,drive=system,serial=system,bootindex=1"),
            ],
        )
        self._name = f"installed machine, {firmware}"
        self._running: Running | None = None

    def __enter__(self) -> Installed:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._running:
            self._running.stop()
        shutil.rmtree(self._directory)

    def start(self) -> None:
        """Switch it on; it has shells when this returns."""

        def place() -> Place:
            # A boot is judged by its own log.
            (self._directory / "ttyS0.log").unlink(missing_ok=True)
            return Place("cold", self._directory, self._directory)

        self._running = boot.boot(self._config, place, self._name, _SECONDS)

    def restart(self) -> None:
        """Have its systemd end it, and switch it on again."""
        running = self._it()
        running.consoles.release()
        running.consoles.first().run("systemctl poweroff --no-block")
        running.emulator.wait(_SECONDS)
        running.stop()
        self.start()

    def run(self, command: str, timeout: float = 60.0, check: bool = True) -> Result:
        """Run a command as root; see Shell.run."""
        return self._it().consoles.first().run(command, timeout, check)

    def partition(self, name: str, timeout: float = 60.0, login: str = "") -> PartitionConsole:
        """Return the console of a partition; see Machine.partition."""
        return self._it().consoles.partition(name, timeout, login)

    def _it(self) -> Running:
        assert self._running, "the machine is not running"
        return self._running
