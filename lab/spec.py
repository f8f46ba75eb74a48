"""What a machine shall be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lab.arch import ARCHES, DEFAULT
from lab.devices import Disk, Nic, PciDevice

#: Options of an x86 machine whose kernel runs in x2APIC mode, with interrupts remapped.
X2APIC: dict[str, Any] = {
    "cmdline": "intel_iommu=on iommu=pt",
    "extra": ("-machine", "kernel-irqchip=split", "-device", "intel-iommu,intremap=on,eim=on"),
}


@dataclass(frozen=True)
class MachineSpec:
    """A machine of the lab, as tests, benchmarks and the demo ask for it."""

    #: Of the machine and all its kernels, a key of ``arch.ARCHES``.
    arch: str = DEFAULT.name
    #: Whether the machine describes itself by ACPI, where a device tree is the other way.
    acpi: bool = True
    #: The host's kernel, a key of ``kernels.FLAVOURS``.
    kernel: str = "6.12"
    #: Kernels that shall be on its disks for partitions.
    partitions: Sequence[str] = ("6.1", "6.12")
    #: Debian's initrds of all its kernels, also if they are foreign to this computer, which then makes each in a minute.
    debian_initrds: bool = False
    cpus: int = 4
    memory: str = "4G"
    #: Added to the host's command line.
    cmdline: str = ""
    #: Leave out the host parameter that KLoader insists on.
    ipi_broadcast: bool = False
    #: Load KLoader.
    load: bool = True
    #: Have what only tests use, too, which takes minutes to build for the first time.
    tests: bool = True
    #: More arguments for the emulator.
    extra: Sequence[str] = ()
    #: An emulated machine whose clock counts instructions.
    icount: bool = False
    #: One CPU at a time if it is emulated, for tests that change code which is running (docs/lab.md).
    one_thread: bool = False
    #: Disks and cards that it has beside the disks it boots from.
    disks: Sequence[Disk] = ()
    nics: Sequence[Nic] = ()
    #: Devices behind PCIe ports, which could be given to partitions.
    pci: Sequence[PciDevice] = ()

    #: What the machine has done already, with partitions running perhaps: a function of a module,
    #: which gets the Machine.  Machines with the same stage and the same code begin as one.
    stage: Callable[[Any], None] | None = None

    @property
    def flavours(self) -> list[str]:
        """All kernels that it needs, the host's first."""
        return list(dict.fromkeys([self.kernel, *self.partitions]))

    @property
    def host_cmdline(self) -> str:
        """The host's whole command line."""
        arch = ARCHES[self.arch]
        words = [arch.boot_words]
        if not self.ipi_broadcast:
            words += arch.wanted
        return " ".join([*words, self.cmdline]).strip()
