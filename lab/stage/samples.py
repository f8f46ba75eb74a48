"""Judging by repeated samples: medians, and no verdict where the anchor does not stand still.

An anchor is what something else is measured against.  If it reads double, everything beside
it looks twice as good, so a ratio is worth no more than its anchor.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

#: How many samples a verdict needs.
FEWEST = 5
#: How far the middle half of an anchor's samples may reach, of their median.  One sample with a timer's work
#: in it does not move a median; two of five could, and are beyond this.
BOUND = 0.05


@dataclass(frozen=True)
class Samples:
    """What was measured several times."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Samples:
        """Return samples; raises if there are too few for a verdict."""
        if len(values) < FEWEST:
            raise ValueError(f"{len(values)} samples, {FEWEST} are wanted")
        return cls(tuple(values))

    @property
    def median(self) -> float:
        """Return the median of the values."""
        return statistics.median(self.values)

    @property
    def mean(self) -> float:
        """Return the mean of the values, for what is rare and large."""
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float:
        """How far the middle half of the values reaches, as a part of the median."""
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return (high - low) / self.median

    def __str__(self) -> str:
        return f"{self.median:.0f} ({min(self.values):.0f} to {max(self.values):.0f})"


@dataclass(frozen=True)
class Verdict:
    """Whether an aim is met; ``met`` is None if nobody can tell."""

    met: bool | None
    text: str

    @property
    def status(self) -> int:
        """The exit status of a program: 0 met, 1 missed, 2 no verdict."""
        return {True: 0, False: 1, None: 2}[self.met]


def judge(anchor: Samples, measured: Samples, aim: float) -> Verdict:
    """Say whether the median is at most ``aim`` times the anchor's, if the anchor stands still."""
    # Not "<=": what is no number must not pass either.
    if not anchor.spread <= BOUND:
        return Verdict(None, f"no verdict: the anchor varies by {anchor.spread:.0%}")
    met = measured.median <= aim * anchor.median
    return Verdict(met, f"<= {aim} {'met' if met else 'MISSED'}")
