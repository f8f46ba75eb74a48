"""The table of `bench/rt --guarded`: what each work takes, unguarded and guarded, and whether that is met.  No machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.rt_figures import Unreadable
from lab.stage.samples import Samples

#: How much more a guarded partition may take.
MORE = 0.005

LIMITS = (
    "The emulator's limits: leaving a guest, empty TLBs and nested page tables cost nothing there.",
    "On hardware a page that no TLB has takes up to 24 accesses to memory instead of 4; exits would cost, and there are none.",
)


@dataclass(frozen=True)
class Work:
    """What a partition does again and again."""

    name: str
    command: str  # prints nanoseconds of one turn


@dataclass(frozen=True)
class Reading:
    """One sample: instructions of one turn, and how often its kernel was left for all of them."""

    instructions: float
    exits: int

    @classmethod
    def of(cls, text: str, exits: int) -> Reading:
        """Return what a program has said: a number, and perhaps what it is."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(?: ns per request)?", text.strip())
        if not found:
            raise Unreadable(f"no nanoseconds of a turn: {text!r}")
        return cls(float(found[1]), exits)


#: By work, what it took unguarded and guarded.
Rows = Mapping[Work, tuple[Sequence[Reading], Sequence[Reading]]]


@dataclass(frozen=True)
class Line:
    """One work, and what is to be said of it."""

    work: Work
    unguarded: Samples
    guarded: Samples
    exits: int

    @classmethod
    def of(cls, work: Work, unguarded: Sequence[Reading], guarded: Sequence[Reading]) -> Line:
        """Return the line of these readings."""
        plain, held = (Samples.of([one.instructions for one in readings]) for readings in (unguarded, guarded))
        return cls(work, plain, held, sum(one.exits for one in guarded))

    @property
    def more(self) -> float:
        """How much more it takes guarded."""
        return self.guarded.median / self.unguarded.median - 1

    @property
    def met(self) -> bool | None:
        """Whether it is within the goal; None if the anchor does not stand still enough to tell."""
        if self.exits:
            return False
        # Not "<=": what is no number must not pass either.
        if not self.unguarded.spread <= MORE:
            return None
        return self.more <= MORE

    def __str__(self) -> str:
        verdict = {True: "met", False: "MISSED", None: f"no verdict: unguarded varies by {self.unguarded.spread:.1%}"}
        cells = (self.work.name, _spent(self.unguarded), _spent(self.guarded), f"{self.more:+.2%}", f"{self.exits}")
        return f"| {' | '.join(cells)} | {verdict[self.met]} |"


def _spent(samples: Samples) -> str:
    least, middle, most = (f"{value:,.0f}" for value in (min(samples.values), samples.median, max(samples.values)))
    return f"{middle} ({least} to {most})"


def lines(rows: Rows) -> list[Line]:
    """Return a line for each work."""
    return [Line.of(work, *readings) for work, readings in rows.items()]


def table(found: Sequence[Line]) -> str:
    """Return them under a head."""
    head = (
        "| instructions of one, median (least to most) | unguarded | guarded | more | exits "
        f"| goal: at most {MORE:.1%} more, no exit |\n| --- | --- | --- | --- | --- | --- |"
    )
    return "\n".join([head, *map(str, found)])


def report(rows: Rows) -> bool:
    """Print all of it; whether the goal is met."""
    found = lines(rows)
    samples = len(found[0].guarded.values)
    print(f"\n## A guarded partition beside the same one unguarded, {samples} samples each\n")
    print(table(found))
    print("", *LIMITS, sep="\n", flush=True)
    return all(line.met for line in found)
