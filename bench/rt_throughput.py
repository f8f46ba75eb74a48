"""What an RTOS that takes its share of a core costs hackbench on all of them: `bench/rt --throughput`.

Figure 9 of "SPUMONE" (2011).  A program that never yields has a part of each 500 ms of the last CPU.
Linux's CPU there waits meanwhile ("raw", policy fixed), and whoever wants a lock that it has waits
with it; or it goes to another core (policy lhp).  The anchors are Linux alone, on all CPUs and on one,
and beside a task of its own of the highest priority, which takes the same part.  Linux's scheduler
knows of that one, and it takes the CPU from nobody who has a lock, so nobody waits for it in vain.

The machine has as many CPUs as the paper's.  They take turns, and its clock counts the instructions
of all of them: one that sleeps, or that waits for a lock, leaves its turn to the others.  So who never
yields has more than a CPU's share of that clock, which the paper's ideal does not know.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.rt_cyclictest import cyclictest
from lab import progress
from lab.devices import Disk
from lab.machine import Machine
from lab.stage import rt
from lab.stage.partitions import PROGRAMS
from lab.stage.samples import Samples

CPUS = 4
PARTS = (0.0, 0.2, 0.4, 0.6, 0.8)
RAW, MIGRATION = "fixed", "lhp"
PERIOD_MS = 500
SAMPLES = 5
#: Tasks that wake each other all the time; one run is many periods, or it matters where in one it begins.
HACKBENCH = "/mnt/usr/bin/hackbench -g 4 -l 400"
#: The part of a duration by which two have to differ.
TOLD = 0.01
#: What lhp may leave of what raw costs beyond the anchor.
GOAL = 0.5
_TASK = f"{PROGRAMS}/busy_task.py {CPUS - 1} {{part}} {PERIOD_MS} {rt.END}"


@dataclass(frozen=True)
class Point:
    """One part of the core: a task of Linux's has it, or a program with each policy."""

    part: float
    task: Samples
    raw: Samples
    migration: Samples

    def ideal(self, alone_on_one: float) -> float:
        """Return the paper's I(f): what is left of the cores, if nobody waits for anybody.

        One CPU alone has the turns of all, so it is as fast as they are together.
        """
        return CPUS * alone_on_one / (CPUS - self.part)

    def left(self, ideal: float) -> float:
        """Return how much of what raw takes beyond an ideal is there with lhp, too.

        By means: what raw costs is in few of its periods, and a median hides them.
        Raw may take no more, as far as that can be told; then lhp must not either.
        """
        of_raw, of_migration = self.raw.mean - ideal, self.migration.mean - ideal
        if of_raw < TOLD * ideal:
            return 0.0 if of_migration < TOLD * ideal else math.inf
        return max(0.0, of_migration / of_raw)


#: Measures something on a machine, in seconds.
Job = Callable[[Machine], float]


def score(machine: Machine, prefix: str = "") -> float:
    """Return hackbench's own figure, in seconds."""
    text = machine.run(f"{prefix}{HACKBENCH}", timeout=600).output
    return float(re.findall(r"^Time: ([\d.]+)", text, re.MULTILINE)[-1])


def alone(machine: Machine) -> tuple[Samples, Samples]:
    """Measure Linux without anybody, on all CPUs and on one; the layer is not there."""
    score(machine)
    everywhere = Samples.of([score(machine) for _ in range(SAMPLES)])
    one = Samples.of([score(machine, "taskset -c 0 ") for _ in range(SAMPLES)])
    return everywhere, one


def beside_a_task(machine: Machine, part: float, job: Job = score) -> Samples:
    """Measure beside a task of Linux's that takes its part; the layer is not there."""
    with rt.busy(machine, *([_TASK.format(part=part)] if part else [])):
        # it has begun when the first one is over
        job(machine)
        return Samples.of([job(machine) for _ in range(SAMPLES)])


def with_policies(machine: Machine, part: float, job: Job = score) -> tuple[Samples, Samples]:
    """Measure beside a program that takes its part, with both policies in turn: raw, migration."""
    image, budget = ("busy-endless", f"--budget {part:.0%}/{PERIOD_MS}ms") if part else ("echo", "")
    machine.run(rt.rt_command(image=image, cpu=str(CPUS - 1), more=budget))
    found: dict[str, list[float]] = {RAW: [], MIGRATION: []}
    for _ in range(SAMPLES):
        for policy, scores in found.items():
            machine.run(f"shimos rt policy {policy}")
            scores.append(job(machine))
    machine.run("shimos rt policy fixed && shimos rm --force ctl")
    return Samples.of(found[RAW]), Samples.of(found[MIGRATION])


def measure(flavour: str, parts: Sequence[float]) -> tuple[Samples, Samples, list[Point]]:
    """Measure a point for each part of the core."""
    points = []
    disks = [Disk("bench-rt", cyclictest)]
    with Machine(kernel=flavour, partitions=[], cpus=CPUS, icount=True, disks=disks) as machine:
        machine.run(f"mount -o ro {machine.disk('bench-rt')} /mnt")
        with progress.step("hackbench, Linux alone"):
            everywhere, one = alone(machine)
        print(f"alone: {spent(everywhere)}, on one {spent(one)}", file=sys.stderr, flush=True)
        for part in parts:
            with progress.step(f"hackbench beside a program that has {part:.0%} of a core"):
                points.append(Point(part, beside_a_task(machine, part), *with_policies(machine, part)))
            print(_row(points[-1], one.mean), file=sys.stderr, flush=True)
        machine.assert_dmesg_clean()
    return everywhere, one, points


def spent(samples: Samples) -> str:
    """Return the mean and the range, in seconds."""
    return f"{samples.mean:.2f} s ({min(samples.values):.2f} to {max(samples.values):.2f})"


def row(point: Point, one: float, *ideals: float) -> str:
    """Return a row of the table: what all took, and what is left beyond each of some ideals."""
    left = (f"{point.left(ideal):.2f}" for ideal in ideals)
    cells = (f"{point.part}", *map(spent, (point.task, point.raw, point.migration)), f"{point.ideal(one):.2f} s", *left)
    return f"| {' | '.join(cells)} |"


def _row(point: Point, one: float) -> str:
    return row(point, one, point.task.mean, point.ideal(one))


def report(flavour: str, parts: Sequence[float]) -> bool:
    """Measure and print; whether the goal is met, over what Linux's scheduler makes of the same loss."""
    everywhere, one, points = measure(flavour, parts)
    print(f"\nhackbench on {CPUS} CPUs, {flavour}; mean of {SAMPLES} (least to most).")
    print(f"Linux alone: {spent(everywhere)}; on one CPU {spent(one)}. The ideal is the paper's I(f), by that.\n")
    print("| f | a task of Linux's | raw (fixed) | migration (lhp) | ideal | excess over the task | over the ideal |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for point in points:
        print(_row(point, one.mean))
    print()
    shared = [point for point in points if point.part]
    # one CPU alone waits for nobody, so four never come near it, whoever shares them
    judge("the paper's ideal", [point.left(point.ideal(one.mean)) for point in shared])
    return judge("a task of Linux's", [point.left(point.task.mean) for point in shared])


def judge(over: str, left: list[float]) -> bool:
    """Print whether each excess, as a part of raw's, is at most GOAL; returns that."""
    met = all(each <= GOAL for each in left)
    print(f"at most {GOAL:.0%} of raw's excess over {over} is left: {'yes' if met else 'no'}, {max(left):.0%} at worst")
    return met
