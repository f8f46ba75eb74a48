"""What the tests of shared disks share: a partition that has ext4 and tools, and looking at its disks."""

from __future__ import annotations

from lab.devices import Disk
from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.partition_root import partition_root
from lab.stage.partitions import PROGRAMS, initrd_with, start

#: A Debian with fio, stress-ng and sqlite3, which partitions share read-only and chroot into.
TOOLS = Disk("tools", partition_root)

#: Enough for four of fio's processes.
_MEMORY = "320M"

#: Before a command of the tools: by its path, for busybox has applets of the same names.
CHROOT_TOOLS = "chroot /t /usr/bin/env"


def stock_modules(machine: Machine, flavour: str, *names: str) -> dict[str, str]:
    """Unpack stock modules and what they need, for initrd_with: /modules/10-crc16.ko and so on."""
    to = f"/tmp/modules-{flavour}"
    made = machine.run(f"{PROGRAMS}/stock_modules.py {to} {machine.versions[flavour]} {' '.join(names)}")
    return {f"/modules/{name}": f"{to}/{name}" for name in made.lines}


def stock_module(machine: Machine, flavour: str, name: str) -> str:
    """Unpack one module of a partition's kernel, as its insmod wants it; returns its path on the host."""
    to = f"/tmp/modules-{flavour}"
    machine.run(f"{PROGRAMS}/stock_modules.py --alone {to} {machine.versions[flavour]} {name}")
    return f"{to}/{name}.ko"


def initrd(machine: Machine, flavour: str = "6.12") -> str:
    """Make an initrd with ext4 and a script that mounts the tools, once per machine."""
    made = f"/tmp/disks-{flavour}"
    if machine.run(f"test -e {made}", check=False).status:
        files = {"/mount-tools": "mount-tools", **stock_modules(machine, flavour, "ext4")}
        machine.run(f"mv {initrd_with(machine, flavour, files)} {made}")
    return made


def start_with(
    machine: Machine, *disks: str, name: str = "web", cpus: str = "2-3", flavour: str = "6.12", more: str = ""
) -> PartitionConsole:
    """Start a partition that has these disks (as --disk takes them) and the tools."""
    tools = machine.disk("tools")
    specs = " ".join(f"--disk {disk}" for disk in (*disks, f"{tools},ro"))
    start(machine, name, flavour, cpus, _MEMORY, f"--initrd {initrd(machine, flavour)} {specs} {more}")
    shell = machine.partition(name)
    shell.run(f"/mount-tools {tools.split('/')[-1]}")
    return shell


def inside(shell: PartitionConsole, disk: str) -> str:
    """Return what the host's disk or image is called in the partition, as soon as it is there."""
    serial = f"shimos-{disk.split('/')[-1]}"
    find = f'until f=$(grep -lx "{serial}" /sys/block/vd*/serial 2>/dev/null); do usleep 50000; done; echo $f'
    return f"/dev/{shell.run(find).output.split('/')[3]}"
