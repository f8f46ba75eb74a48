"""Devices that write where they must not: an NVMe without a driver, and memory of the host that shows it."""

from __future__ import annotations

from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.partitions import initrd_with

_NVME = "/sys/bus/pci/drivers/nvme"


def insmod_canary(machine: Machine) -> None:
    """Have pages of the host that nobody may touch."""
    machine.run(f"insmod /usr/lib/shimos-test/{machine.versions[machine.flavour]}/shimos_canary.ko")


def canary(machine: Machine) -> tuple[str, int]:
    """Return where these are, and how many of their words are not as they were."""
    found = dict(line.split() for line in machine.run("cat /proc/canary").output.splitlines())
    return f"0x{found['address']}", int(found["wrong"])


def wild_initrd(machine: Machine, flavour: str) -> str:
    """Make an initrd with the program that `identify` wants; returns its path."""
    return initrd_with(machine, flavour, {"/bin/nvme_wild": "nvme_wild"})


def identify(web: PartitionConsole, device: str, to: str) -> dict[str, int]:
    """Have an NVMe write to an address, or to a page of the program's ("own"); returns what is said of it."""
    sysfs = f"/sys/bus/pci/devices/{device}"
    web.run(f"[ ! -e {sysfs}/driver ] || echo {device} >{_NVME}/unbind")
    said = web.run(f"nvme_wild {sysfs} {to}", timeout=60).output
    return {word: int(value) for word, value in (line.split() for line in said.splitlines())}
