"""What the tests of shared disks share: a partition that has ext4 and tools, and looking at its disks."""

from __future__ import annotations

import json
from typing import Any

from lab.devices import Disk
from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.partition_root import partition_root
from lab.stage.partitions import initrd_with, start

#: A Debian with fio, stress-ng and sqlite3, which partitions share read-only and chroot into.
TOOLS = Disk("tools", partition_root)

#: Before a command of the tools: by its path, for busybox has applets of the same names.
IN = "chroot /t /usr/bin/env"

# In the partition: what ext4 needs if it is a module, and the tools at /t.
_SETUP = """#!/bin/busybox sh
for module in /modules/*; do [ ! -e $module ] || insmod $module; done
until tools=$(grep -lx "shimos-$1" /sys/block/vd*/serial 2>/dev/null); do usleep 50000; done
mkdir -p /t /m
mount -t ext4 -o ro,noload /dev/$(echo $tools | cut -d / -f 4) /t
for dir in dev proc sys; do mount --bind /$dir /t/$dir; done
mount -t tmpfs tmp /t/tmp
mount -t tmpfs mnt /t/mnt
"""

# The modules of another kernel, uncompressed, with names in loading order.
_MODULES = """
rm -rf {to} && mkdir {to} && cd {to} && n=10
for name in {names}; do modprobe -S {version} --show-depends $name; done >list
awk '$1 == "insmod" && !seen[$2]++ {{print $2}}' list | while read file; do
  name=$n-$(basename ${{file%.xz}}); n=$((n + 1))
  case $file in
  *.xz) python3 -c 'import lzma,sys; sys.stdout.buffer.write(lzma.open(sys.argv[1]).read())' $file >$name ;;
  *) cp $file $name ;;
  esac
done
rm list; ls
"""


def stock_modules(machine: Machine, flavour: str, *names: str) -> dict[str, str]:
    """Stock modules and what they need, for initrd_with: /modules/10-crc16.ko and so on."""
    to = f"/tmp/modules-{flavour}"
    made = machine.run(_MODULES.format(to=to, version=machine.versions[flavour], names=" ".join(names)))
    return {f"/modules/{name}": f"{to}/{name}" for name in made.lines}


def programs(machine: Machine, *paths: str) -> dict[str, str]:
    """Programs of the host with their libraries, for initrd_with."""
    found = machine.run(f"ldd {' '.join(paths)} | grep -o '/[^ :]* (' | tr -d ' (' | sort -u").lines
    return {path: path for path in (*paths, *found)}


def initrd(machine: Machine, flavour: str = "6.12") -> str:
    """The lab's initrd with ext4 and a script that mounts the tools; made once per machine."""
    made = f"/tmp/disks-{flavour}"
    if machine.run(f"test -e {made}", check=False).status:
        machine.put("/tmp/setup", _SETUP.encode(), 0o755)
        files = {"/setup": "/tmp/setup", **stock_modules(machine, flavour, "ext4")}
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
    shell.run(f"/setup {tools.split('/')[-1]}")
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
