"""NVMe devices that are given whole, and one that writes where it must not."""

from __future__ import annotations

from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.partitions import initrd_with

_NVME = "/sys/bus/pci/drivers/nvme"


def disk_of(shell: Machine | PartitionConsole, address: str) -> str:
    """Return the disk's name; waits for it, for its driver, built in or not, looks for it on its own time."""
    names = f"/sys/bus/pci/devices/{address}/nvme/nvme*/nvme*n1"
    load = "modprobe nvme 2>/dev/null"
    found = shell.run(f"{load}; until ls -d {names} 2>/dev/null; do sleep 0.05; done", timeout=20).lines[0]
    return f"/dev/{found.rpartition('/')[2]}"


def sum_of(shell: Machine | PartitionConsole, disk: str) -> str:
    """Return the MD5 of a disk, read from the device itself."""
    return shell.run(f"dd if={disk} bs=1M iflag=direct 2>/dev/null | md5sum").output.split()[0]


def wild_initrd(machine: Machine, flavour: str) -> str:
    """Make an initrd with the program that `identify` wants; returns its path."""
    return initrd_with(machine, flavour, {"/bin/nvme_wild": "nvme_wild"})


def identify(web: PartitionConsole, device: str, to: str) -> dict[str, int]:
    """Have an NVMe write to an address, or to a page of the program's ("own"); returns what is said of it."""
    sysfs = f"/sys/bus/pci/devices/{device}"
    web.run(f"[ ! -e {sysfs}/driver ] || echo {device} >{_NVME}/unbind")
    said = web.run(f"nvme_wild {sysfs} {to}", timeout=60).output
    return {word: int(value) for word, value in (line.split() for line in said.splitlines())}
