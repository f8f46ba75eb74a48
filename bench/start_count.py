"""How many instructions the start of a partition takes on each architecture: `bench/start --count`.

The same command on two machines whose emulator counts what its CPUs execute.  Nothing
else runs there, so all of them count: the partition's and the host's.
"""

from __future__ import annotations

import statistics

from bench import plugin
from bench.start_command import UNTIL_INIT, command
from lab.arch import AMD64, ARM64, Arch
from lab.machine import LAB_INITRD, Machine

#: The goal of issue 16: as many times x86's.
TIMES = 1.5
FLAVOURS = ("6.12",)
_PARTS = ("to init", "of it until `shimos run` ends")
#: Seconds of this computer that a start may take.
_SLOWEST = 400


def start(machine: Machine, read: plugin.Reader, flavour: str) -> tuple[int, int]:
    """Return instructions until the first line of the partition's init, and how many until `shimos run` ends."""
    began = read()
    machine.run(command(machine, flavour), timeout=_SLOWEST)
    ran = read()
    machine.run(UNTIL_INIT.format(count=1), timeout=_SLOWEST)
    ended = read()
    machine.run("shimos rm --force web", timeout=_SLOWEST)
    return ended - began, ran - began


def of(arch: Arch, rounds: int) -> dict[str, float]:
    """Return millions of instructions by row, the median of some rounds."""
    found: dict[str, list[float]] = {}
    with plugin.counting(arch=arch.name, partitions=FLAVOURS, icount=True) as (machine, read):
        size = machine.run(f"stat -c %s {LAB_INITRD}").output.strip()
        print(f"{arch.name}: host {machine.versions[machine.flavour]}, {machine.versions}, initrd {size} bytes")
        for flavour in FLAVOURS:
            for _ in range(rounds):
                for part, count in zip(_PARTS, start(machine, read, flavour), strict=True):
                    found.setdefault(f"{flavour}, {part}", []).append(count / 1e6)
        machine.assert_dmesg_clean()
    for what, values in found.items():
        print(f"  {what}: {', '.join(f'{v:,.1f}' for v in values)}")
    return {what: statistics.median(values) for what, values in found.items()}


def table(rounds: int) -> bool:
    """Print it; whether the goal is met."""
    before, now = of(AMD64, rounds), of(ARM64, rounds)
    print(f"\n| millions of instructions | {AMD64.name} | {ARM64.name} | times | |\n| --- | --- | --- | --- | --- |")
    met = True
    for what, count in before.items():
        times = now[what] / count
        verdict = ""
        if what.endswith(_PARTS[0]):
            verdict = "met" if times <= TIMES else "MISSED"
            met &= times <= TIMES
        print(f"| {what} | {count:,.0f} | {now[what]:,.0f} | {times:.2f} | {verdict} |")
    return met
