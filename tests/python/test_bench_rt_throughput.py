"""What `bench/rt --throughput` and `--lock` make of what they measure.  No machine."""

from __future__ import annotations

import math

import pytest

from bench.rt_throughput import Point
from lab.stage.samples import FEWEST, Samples


def same(value: float) -> Samples:
    """Return as many as are asked for, all alike."""
    return Samples.of([value] * FEWEST)


@pytest.mark.parametrize(
    ("raw", "migration", "left"),
    [
        (3.0, 2.25, 0.25),
        (3.0, 3.5, 1.5),
        (3.0, 1.9, 0.0),
        # raw takes no more than the ideal, as far as can be told
        (2.01, 2.015, 0.0),
        (1.9, 2.5, math.inf),
    ],
)
def test_what_migration_leaves(raw: float, migration: float, left: float) -> None:
    one = same(2.0)
    point = Point(0.6, one, same(raw), same(migration))
    assert point.left(2.0) == pytest.approx(left)


def test_one_lost_period_counts() -> None:
    """Four runs of raw that lose nothing do not hide the fifth."""
    raw = Samples.of([2.0, 2.0, 2.0, 2.0, 3.0])
    assert Point(0.6, same(2.0), raw, same(2.05)).left(2.0) == pytest.approx(0.25)


def test_the_papers_ideal() -> None:
    """Of four CPUs one has given the half away, so it takes 4 / 3.5 as long."""
    one = same(1.0)
    assert Point(0.5, one, one, one).ideal(7.0) == pytest.approx(8.0)
