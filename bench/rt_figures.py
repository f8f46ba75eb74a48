"""What `bench/rt` makes of its measurements: percentiles, verdicts, tables.  No machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

#: Cycles of a bucket of the program: LATENCY_WIDTH of rt/programs/latency.c.
WIDTH = 4
#: How much later than with an idle Linux 999 of 1000 activations may be.
FACTOR = 1.1
#: Cycles that none may be late.
WORST = 500
#: Seconds that the worst one without separation must be late: else Linux was not in the way at all.
IN_THE_WAY = 0.001

#: Whom a row is about.
OURS, ANCHOR, WITHOUT = "real-time partition", "cyclictest", "without separation"
#: What Linux does meanwhile.
IDLE, WORK, MASKED, ALONE = "idle", "works", "works, 2 ms interrupts off", "gone: to the entry"

#: Figures 6 and 7 are plots, and the text has no number of them.  By who and load.
PAPER = {
    (WITHOUT, WORK): 'figure 6: Linux writes, "heavily" disturbed',
    (OURS, WORK): 'figure 7: Linux writes, "low" latency',
}
#: Figure 3: building Linux takes 68 m 5.9 s, and 69 m 3.1 s beside an RTOS with a tick of 1 ms.
PAPER_COST = (69 * 60 + 3.1) / (68 * 60 + 5.9) - 1


class Unreadable(ValueError):
    """What a program printed is not what it prints when all is well; the text says why."""


@dataclass(frozen=True)
class Latencies:
    """How late all activations of a run were, in cycles."""

    buckets: Mapping[int, int]  # how many, by the least that a bucket is for
    width: int
    beyond: int  # how many are above all buckets
    minimum: int
    mean: int
    maximum: int
    missed: int
    exits: float | None = None  # a second

    @property
    def total(self) -> int:
        """Return how many activations there were."""
        return sum(self.buckets.values()) + self.beyond

    def percentile(self, part: float) -> int:
        """Return what ``part`` of all are at most; the upper end of its bucket, for nobody knows better."""
        left = part * self.total
        for least, count in sorted(self.buckets.items()):
            left -= count
            if left <= 0:
                return min(least + self.width - 1, self.maximum)
        return self.maximum


def _all_told(found: Latencies, total: int) -> Latencies:
    if found.total != total or not total:
        raise Unreadable(f"the histogram has {found.total} activations, not {total}")
    return found


def _buckets(text: str) -> dict[int, int]:
    """Read lines of a bucket and a count; empty ones are left out."""
    rows = re.findall(r"^(\d{6,}) +(\d+)\s*$", text, re.MULTILINE)
    return {int(least): int(count) for least, count in rows if int(count)}


def _told(text: str, pattern: str) -> int:
    found = re.findall(pattern, text)
    if not found:
        raise Unreadable(f"nothing fits {pattern!r} in:\n{text[-2000:]}")
    return int(found[-1])


def cycles_per_second(text: str) -> int:
    """Return the clock that rt/programs/latency.c says it has."""
    return _told(text, r"latency: (\d+) cycles per second")


def parse_latency(text: str, exits: float | None = None) -> Latencies:
    """Read the console of rt/programs/latency.c after its end."""
    for wrong in ("Early", "Strays"):
        if count := _told(text, rf"# {wrong}: (\d+)"):
            raise Unreadable(f"{wrong}: {count}")
    found = Latencies(
        _buckets(text.partition("# Histogram")[2]),
        WIDTH,
        _told(text, r"# Overflows: (\d+)"),
        _told(text, r"Min: +(\d+)"),
        _told(text, r"Avg: +(\d+)"),
        _told(text, r"Max: +(\d+)"),
        _told(text, r"# Missed: (\d+)"),
        exits,
    )
    return _all_told(found, _told(text, r"# Total: (\d+)"))


def parse_cyclictest(text: str, activations: int, cycles: int) -> Latencies:
    """Read what cyclictest says at its end with --histogram; its microseconds become cycles, of which a second has ``cycles``.

    It goes on at the next deadline that has not passed, so what is not in its histogram it has missed.
    """
    unit = round(cycles / 1_000_000)  # the clock is known by measuring
    total = _told(text, r"# Total: (\d+)")
    minimum, mean, maximum = (_told(text, rf"# {what} Latencies: (\d+)") * unit for what in ("Min", "Avg", "Max"))
    buckets = {least * unit: count for least, count in _buckets(text).items()}
    beyond = _told(text, r"# Histogram Overflows: (\d+)")
    # Its greatest microsecond has a thousand parts, too.
    greatest = maximum + unit - 1
    found = Latencies(buckets, unit, beyond, minimum, mean, greatest, max(activations - total, 0))
    return _all_told(found, total)


@dataclass(frozen=True)
class Row:
    """One run."""

    kernel: str
    who: str
    load: str
    latencies: Latencies

    def record(self) -> dict[str, Any]:
        """Return all of it, for a file."""
        numbers = asdict(self.latencies) | {
            "p99": self.latencies.percentile(0.99),
            "p99.9": self.latencies.percentile(0.999),
        }
        return {"kernel": self.kernel, "who": self.who, "load": self.load} | numbers


@dataclass(frozen=True)
class Goal:
    """What is wanted, and what was found."""

    what: str
    found: str
    met: bool

    def __str__(self) -> str:
        return f"| {self.what} | {self.found} | {'met' if self.met else 'NOT MET'} |"


def goals(rows: Sequence[Row], cycles: int) -> list[Goal]:
    """Judge each kernel's real-time partition, and whether there was anything to be separated from."""
    ours = {(row.kernel, row.load): row.latencies for row in rows if row.who == OURS}
    found = []
    for kernel in dict.fromkeys(kernel for kernel, _ in ours):
        idle = ours[kernel, IDLE].percentile(0.999)
        for load in (WORK, MASKED):
            late = ours[kernel, load]
            now = late.percentile(0.999)
            title = f"{kernel}, Linux {load}"
            found += [
                Goal(f"{title}: p99.9 at most {FACTOR} x idle", f"{now / idle:.2f} x", now <= FACTOR * idle),
                Goal(f"{title}: max at most {WORST}", f"{late.maximum:,}", late.maximum <= WORST),
                Goal(f"{title}: none missed", f"{late.missed:,}", late.missed == 0),
            ]
    for row in rows:
        if row.who == WITHOUT and row.load == MASKED:
            worst = row.latencies.maximum / cycles
            what = f"{row.kernel}, {WITHOUT}: max at least {IN_THE_WAY * 1000:g} ms, or there was nothing in the way"
            found.append(Goal(what, f"{worst * 1000:.2f} ms", worst >= IN_THE_WAY))
    return found


def table(rows: Sequence[Row]) -> str:
    """Return all runs, a line each."""
    lines = [
        "| host | who | Linux | activations | min | mean | p99 | p99.9 | max | missed | exits/s | paper |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        late = row.latencies
        numbers = (
            late.total,
            late.minimum,
            late.mean,
            late.percentile(0.99),
            late.percentile(0.999),
            late.maximum,
            late.missed,
        )
        exits = "" if late.exits is None else f"{late.exits:,.0f}"
        cells = (row.kernel, row.who, row.load, *(f"{n:,}" for n in numbers), exits, PAPER.get((row.who, row.load), ""))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
