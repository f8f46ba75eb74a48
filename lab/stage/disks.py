"""What the tests of shared disks share: a partition that has ext4 and tools, and looking at its disks."""

from __future__ import annotations

import json
from typing import Any

from lab.devices import Disk
from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.partition_root import partition_root
from lab.stage.partitions import PROGRAMS, initrd_with, start

#: A Debian with fio, stress-ng and sqlite3, which partitions share read-only and chroot into.
TOOLS = Disk("tools", partition_root)

#: Before a command of the tools: by its path, for busybox has applets of the same names.
CHROOT_TOOLS = "chroot /t /usr/bin/env"


def stock_modules(machine: Machine, flavour: str, *names: str) -> dict[str, str]:
    """Stock modules and what they need, for initrd_with: /modules/10-crc16.ko and so on."""
    to = f"/tmp/modules-{flavour}"
    made = machine.run(f"{PROGRAMS}/stock_modules.py {to} {machine.versions[flavour]} {' '.join(names)}")
    return {f"/modules/{name}": f"{to}/{name}" for name in made.lines}


def stock_module(machine: Machine, flavour: str, name: str) -> str:
    """One module of a partition's kernel as its insmod wants it: a path on the host."""
    to = f"/tmp/modules-{flavour}"
    machine.run(f"{PROGRAMS}/stock_modules.py --alone {to} {machine.versions[flavour]} {name}")
    return f"{to}/{name}.ko"


def programs(machine: Machine, *paths: str) -> dict[str, str]:
    """Programs of the host with their libraries, for initrd_with."""
    found = machine.run(f"ldd {' '.join(paths)} | grep -o '/[^ :]* (' | tr -d ' (' | sort -u").lines
    return {path: path for path in (*paths, *found)}


def initrd(machine: Machine, flavour: str = "6.12") -> str:
    """The lab's initrd with ext4 and a script that mounts the tools; made once per machine."""
    made = f"/tmp/disks-{flavour}"
    if machine.run(f"test -e {made}", check=False).status:
        files = {"/mount-tools": "mount-tools", **stock_modules(machine, flavour, "ext4")}
        machine.run(f"mv {initrd_with(machine, flavour, files)} {made}")
    return made


def start_with(
    machine: Machine, *disks: str, name: str = "web", cpus: str = "2-3", flavour: str = "6.12", more: str = ""
) -> PartitionConsole:
    """A partition that has these disks (as --disk takes them) and the tools."""
    tools = machine.disk("tools")
    specs = " ".join(f"--disk {disk}" for disk in (*disks, f"{tools},ro"))
    start(machine, name, flavour, cpus, more=f"--initrd {initrd(machine, flavour)} {specs} {more}")
    shell = machine.partition(name)
    shell.run(f"/mount-tools {tools.split('/')[-1]}")
    return shell


def inside(shell: PartitionConsole, disk: str) -> str:
    """What the host's disk or image is called in the partition; waits until it is there."""
    serial = f"shimos-{disk.split('/')[-1]}"
    find = f'until f=$(grep -lx "{serial}" /sys/block/vd*/serial 2>/dev/null); do usleep 50000; done; echo $f'
    return f"/dev/{shell.run(find).output.split('/')[3]}"


def device(machine: Machine, disk: str) -> dict[str, Any]:
    """What `shimos devices` knows of the disk that was shared by this name."""
    listed = json.loads(machine.run("shimos devices --json").output)
    (found,) = [d for d in listed if d["name"] == disk]
    return dict(found)
