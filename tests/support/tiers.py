"""How much of a test runs: ``./test`` runs every test, ``./test --all`` all repetitions, too.

A loop asks ``rounds()`` for its length.  Of a parametrized test, parameters that say the same
of another kernel or machine carry ``REPETITION``; at least one of each test must not.
"""

from __future__ import annotations

import os

import pytest

#: What ``./test --all`` sets for the tests' processes.
ALL_VARIABLE = "SHIMOS_TEST_ALL"

#: Mark of a parameter that only ``./test --all`` runs: pytest.param(..., marks=REPETITION).
REPETITION = pytest.mark.repetition


def everything() -> bool:
    """Whether all repetitions were asked for."""
    return os.environ.get(ALL_VARIABLE) == "1"


def rounds(everyone: int, few: int) -> int:
    """The length of a test's loop: ``everyone`` with --all, ``few`` otherwise."""
    return everyone if everything() else few
