"""Inter-kernel communication itself; nobody else has it, so native Linux' nearest stands beside it."""

from __future__ import annotations

import json

from bench.compare.results import Clock
from bench.compare.system import System
from bench.compare.workload import Group, Workload

_MODULE = "shimos_ikc_bench"
_BOTH: tuple[Clock, ...] = ("times", "instructions")


def bell(system: System) -> float:
    """Return the median round trip, in us, of a packet between kernels, handled in the interrupt."""
    host, web = system.pair
    for kernel in (host, web):
        kernel.run(f"[ -d /sys/module/{_MODULE} ] || insmod /bench/{_MODULE}.ko")
    try:
        text = host.run(f"echo bell 1 {system.count(2000)} >/proc/ikc_bench && cat /proc/ikc_bench")
    finally:
        for kernel in (host, web):
            kernel.run(f"rmmod {_MODULE}")
    return float(dict(line.split() for line in text.splitlines())["median"]) / 1000


def ping(system: System) -> float:
    """Return the median round trip between programs, in us."""
    text = system.machine.run(f"shimos ping --json -i 0 -c {system.count(2000)} web", timeout=300).output
    return float(json.loads(text)["round_trip"]["median_ns"]) / 1000


def perf(system: System) -> float:
    """Return messages a second between programs, one way."""
    text = system.machine.run(f"shimos perf --time {1 + round(2 * system.scale)} --json web", timeout=120).output
    return float(json.loads(text)["messages_per_second"])


GROUP = Group(
    "ikc",
    "Inter-kernel communication",
    (
        Workload(
            "ikc-rtt",
            "round trip of a packet between kernels, doorbell both ways",
            "us",
            bell,
            systems=("shimos",),
            clocks=_BOTH,
            base="pipe-other",
            paper={"shimos": "2.7 us"},
        ),
        Workload(
            "ikc-ping",
            "round trip between programs of two kernels (shimos ping)",
            "us",
            ping,
            systems=("shimos",),
            clocks=_BOTH,
            base="pipe-other",
            why="Waking a program by a doorbell and poll(2) is more work than by a pipe.",
        ),
        Workload(
            "ikc-rate",
            "64-byte messages between programs (shimos perf)",
            "1/s",
            perf,
            better="higher",
            systems=("shimos",),
            paper={"shimos": "1.2 M/s"},
        ),
    ),
    (
        "Native Linux has no such thing; the ratio is to its pipe between two CPUs, which wakes a process at each end"
        " as `shimos ping` does. More in `bench/ikc`; the ring by itself, on the real CPUs of the machine that runs the"
        " emulator, in `bench/ring`.",
    ),
    "A doorbell is an IPI. An emulator delivers one when the other CPU's thread looks next, which takes as long as the"
    " developer's machine lets it wait: times of anything that wakes another CPU vary by a factor of two and more.",
)
