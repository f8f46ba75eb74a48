"""What the system tests share: starting partitions and asking about them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lab.machine import LAB_INITRD, Machine, parse_cpu_list
from lab.shell import Result

#: Enough for a stock kernel and the lab's initrd.  More costs each start: all of it is cleared.
MEMORY_MIB = 224
MEMORY = f"{MEMORY_MIB}M"
#: Where the tests' programs and scripts are on the host.
PROGRAMS = "/usr/lib/shimos-test"
#: Waits there for a file, a text, a value or a process's end (tests/programs/wait_for.c).
WAIT_FOR = f"{PROGRAMS}/wait_for"


def run_command(
    machine: Machine,
    name: str = "web",
    flavour: str = "6.1",
    cpus: str | int = "2-3",
    memory: str = MEMORY,
    more: str = "",
    packed: bool = False,
) -> str:
    """Return the command line that starts a partition with the lab's initrd, on the CPUs of a list or on so many.

    Its kernel is the lab's unpacked one, or as Debian has it, ``packed``.
    """
    which = f"--cpus {cpus}" if isinstance(cpus, int) else f"--cpuset {cpus}"
    image = machine.vmlinuz(flavour) if packed else machine.vmlinux(flavour)
    kernel = f"--kernel {image}" if "--kernel" not in more else ""
    initrd = f"--initrd {LAB_INITRD}" if "--initrd" not in more else ""
    return f"shimos run {name} {which} --memory {memory} {kernel} {initrd} {more}".strip()


def start(machine: Machine, *args: Any, **kwargs: Any) -> Result:
    """Start a partition and wait until its agent is ready; see run_command."""
    return machine.run(run_command(machine, *args, **kwargs), timeout=180)


def show(machine: Machine, name: str = "web") -> dict[str, Any]:
    """Return everything that ``shimos show`` knows."""
    found: dict[str, Any] = json.loads(machine.run(f"shimos show {name} --json").output)
    return found


def wait_state(machine: Machine, name: str, states: str, timeout: float = 30) -> None:
    """Wait until the partition's state is one of these (a|b)."""
    wait_value(machine, f"/sys/class/shimos/{name}/state", states, timeout)


def wait_value(machine: Machine, path: str, values: str, timeout: float = 30) -> None:
    """Wait until an attribute of sysfs is one of these (a|b); the state of a partition wakes who waits."""
    machine.run(f"{WAIT_FOR} -t {timeout} value '{values}' {path}", timeout=timeout + 30)


def wait_silent(machine: Machine, name: str, ns: int) -> None:
    """Wait until the partition's kernel has said nothing for so long."""
    silent = f"""shimos show {name} --json | sed -n 's/.*"silent_ns": *\\([0-9]*\\).*/\\1/p'"""
    machine.run(f"until [ $({silent}) -ge {ns} ]; do sleep 0.2; done", timeout=60)


def remove(machine: Machine, name: str = "web") -> None:
    """Give everything back, whatever state it is in."""
    machine.run(f"shimos rm --force {name}", timeout=60)


def refused(machine: Machine, command: str, *words: str, status: int | None = None) -> str:
    """Check that the command fails with a text that has all the words in it, and return that."""
    result = machine.run(command, check=False, timeout=120)
    assert result.status != 0, f"was not refused: {command}\n{result.output}"
    if status is not None:
        assert result.status == status, f"status {result.status}: {result.output}"
    for word in words:
        assert word.lower() in result.output.lower(), f"no '{word}' in: {result.output}"
    assert "panicked" not in result.output, result.output
    return result.output


def initrd_with(machine: Machine, flavour: str, files: dict[str, str]) -> str:
    """Make an initrd for partitions: the lab's, and files of the machine at places of their own.

    Names without a slash are the tests' modules for that kernel, programs and scripts.
    Returns the path of it on the machine, where nothing else is left.
    """
    tree, made = f"/tmp/tree-{flavour}", f"/tmp/initrd-{flavour}"
    lines = [f"rm -rf {tree} && mkdir -p {tree}"]
    for place, source in files.items():
        folder = f"{PROGRAMS}/{machine.versions[flavour] + '/' if source.endswith('.ko') else ''}"
        path = source if "/" in source else folder + source
        lines.append(f"install -D -m 755 {path} {tree}{place}")
    lines.append(f"(cat {LAB_INITRD} && cd {tree} && find . | busybox cpio -o -H newc 2>/dev/null) >{made}")
    lines.append(f"rm -r {tree}")
    machine.run(" && ".join(lines))
    return made


def with_libraries(machine: Machine, *paths: str) -> dict[str, str]:
    """Return programs of the host with their libraries, for initrd_with."""
    found = machine.run(f"ldd {' '.join(paths)} | grep -o '/[^ :]* (' | tr -d ' (' | sort -u").lines
    return {path: path for path in (*paths, *found)}


@contextmanager
def scratch_disk(machine: Machine, size: str = "64M") -> Iterator[str]:
    """Make an empty disk in the host's memory, gone at the end: /dev/loop0.

    For many small ones on a shared machine; see lab.devices.Disk for real ones.
    """
    machine.run("modprobe loop")
    make = f'f=$(mktemp) && truncate -s {size} "$f" && losetup --find --show "$f" && rm "$f"'
    device = machine.run(make).output.strip()
    try:
        yield device
    finally:
        machine.run(f"losetup --detach {device}")


class Resources:
    """CPUs and memory of the host before, to compare with after."""

    #: What the host's own slabs may have grown by meanwhile.
    SLACK = 16 << 20

    #: Where a stage keeps them for its clones.
    _FILE = "/root/resources"

    def __init__(self, machine: Machine):
        self._machine = machine
        self._cpus = machine.online_cpus()
        self._free = machine.mem_free()

    def keep(self) -> None:
        """Leave them on the machine."""
        self._machine.put(self._FILE, json.dumps([self._cpus, self._free]).encode())

    @classmethod
    def kept(cls, machine: Machine) -> Resources:
        """Return what keep() has left."""
        found = cls.__new__(cls)
        found._machine = machine
        found._cpus, found._free = json.loads(machine.run(f"cat {cls._FILE}").output)
        return found

    def assert_back(self) -> Resources:
        """Check that the host has again all that a partition took; returns what was measured, to go on from."""
        now = Resources(self._machine)
        assert now._free > self._free - self.SLACK, f"{(self._free - now._free) >> 20} MiB are missing"
        self.assert_nothing_taken()
        return now

    def assert_nothing_taken(self) -> None:
        """Check that no partition is left and no CPU gone; cheap, for it does not count memory."""
        cpus, *left = self._machine.run("cat /sys/devices/system/cpu/online; ls /sys/class/shimos").lines
        assert parse_cpu_list(cpus) == self._cpus, f"CPUs {cpus} are online, before {self._cpus}"
        assert not left, f"partitions are left: {left}"
