"""PCIe devices that an IOMMU keeps to their partition's memory."""

from __future__ import annotations

from typing import Any

import pytest

from lab.devices import PciDevice
from lab.machine import Machine
from lab.stage.canary import canary, insmod_canary
from lab.stage.disks import stock_module
from lab.stage.nvme import disk_of, identify, sum_of, wild_initrd
from lab.stage.partitions import Resources, initrd_with, refused, remove, run_command, show, start
from tests.support.tiers import REPETITION, late, rounds

DEVICES = (
    PciDevice("nvme,serial=lab0", disk=32),
    PciDevice("nvme,serial=lab1", disk=1),
    PciDevice("virtio-net-pci,disable-legacy=on"),
    PciDevice("virtio-net-pci,disable-legacy=on", same_port=True),
)
DISK, WILD, NIC, NIC2 = "01:00.0", "02:00.0", "03:00.0", "03:00.1"
#: It has a driver in the kernel for every kind of hardware, and in those for clouds none.
AMD = {"kernel": "6.12-generic", "cmdline": "", "extra": ("-device", "amd-iommu,dma-remap=on")}
INTEL = ("-device", "intel-iommu,intremap=off")
#: A device as a partition sees it.
IN_WEB = "0001:{}"

pytestmark = [
    pytest.mark.machine(cmdline="intel_iommu=on", pci=DEVICES, extra=INTEL),
    late("given devices behind an IOMMU; test_pci.py gives devices, too"),
]


def of_show(machine: Machine) -> dict[str, tuple[bool, int]]:
    """Return of each device whether it is confined and how often it went astray, as `shimos show` says."""
    return {d["address"].removeprefix("0000:"): (d["confined"], d["strays"]) for d in show(machine)["pci_devices"]}


def wait_for_stop(machine: Machine, address: str) -> None:
    """Wait until KLoader has stopped the device that wanted to reach this."""
    line = f"is stopped until 'web' starts again: it wanted to reach {address}"
    machine.run(f'until dmesg | grep -q "{line}"; do sleep 0.05; done', timeout=30)


def other_machine(**options: Any) -> list[pytest.MarkDecorator]:
    """Return the marks of a repetition on a machine that differs in this."""
    return [REPETITION, pytest.mark.machine(**{"cmdline": "intel_iommu=on", "pci": DEVICES, "extra": INTEL} | options)]


# The emulator's AMD IOMMU logs no device and no address (docs/lab.md): nobody is told who it was, so nothing is stopped.
@pytest.mark.parametrize(
    ("flavour", "told"),
    [
        pytest.param("6.12", True, id="6.12"),
        pytest.param("6.1", True, marks=REPETITION, id="6.1"),
        pytest.param("6.12", True, marks=other_machine(kernel="6.1"), id="6.12-on-6.1"),
        pytest.param("6.12", False, marks=other_machine(**AMD), id="6.12-on-amd"),
    ],
)
def test_it_works_and_goes_astray(fresh_machine: Machine, flavour: str, told: bool) -> None:
    """Stock drivers work; what a device wants of others it does not get, is counted, and stops it."""
    machine = fresh_machine
    before = Resources(machine)
    insmod_canary(machine)
    untouched = canary(machine)
    assert untouched["wrong"] == "0"
    victim = f"0x{untouched['address']}"
    disk = disk_of(machine, f"0000:{DISK}")
    machine.run(f"dd if=/dev/urandom of={disk} bs=1M count=8 oflag=direct")
    data = sum_of(machine, disk)
    options = f"--pci {DISK} --pci {WILD} --initrd {wild_initrd(machine, flavour)}"
    start(machine, flavour=flavour, memory="384M", more=options)
    web = machine.partition("web")
    its = disk_of(web, IN_WEB.format(DISK))
    assert sum_of(web, its) == data
    web.run(f"dd if=/dev/urandom of={its} bs=1M count=32 oflag=direct")
    assert of_show(machine) == {DISK: (True, 0), WILD: (True, 0)}
    assert identify(web, IN_WEB.format(WILD), "own") == {"status": 0, "arrived": 1}

    # the emulated device believes that all was well
    identify(web, IN_WEB.format(WILD), victim)
    if told:
        wait_for_stop(machine, victim)
    assert canary(machine) == untouched
    strays = of_show(machine)[WILD][1]
    assert (strays >= 1) == told
    # it is stopped, and the other one is not
    assert (identify(web, IN_WEB.format(WILD), "own").get("arrived") != 1) == told
    data = sum_of(web, its)
    # what comes later is in its reach, too, and what has gone is not
    machine.run("shimos resize web --memory +256M", timeout=90)
    web.run(f"dd if={its} of=/tmp/all bs=1M iflag=direct && dd if=/tmp/all of={its} bs=1M oflag=direct")
    assert sum_of(web, its) == data
    web.run("rm /tmp/all")
    machine.run("shimos resize web --memory -256M", timeout=90)
    assert sum_of(web, its) == data
    web.close()

    for _ in range(rounds(100, 1)):
        machine.run("shimos restart --force web", timeout=60)
        web = machine.partition("web")
        assert identify(web, IN_WEB.format(WILD), "own") == {"status": 0, "arrived": 1}
        identify(web, IN_WEB.format(WILD), victim)
        if told:
            wait_for_stop(machine, victim)
        assert canary(machine) == untouched
        machine.run("dmesg -C")
        web.close()
    assert (of_show(machine)[WILD][1] > strays) == told
    remove(machine)
    machine.run("rmmod shimos_canary")
    assert sum_of(machine, disk_of(machine, f"0000:{DISK}")) == data
    before.assert_back()


def test_groups_and_refusals(machine: Machine) -> None:
    """What the IOMMU cannot tell apart goes together; a confined partition shares no devices."""
    refused(machine, run_command(machine, more=f"--pci {NIC}"), "same bus")
    refused(machine, run_command(machine, more=f"--pci {DISK},unsafe"), "translates", "iommu=pt")
    refused(machine, run_command(machine, more=f"--pci {DISK},safe"), f"0000:{DISK},unsafe")
    files = {"/bin/shimos": "/usr/bin/shimos"}
    files["/shimos_backend.ko"] = stock_module(machine, "6.12", "shimos_backend")
    initrd = initrd_with(machine, "6.12", files)
    start(machine, flavour="6.12", more=f"--pci {NIC} --pci {NIC2} --pci {DISK} --initrd {initrd}")
    web = machine.partition("web")
    assert of_show(machine) == {NIC: (True, 0), NIC2: (True, 0), DISK: (True, 0)}
    assert "confined by the IOMMU" in machine.run("shimos show web").output
    web.run("insmod /shimos_backend.ko")
    attach = web.run("shimos attach host --disk /dev/nvme0n1", check=False)
    assert attach.status != 0 and "--pci ADDRESS,unsafe" in attach.output
    web.close()
    remove(machine)
    machine.assert_dmesg_clean()
