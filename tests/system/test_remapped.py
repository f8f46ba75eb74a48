"""PCIe devices of partitions on a host that remaps interrupts."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lab.devices import PciDevice
from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.spec import X2APIC
from lab.stage.nvme import disk_of, sum_of
from lab.stage.partitions import Resources, refused, remove, run_command, start
from tests.support.tiers import REPETITION, late
from tests.system import test_confined

DEVICES = (
    PciDevice("nvme,serial=lab0", disk=32),
    PciDevice("virtio-net-pci,disable-legacy=on"),
)
DISK, NIC = "01:00.0", "02:00.0"
IN_WEB = f"0001:{DISK}"
CONFINED = X2APIC | {"cmdline": "intel_iommu=on x2apic_phys", "pci": DEVICES}

pytestmark = [
    pytest.mark.machine(one_thread=True, **CONFINED),
    late("interrupts of given devices on another machine; test_pci.py gives devices, too"),
]


def counts(shell: Machine | PartitionConsole, word: str) -> list[list[int]]:
    """Return how often each CPU got each interrupt whose line has this word."""
    lines = shell.run("cat /proc/interrupts").lines
    cpus = len(lines[0].split())
    return [[int(n) for n in line.split()[1 : 1 + cpus]] for line in lines[1:] if re.search(word, line)]


#: The host in xAPIC mode; 6.12 has physical destinations there, too.
XAPIC = {
    "cmdline": "intel_iommu=on nox2apic",
    "extra": ("-machine", "kernel-irqchip=split", "-device", "intel-iommu,intremap=on,eim=off"),
}


def other_machine(options: dict[str, Any]) -> list[pytest.MarkDecorator]:
    """Return the marks of a repetition on a machine that differs in these."""
    return [REPETITION, pytest.mark.machine(one_thread=True, **CONFINED | options)]


@pytest.mark.parametrize(
    ("flavour", "says"),
    [
        pytest.param("6.12", "DMAR-IR: Enabled IRQ remapping in x2apic mode", id="6.12"),
        pytest.param("6.1", "DMAR-IR: Enabled IRQ remapping in x2apic mode", marks=REPETITION, id="6.1"),
        pytest.param("6.12", "DMAR-IR: Enabled IRQ remapping in xapic mode", marks=other_machine(XAPIC), id="xapic"),
        pytest.param("6.12", "AMD-Vi: Interrupt remapping enabled", marks=other_machine(test_confined.AMD), id="amd"),
    ],
)
def test_stock_drivers(fresh_machine: Machine, flavour: str, says: str) -> None:
    """Interrupts of given devices come to the CPUs of their partition, and to none of the host's."""
    machine = fresh_machine
    assert says in machine.dmesg()
    before = Resources(machine)
    disk = disk_of(machine, f"0000:{DISK}")
    machine.run(f"dd if=/dev/urandom of={disk} bs=1M count=8 oflag=direct")
    data = sum_of(machine, disk)
    start(machine, flavour=flavour, more=f"--pci {DISK} --pci {NIC}")
    for _ in range(2):
        web = machine.partition("web")
        its = disk_of(web, IN_WEB)
        assert sum_of(web, its) == data
        for cpu in (0, 1):
            # the emulator lets messages of the other kind pass, hardware does not: ours must have come
            for word in ("nvme0q", "shimos-message"):
                was = counts(web, word)
                web.run(f"taskset -c {cpu} dd if={its} of=/dev/null bs=4k count=200 iflag=direct")
                more = [now[cpu] - then[cpu] for now, then in zip(counts(web, word), was, strict=True)]
                assert max(more) >= 200, "completed on the CPU that asked"
        web.close()
        # they are the host's by name only
        ours = counts(machine, "shimos-message")
        assert len(ours) == 3 + 3 and not any(map(any, ours))
        machine.run("shimos restart --force web", timeout=60)
    remove(machine)
    assert sum_of(machine, disk_of(machine, f"0000:{DISK}")) == data
    before.assert_back()
    assert not counts(machine, "shimos-message")
    machine.assert_dmesg_clean()


def test_its_cpus_stay(fresh_machine: Machine) -> None:
    """A CPU that a driver's interrupts come to does not go offline; when the driver is gone, it does, and comes back."""
    machine = fresh_machine
    start(machine, flavour="6.12", more=f"--pci {DISK}")
    web = machine.partition("web")
    its = disk_of(web, IN_WEB)
    online = "/sys/devices/system/cpu/cpu1/online"
    assert web.run(f"echo 0 >{online}", check=False).status != 0
    assert "CPU 1 stays: a given device interrupts it" in web.run("dmesg").output
    driver = "/sys/bus/pci/drivers/nvme"
    web.run(f"echo {IN_WEB} >{driver}/unbind && echo 0 >{online} && echo 1 >{online}")
    web.run(f"echo {IN_WEB} >{driver}/bind")
    its = disk_of(web, IN_WEB)
    was = counts(web, "nvme0q")
    web.run(f"taskset -c 1 dd if={its} of=/dev/null bs=4k count=100 iflag=direct")
    assert sum(line[1] for line in counts(web, "nvme0q")) >= sum(line[1] for line in was) + 100
    # the bus is looked at anew: the device has its interrupts from there
    web.run(f"echo 1 >/sys/bus/pci/devices/{IN_WEB}/remove && echo 1 >/sys/bus/pci/rescan")
    web.run(f"dd if={disk_of(web, IN_WEB)} of=/dev/null bs=4k count=100 iflag=direct")
    web.close()
    remove(machine)
    machine.assert_dmesg_clean()


@pytest.mark.machine.with_args(**CONFINED | {"cmdline": "intel_iommu=on"})
def test_logical_destinations(fresh_machine: Machine) -> None:
    """They are refused with the parameter that is missing, which doctor knows, too."""
    machine = fresh_machine
    refused(machine, run_command(machine, more=f"--pci {DISK}"), "logical destinations", "add x2apic_phys")
    assert "x2apic_phys" in machine.run("shimos doctor", check=False).output
    machine.assert_dmesg_clean()
