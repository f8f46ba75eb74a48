"""How much of a test runs: ``./test`` runs what is not rare, ``./test --all`` everything, with all repetitions.

What is ``late`` runs after the rest, and only what finds time: `.ci/run` has little on a slow computer.

A loop asks ``rounds()`` for its length.  Of a parametrized test, parameters that say the same
of another kernel or machine carry ``REPETITION``; at least one of each test must not, unless the
whole test is ``rare``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest

from lab.tier import everything

__all__ = ["NO_TIME", "REPETITION", "everything", "late", "on_machines", "rare", "rounds"]

#: Why a test was skipped for which there was no time.
NO_TIME = "no time is left for it: ./test without --minutes runs it"

#: Mark of a parameter that only ``./test --all`` runs: pytest.param(..., marks=REPETITION).
REPETITION = pytest.mark.repetition


def rare(why: str) -> pytest.MarkDecorator:
    """Return the mark of a whole test that only ``./test --all`` runs: it is long, and ``why`` it can wait."""
    return pytest.mark.repetition(why)


def late(why: str) -> pytest.MarkDecorator:
    """Return the mark of a test, or of a file's, that runs after others, if there is time; and ``why`` others go first."""
    return pytest.mark.late(why)


def rounds(everyone: int, few: int) -> int:
    """Return the length of a test's loop: ``everyone`` with --all, ``few`` otherwise."""
    return everyone if everything() else few


def on_machines(
    metafunc: pytest.Metafunc,
    machines: Sequence[str],
    also: Mapping[str, Collection[str]],
    fixture: str = "make_machine",
) -> None:
    """Run a module's tests on several machines: all on the first one, on others by default only what differs there.

    ``also`` has the names of those tests by machine.  For pytest_generate_tests, because marks of a
    fixture's parameters would hold for all tests alike.
    """
    if fixture not in metafunc.fixturenames:
        return
    name = metafunc.function.__name__
    chosen = [
        pytest.param(machine, marks=() if machine == machines[0] or name in also.get(machine, ()) else REPETITION)
        for machine in machines
    ]
    metafunc.parametrize(fixture, chosen, indirect=True, scope="module")
