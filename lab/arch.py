"""The architectures of the lab's machines, called as Debian calls them: all that differs, as one value each.

The lab runs on a computer of either; machines of the other kind are emulated, and what they run is cross-built.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Arch:
    """An architecture of machines."""

    name: str
    #: What the names of its compilers begin with, and those of directories of its libraries.
    triple: str
    #: The target of the Rust tool.
    rust: str
    emulator: str
    #: The emulator's kind of machine.
    board: str
    #: The processor, where it is emulated.
    cpu: str
    #: The serial port that the host's kernel logs to.
    console: str
    #: What else the host's command line begins with.
    cmdline: Sequence[str]
    #: What KLoader insists on there.
    wanted: Sequence[str] = ()
    #: The firmware of machines with ACPI; without it the board has a device tree.  None: it has its own, and ACPI always.
    firmware: str | None = None
    #: The emulator's monitor about a CPU: where in its answer to ``info registers`` it says where the CPU is,
    #: and what is asked of the CPU's interrupt controller.
    where: str = r"^RIP=.*"
    interrupts: str = "info lapic {cpu}"
    #: Whether there are programs in kernel mode and real-time partitions.
    kml_and_rt: bool = True

    @property
    def native(self) -> bool:
        """Whether it is that of this computer."""
        return self is NATIVE

    @property
    def boot_words(self) -> str:
        """What the command line of every kernel that the emulator starts begins with."""
        return " ".join([f"console={self.console}", *self.cmdline])

    @property
    def suffix(self) -> str:
        """What is added to the names of things that the cache has for several architectures."""
        return "" if self is DEFAULT else f"-{self.name}"

    def described(self, acpi: bool) -> tuple[str, list[str]]:
        """Return the emulator's board, and more arguments, of a machine with ACPI or with a device tree."""
        if self.firmware is None:
            return self.board, []
        return f"{self.board},acpi={'on' if acpi else 'off'}", ["-bios", self.firmware] if acpi else []


AMD64 = Arch(
    name="amd64",
    triple="x86_64-linux-gnu",
    rust="x86_64-unknown-linux-gnu",
    emulator="qemu-system-x86_64",
    board="q35",
    # The emulator does `rep movsb` and `rep stosb` a byte at a time. Without these
    # features kernels clear and copy memory in ways it does faster.
    cpu="max,-erms,-fsrm,-fsrs",
    console="ttyS0",
    # no_timer_check: on a busy computer the check takes the emulator's timer for a broken one, and panics.
    cmdline=("panic=-1", "tsc=reliable", "no_timer_check", "random.trust_cpu=1", "cryptomgr.notests"),
    wanted=("no_ipi_broadcast=1",),
)

ARM64 = Arch(
    name="arm64",
    triple="aarch64-linux-gnu",
    rust="aarch64-unknown-linux-gnu",
    emulator="qemu-system-aarch64",
    board="virt,gic-version=3",
    # Not "max": it signs each return address, which the emulator does slowly.
    cpu="neoverse-n1",
    console="ttyAMA0",
    cmdline=("panic=-1", "random.trust_bootloader=1", "cryptomgr.notests"),
    firmware="/usr/share/qemu-efi-aarch64/QEMU_EFI.fd",
    where=r"^ PC=.*",
    interrupts="",
    kml_and_rt=False,
)

#: By name.
ARCHES = {arch.name: arch for arch in (AMD64, ARM64)}
#: This computer's, which the tool root has, too.
NATIVE = ARM64 if platform.machine() == "aarch64" else AMD64
#: Of machines, unless told.  The same on any computer, so that tests and benchmarks are.
DEFAULT = AMD64
