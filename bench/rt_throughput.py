"""What an RTOS that takes its share of a core costs hackbench on all of them: `bench/rt --throughput`.

Figure 9 of "SPUMONE" (2011).  A program that never yields has a part of each 500 ms of the last CPU.
Linux's CPU there waits meanwhile ("raw", policy fixed), and whoever wants a lock that it has waits
with it; or it goes to another core (policy lhp).  The anchor is Linux alone, on all CPUs and on one.

The machine has as many CPUs as the paper's.  They take turns, and its clock counts the instructions
of all of them: one that sleeps, or that waits for a lock, leaves its turn to the others.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from bench.rt_cyclictest import cyclictest
from lab import progress
from lab.devices import Disk
from lab.machine import Machine
from lab.stage.rt import rt_command
from lab.stage.samples import Samples

CPUS = 4
PARTS = (0.0, 0.2, 0.4, 0.6, 0.8)
RAW, MIGRATION = "fixed", "lhp"
PERIOD = "500ms"
SAMPLES = 5
#: Tasks that wake each other all the time; one run is some seconds, so many periods.
HACKBENCH = "/mnt/usr/bin/hackbench -g 4 -l 200"
#: What lhp may leave of what raw costs beyond the ideal.
GOAL = 0.5


@dataclass(frozen=True)
class Point:
    """One part of the core, with each policy."""

    part: float
    raw: Samples
    migration: Samples

    def ideal(self, alone_on_one: float) -> float:
        """Return the paper's I(f): what is left of the cores, if nobody waits for anybody.

        One CPU alone has the turns of all, so it is as fast as they are together.
        """
        return CPUS * alone_on_one / (CPUS - self.part)

    def left(self, alone_on_one: float) -> float:
        """Return how much of raw's excess is there with lhp, too."""
        ideal = self.ideal(alone_on_one)
        return (self.migration.median - ideal) / (self.raw.median - ideal)


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


def with_policies(machine: Machine, part: float) -> Point:
    """Measure beside a program that takes its part, with both policies in turn."""
    image, budget = ("busy-endless", f"--budget {part:.0%}/{PERIOD}") if part else ("echo", "")
    machine.run(rt_command(image=image, cpu=str(CPUS - 1), more=budget))
    found: dict[str, list[float]] = {RAW: [], MIGRATION: []}
    for _ in range(SAMPLES):
        for policy, scores in found.items():
            machine.run(f"shimos rt policy {policy}")
            scores.append(score(machine))
    machine.run("shimos rt policy fixed && shimos rm --force ctl")
    return Point(part, Samples.of(found[RAW]), Samples.of(found[MIGRATION]))


def measure(flavour: str) -> tuple[Samples, Samples, list[Point]]:
    """Measure all points."""
    points = []
    disks = [Disk("bench-rt", cyclictest)]
    with Machine(kernel=flavour, partitions=[], cpus=CPUS, icount=True, disks=disks) as machine:
        machine.run(f"mount -o ro {machine.disk('bench-rt')} /mnt")
        with progress.step("hackbench, Linux alone"):
            everywhere, one = alone(machine)
        print(f"alone: {_spent(everywhere)}, on one {_spent(one)}", file=sys.stderr, flush=True)
        for part in PARTS:
            with progress.step(f"hackbench beside a program that has {part:.0%} of a core"):
                points.append(with_policies(machine, part))
            print(_row(points[-1], one.median), file=sys.stderr, flush=True)
        machine.assert_dmesg_clean()
    return everywhere, one, points


def _spent(samples: Samples) -> str:
    return f"{samples.median:.2f} s ({min(samples.values):.2f} to {max(samples.values):.2f})"


def _row(point: Point, one: float) -> str:
    cells = (f"{point.part}", _spent(point.raw), _spent(point.migration), f"{point.ideal(one):.2f} s")
    return f"| {' | '.join(cells)} | {point.left(one):.2f} |"


def report(flavour: str) -> bool:
    """Measure and print; whether the goal is met."""
    everywhere, one, points = measure(flavour)
    print(f"\nhackbench on {CPUS} CPUs, {flavour}; median of {SAMPLES} (least to most).")
    print(f"Linux alone: {_spent(everywhere)}; on one CPU {_spent(one)}. The ideal is the paper's I(f), by that.\n")
    print("| f | raw (fixed) | migration (lhp) | ideal | excess that lhp leaves |")
    print("| --- | --- | --- | --- | --- |")
    for point in points:
        print(_row(point, one.median))
    judged = [point.left(one.median) for point in points if point.part]
    met = all(left <= GOAL for left in judged)
    print(f"\nat most {GOAL:.0%} of raw's excess is left: {'yes' if met else 'no'}, {max(judged):.0%} at worst")
    return met
