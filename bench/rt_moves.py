"""How long a program is on no CPU while it goes from one to another: `bench/rt --moves`.

By two clocks: the emulator's, which counts the instructions of all CPUs, and this computer's, where
a thread of it is each CPU and an interrupt from one to the other wakes that thread.
Linux sleeps or works on both CPUs meanwhile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bench.rt_machine import SLOWEST
from lab import progress
from lab.machine import Machine
from lab.stage import rt
from lab.stage.samples import Samples

MOVES = 100
#: Microseconds; SPUMONE 2011 has as many.
GOAL = 50
_MICROSECONDS = {"ns": 1e-3, "µs": 1.0, "ms": 1e3}
_THERE_AND_BACK = f"for i in $(seq {MOVES // 2}); do shimos rt move ctl 0 && shimos rt move ctl 1; done"
#: What keeps a CPU from sleeping.
_AWAKE = "taskset -c {cpu} nice -n 19 sh -c '{until}; do :; done'"


@dataclass(frozen=True)
class Row:
    """All moves on one machine."""

    clock: str
    linux: str
    microseconds: Samples


def parse(text: str) -> list[float]:
    """Return the microseconds of each move, from what `shimos rt move` says."""
    found = re.findall(r"after ([\d.]+) (ns|µs|ms) on none", text)
    return [float(number) * _MICROSECONDS[unit] for number, unit in found]


def _moves(machine: Machine) -> Samples:
    machine.run(rt.rt_command("latency-endless", cpu="1", more="--budget 40%"))
    found = parse(machine.run(_THERE_AND_BACK, timeout=SLOWEST * 10).output)
    machine.run("shimos rm --force ctl")
    assert len(found) == MOVES, f"{len(found)} moves of {MOVES}"
    return Samples.of(found)


def _rows(flavour: str, clock: str, icount: bool) -> list[Row]:
    awake = [_AWAKE.format(cpu=cpu, until=rt.UNTIL_END) for cpu in range(2)]
    with Machine(kernel=flavour, partitions=[], cpus=2, icount=icount) as machine:
        with progress.step(f"{MOVES} moves by {clock}"):
            found = [Row(clock, "sleeps", _moves(machine))]
            with rt.busy(machine, *awake):
                found.append(Row(clock, "works", _moves(machine)))
        machine.assert_dmesg_clean()
    return found


def report(flavour: str) -> bool:
    """Measure and print; whether the goal is met by the emulator's clock."""
    counted = _rows(flavour, "the emulator's", icount=True)
    print(f"\n{MOVES} moves of a program from CPU to CPU, microseconds on none ({flavour}):\n")
    print("| clock | Linux | least | median | most |\n| --- | --- | --- | --- | --- |")
    for row in [*counted, *_rows(flavour, "this computer's", icount=False)]:
        values = row.microseconds.values
        print(f"| {row.clock} | {row.linux} | {min(values):.1f} | {row.microseconds.median:.1f} | {max(values):.1f} |")
    worst = max(row.microseconds.median for row in counted)
    met = worst < GOAL
    print(f"\nmedian below {GOAL} us by the emulator's clock: {'yes' if met else 'no'}, {worst:.1f} us")
    return met
