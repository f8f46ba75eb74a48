"""Scripts are found by their first line, and broken ones are refused.  No machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import scripts
from lab.command import CommandError, run
from lab.paths import SRC


@pytest.fixture(params=["git", "no git"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Make a tree with what is no script, and a build's products; with git these are ignored."""
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "product").write_text("#!/bin/sh\n")
    (tmp_path / "notes").write_text("no script\n#!/bin/sh\n")
    (tmp_path / "rules").write_text("#!/usr/bin/make -f\n")
    (tmp_path / "empty").touch()
    if request.param == "git":
        (tmp_path / ".gitignore").write_text("/build/\n")
        run("git", "init", "-q", tmp_path)
    return tmp_path


def _names(tree: Path) -> dict[str, str]:
    return {str(script.path.relative_to(tree)): script.interpreter for script in scripts.find(tree)}


@pytest.mark.parametrize(
    ("line", "interpreter"),
    [
        ("#!/bin/sh", "sh"),
        ("#!/bin/sh -eu", "sh"),
        ("#! /bin/dash", "dash"),
        ("#!/usr/bin/env bash", "bash"),
        ("#!/bin/busybox sh", "busybox sh"),
        ("#!/usr/bin/env python3", "python"),
        ("#!/usr/bin/env -S python3 -u", "python"),
        ("#!/usr/bin/python3.13", "python"),
    ],
)
def test_a_new_script_is_found(tree: Path, line: str, interpreter: str) -> None:
    assert _names(tree) == {}
    (tree / "deep" / "er").mkdir(parents=True)
    (tree / "deep" / "er" / "new").write_text(f"{line}\n")
    assert _names(tree) == {"deep/er/new": interpreter}


def test_a_removed_script_is_not_looked_for(tree: Path) -> None:
    script = tree / "new"
    script.write_text("#!/bin/sh\n")
    if (tree / ".git").exists():
        run("git", "-C", tree, "add", "new")
    script.unlink()
    assert _names(tree) == {}


def test_a_sound_script_passes(tree: Path) -> None:
    (tree / "new").write_text('#!/bin/sh\necho "$1"\n')
    scripts.check_shell(scripts.find(tree))


@pytest.mark.parametrize("line", ["#!/bin/sh", "#!/bin/bash", "#!/bin/busybox sh"])
@pytest.mark.parametrize("broken", ["if true; then", 'rm -r $1/"$2"'], ids=["syntax", "quoting"])
def test_a_broken_script_fails(tree: Path, line: str, broken: str) -> None:
    (tree / "new").write_text(f"{line}\n{broken}\n")
    with pytest.raises(CommandError, match="new"):
        scripts.check_shell(scripts.find(tree))


def test_every_broken_script_is_named(tree: Path) -> None:
    for name in ("first", "second"):
        (tree / name).write_text("#!/bin/sh\nif true; then\n")
    with pytest.raises(CommandError, match=r"(?s)-n \S*/first.*-n \S*/second"):
        scripts.check_shell(scripts.find(tree))


def test_this_tree_has_scripts_of_each_kind() -> None:
    found = {str(script.path.relative_to(SRC)): script.interpreter for script in scripts.find(SRC)}
    assert found["test"] == "sh"
    assert found["lab/guest/partition-init"] == "busybox sh"
    assert found["tests/guest/late_writes.py"] == "python"
