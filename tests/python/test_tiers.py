"""The tiers: what ``./test`` leaves to ``./test --all`` are repetitions, never a whole test."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lab import tier
from lab.paths import SRC
from tests.support import tiers


def collected(everything: bool) -> set[str]:
    """Return the ids of all tests that would run."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {tier.ALL_VARIABLE: "1" if everything else "0"}
    command = (sys.executable, "-m", "pytest", "--collect-only", "-q", "tests")
    said = subprocess.run(command, cwd=SRC, env=environment, check=True, capture_output=True, text=True).stdout
    return {line for line in said.splitlines() if "::" in line}


def functions(ids: set[str]) -> set[str]:
    """Return the test functions of these ids, without parameters."""
    return {test.partition("[")[0] for test in ids}


def is_defined_there(test: str) -> bool:
    """Return whether a module has this test of its own: one that it only collects, too, runs where it is defined."""
    path, _, name = test.partition("::")
    return f"def {name}(" in (SRC / path).read_text()


def test_every_function_runs_by_default() -> None:
    """Each has a parameter that is no repetition, and --all leaves out nothing."""
    default, everything = collected(False), collected(True)
    assert len(default) > 100, "nothing was read"
    assert default < everything
    never = {test for test in functions(everything) - functions(default) if is_defined_there(test)}
    assert not never, f"only --all would run: {sorted(never)}"


def test_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first length is that of --all."""
    monkeypatch.delenv(tier.ALL_VARIABLE, raising=False)
    assert tiers.rounds(50, 8) == 8
    monkeypatch.setenv(tier.ALL_VARIABLE, "1")
    assert tiers.rounds(50, 8) == 50
