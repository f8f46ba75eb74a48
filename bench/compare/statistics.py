"""Medians, spreads, ratios, and Welch's test where there are runs enough."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scipy import stats

Better = Literal["lower", "higher"]
#: The papers' level of significance.
LEVEL = 0.01


@dataclass(frozen=True)
class Summary:
    """Some runs of one thing."""

    count: int
    median: float
    low: float  # the middle half
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        """Summarise at least one value."""
        if len(values) < 2:
            return cls(len(values), values[0], values[0], values[0])
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(len(values), middle, low, high)


def speed(native: Sequence[float], other: Sequence[float], better: Better) -> float:
    """Return how many times native's speed: above 1 is faster, whatever the unit."""
    here, there = statistics.median(native), statistics.median(other)
    return here / there if better == "lower" else there / here


def welch(native: Sequence[float], other: Sequence[float]) -> float | None:
    """Return the probability of such a difference by chance; None with too few runs, or if they do not vary."""
    if min(len(native), len(other)) < 3 or (len(set(native)) == 1 and len(set(other)) == 1):
        return None
    return float(stats.ttest_ind(native, other, equal_var=False).pvalue)
