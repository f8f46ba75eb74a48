"""From start to the first user process, from kill to running again, and what a kernel costs the host."""

from __future__ import annotations

import re

from bench.compare import kvm, xen
from bench.compare.system import CHROOT, System
from bench.compare.workload import Group, Workload
from lab.machine import LAB_INITRD

#: One more kernel beside those that are there.
_NAME, _MIB = "probe", 256
_LINE = "lab-init:"


def _seconds(system: System, command: str) -> float:
    """Return the seconds that a command takes by the machine's own clock."""
    text = system.machine.run(f"s=$EPOCHREALTIME; {command}; e=$EPOCHREALTIME; echo; echo $s $e", timeout=400).output
    begin, end = map(float, text.split()[-2:])
    return end - begin


class _Shimos:
    """A partition with the bare initrd."""

    def __init__(self, system: System):
        image = f"--kernel {system.machine.vmlinuz('6.12')} --initrd {LAB_INITRD} --cmdline quiet"
        self.start = f"shimos run {_NAME} --cpuset 1 --memory {_MIB}M {image} >/dev/null && {self._until(1)}"
        self.restart = f"shimos restart --force {_NAME} >/dev/null && {self._until(2)}"
        self.end = f"shimos rm --force {_NAME}"

    @staticmethod
    def _until(count: int) -> str:
        # To a file, for with -q or to /dev/null grep is content with the first, and reads on to
        # the end; the console itself ends with the partition.
        return f"{{ shimos console {_NAME} --read-only </dev/null & }} | grep -m{count} {_LINE} >/run/{_NAME}.seen"


class _Kvm:
    """A guest with the same; all its memory is taken, as a partition's is."""

    def __init__(self, system: System):
        boot = (kvm.flavour_paths(system.machine, system.machine.flavour)[0], LAB_INITRD)
        command = kvm.base(boot, _NAME, _MIB, "console=ttyS0 quiet", cpus=1)
        self.start = f"{{ {CHROOT}{command} -mem-prealloc -serial stdio </dev/null & }} | grep -q -m1 {_LINE}"
        self.end = f"pid=$(cat /run/{_NAME}.pid); kill -9 $pid; while [ -d /proc/$pid ]; do sleep 0.01; done"
        self.restart = f"{self.end}; {self.start}"


class _Xen:
    """A domain with the same."""

    def __init__(self, system: System):
        xen.put_config(system.machine, _NAME, _MIB, 1, LAB_INITRD, "quiet")
        # A FIFO that is open both ways never ends, so that the console does not either.
        console = f"[ -p /run/never ] || mkfifo /run/never; {{ {CHROOT}xl console {_NAME} <>/run/never & }}"
        self.start = f"{CHROOT}xl create -q /run/{_NAME}.cfg && {console} | grep -q -m1 {_LINE}"
        self.end = f"{CHROOT}xl destroy {_NAME}"
        self.restart = f"{self.end}; {self.start}"


def _way(system: System) -> _Shimos | _Kvm | _Xen:
    ways: dict[str, type[_Shimos | _Kvm | _Xen]] = {"shimos": _Shimos, "kvm": _Kvm, "xen": _Xen}
    return ways[system.name](system)


def _free(system: System) -> float:
    """Return bytes that nobody has; of the hypervisor where memory is its own."""
    if system.name == "xen":
        return float(system.machine.run(f"{CHROOT}xl info free_memory").output) * (1 << 20)
    return system.machine.mem_free()


def start(system: System) -> float:
    """Return milliseconds until the first user process; of the host itself for native Linux, by its log."""
    if system.name == "native":
        found = re.search(r"\[ *([0-9.]+)\] Run /\S* as init process", system.machine.dmesg())
        assert found, f"the host's log does not say when it ran init: {system.machine.dmesg()[:1000]}"
        return float(found[1]) * 1000
    way = _way(system)
    try:
        return _seconds(system, way.start) * 1000
    finally:
        system.machine.run(way.end, check=False)


def restart(system: System) -> float:
    """Return milliseconds from the kill of a running kernel to the first user process of the next."""
    way = _way(system)
    try:
        system.machine.run(way.start, timeout=400)
        return _seconds(system, way.restart) * 1000
    finally:
        system.machine.run(way.end, check=False)


def memory(system: System) -> float:
    """Return MiB of the host beyond the kernel's own memory."""
    way = _way(system)
    before = _free(system)
    try:
        system.machine.run(way.start, timeout=400)
        return (before - _free(system)) / (1 << 20) - _MIB
    finally:
        system.machine.run(way.end, check=False)


GROUP = Group(
    "life",
    "Starting, restarting, and what a kernel costs",
    (
        Workload(
            "start",
            "from the command to the first user process",
            "ms",
            start,
            systems=("native", "shimos", "kvm", "xen"),
        ),
        Workload(
            "restart",
            "from the kill to the first user process",
            "ms",
            restart,
            systems=("shimos", "kvm", "xen"),
            base="start",
        ),
        Workload("memory", "host memory beyond the kernel's own", "MiB", memory, systems=("shimos", "kvm", "xen")),
    ),
    (
        "The same kernel and a bare initrd, one CPU, 256 MiB. Native Linux: from its own first instruction, four CPUs,"
        " without firmware, which on real hardware takes longer than all of this. A partition's memory is emptied and"
        " cleared first, which a guest's is too (preallocated); a partition has no firmware and no device to find.",
    ),
    "Much of a boot is waiting for timers and copying memory, for which an emulator charges what it charges everybody.",
)
