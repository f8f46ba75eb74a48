"""What an RTOS that takes its share of a core costs CPUs that all want one lock: `bench/rt --lock`.

Figure 8 of "SPUMONE" (2011), lock-holder preemption by itself.  It costs figure 9's hackbench little
on the lab's machine.  Here a module holds a spinlock for most of the time, from all CPUs in turn, and
the rest is as in `bench/rt --throughput`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from bench.rt_throughput import CPUS, SAMPLES, Point, beside_a_task, judge, row, spent, with_policies
from lab import progress
from lab.machine import Machine
from lab.stage import traffic
from lab.stage.samples import Samples

#: Turns of all CPUs together, for many periods; in each the lock is held for so many rounds of a loop, and then free.
_TURNS, _HELD, _FREE = 180_000, 3000, 12_000
_EACH = f"taskset -c {{cpu}} sh -c 'echo take {_HELD} {_FREE} >/proc/spinlock' &"


def job(machine: Machine) -> float:
    """Return how many seconds all CPUs need for all turns."""
    every = " ".join(_EACH.format(cpu=cpu) for cpu in range(CPUS))
    machine.put("/tmp/lock", f"echo turns {_TURNS} >/proc/spinlock\nTIMEFORMAT=%R\ntime {{ {every} wait; }}\n".encode())
    return float(re.findall(r"^\d+\.\d+$", machine.run("bash /tmp/lock", timeout=600).output, re.MULTILINE)[-1])


def _row(point: Point, alone: float) -> str:
    return row(point, alone, point.task.mean)


def measure(flavour: str, parts: Sequence[float]) -> tuple[Samples, list[Point]]:
    """Measure a point for each part of the core that is not zero."""
    points = []
    with Machine(kernel=flavour, partitions=[], cpus=CPUS, icount=True) as machine:
        traffic.load(machine, "shimos_spinlock")
        alone = Samples.of([job(machine) for _ in range(SAMPLES)])
        for part in filter(None, parts):
            with progress.step(f"a lock that all want, beside a program that has {part:.0%} of a core"):
                points.append(Point(part, beside_a_task(machine, part, job), *with_policies(machine, part, job)))
            print(_row(points[-1], alone.mean), file=sys.stderr, flush=True)
        machine.assert_dmesg_clean()
    return alone, points


def report(flavour: str, parts: Sequence[float]) -> bool:
    """Measure and print; whether the goal of figure 9 is met here."""
    alone, points = measure(flavour, parts)
    print(f"\n{_TURNS} turns with a lock that {CPUS} CPUs want, {flavour}; mean of {SAMPLES} (least to most).")
    print(f"Linux alone: {spent(alone)}. The ideal is that, by {CPUS} CPUs less the part.\n")
    print("| f | a task of Linux's | raw (fixed) | migration (lhp) | ideal | excess over the task that lhp leaves |")
    print("| --- | --- | --- | --- | --- | --- |")
    for point in points:
        print(_row(point, alone.mean))
    print()
    return judge("a task of Linux's", [point.left(point.task.mean) for point in points])
