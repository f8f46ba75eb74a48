"""How much runs: what ``./test`` runs, or with ``--all`` everything, told to all processes by the environment."""

from __future__ import annotations

import os
import time

#: What ``./test --all`` sets.
ALL_VARIABLE = "SHIMOS_TEST_ALL"
#: What ``./test --minutes`` sets: when no test begins any more that can wait, in seconds since 1970.
UNTIL_VARIABLE = "SHIMOS_TEST_UNTIL"


def choose(everything: bool) -> None:
    """Set for this process and those that it starts."""
    os.environ[ALL_VARIABLE] = "1" if everything else ""


def everything() -> bool:
    """Return whether all repetitions were asked for, and nothing shall be taken from the cache."""
    return os.environ.get(ALL_VARIABLE) == "1"


def limit(minutes: float | None) -> None:
    """Set for this process and those that it starts how long tests begin that can wait; None: as long as it takes."""
    os.environ[UNTIL_VARIABLE] = "" if minutes is None else str(time.time() + 60 * minutes)


def time_is_up() -> bool:
    """Return whether no test shall begin any more that can wait."""
    until = os.environ.get(UNTIL_VARIABLE)
    return time.time() > float(until) if until else False
