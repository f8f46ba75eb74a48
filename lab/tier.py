"""How much runs: what ``./test`` runs, or with ``--all`` everything, told to all processes by the environment."""

from __future__ import annotations

import os

#: What ``./test --all`` sets.
ALL_VARIABLE = "SHIMOS_TEST_ALL"


def choose(everything: bool) -> None:
    """Set for this process and those that it starts."""
    os.environ[ALL_VARIABLE] = "1" if everything else ""


def everything() -> bool:
    """Return whether all repetitions were asked for, and nothing shall be taken from the cache."""
    return os.environ.get(ALL_VARIABLE) == "1"
