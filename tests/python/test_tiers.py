"""The tiers: what ``./test`` leaves to ``./test --all`` are repetitions, and a few tests that say why they can wait."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys

import pytest

from lab import tier
from lab.paths import SRC
from tests.support import tiers


def collected(everything: bool, *options: str, place: str = "tests") -> set[str]:
    """Return the ids of all tests below a place that would run, with more options for pytest."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {tier.ALL_VARIABLE: "1" if everything else "0"}
    command = (sys.executable, "-m", "pytest", "--collect-only", "-q", *options, place)
    said = subprocess.run(command, cwd=SRC, env=environment, check=True, capture_output=True, text=True).stdout
    return {line for line in said.splitlines() if "::" in line}


def functions(ids: set[str]) -> set[str]:
    """Return the test functions of these ids, without parameters."""
    return {test.partition("[")[0] for test in ids}


def is_defined_there(test: str) -> bool:
    """Return whether a module has this test of its own: one that it only collects, too, runs where it is defined."""
    path, _, name = test.partition("::")
    return f"def {name}(" in (SRC / path).read_text()


#: No more can wait: ``./test`` is what stands behind a change.
MOST_RARE = 40


def is_rare(test: str) -> bool:
    """Return whether a test says that it can wait, and why."""
    path, _, name = test.partition("::")
    nodes = ast.walk(ast.parse((SRC / path).read_text()))
    found = next(node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == name)
    calls = [d for d in found.decorator_list if isinstance(d, ast.Call) and ast.unparse(d.func).endswith("rare")]
    return any(call.args and len(ast.unparse(call.args[0])) > len("'why'") for call in calls)


def test_every_function_runs_by_default() -> None:
    """Each has a parameter that is no repetition, but for a few that can wait; and --all leaves out nothing."""
    default, everything = collected(False), collected(True)
    assert len(default) > 100, "nothing was read"
    assert default < everything
    never = {test for test in functions(everything) - functions(default) if is_defined_there(test)}
    silent = {test for test in never if not is_rare(test)}
    assert not silent, f"only --all would run: {sorted(silent)}"
    assert len(never) <= MOST_RARE, sorted(never)


def test_late_ones_say_why_and_are_not_most() -> None:
    """What a slow computer has no time for is named, and what is left still says something."""
    marks = re.compile(r"late\(\s*\"(.*)\"\s*\)")
    reasons = [found for file in (SRC / "tests/system").rglob("test_*.py") for found in marks.findall(file.read_text())]
    assert reasons and all(len(why) > len("why") for why in reasons)
    early, all_of_them = collected(False, "-m", "not late"), collected(False)
    assert early < all_of_them
    systems = [[test for test in tests if test.startswith("tests/system")] for tests in (early, all_of_them)]
    assert len(systems[0]) > len(systems[1]) / 2


def test_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first length is that of --all."""
    monkeypatch.delenv(tier.ALL_VARIABLE, raising=False)
    assert tiers.rounds(50, 8) == 8
    monkeypatch.setenv(tier.ALL_VARIABLE, "1")
    assert tiers.rounds(50, 8) == 50


def test_no_soak_has_a_limit() -> None:
    """Each takes longer than ./test lets others run."""
    place = "tests/system/soak"
    limitless = collected(True, "-m", "timeout", place=place)
    assert limitless and limitless == collected(True, place=place)
