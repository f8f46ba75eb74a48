"""The times of the tree's files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lab import dates

OLD = 1_000_000_000


def tree(root: Path, says: str) -> Path:
    """Make a tree with a program whose file is older than all that was ever built."""
    (root / "src").mkdir(parents=True)
    (root / "Cargo.toml").write_text('[package]\nname = "it"\nversion = "1.0.0"\nedition = "2021"\n')
    (root / "src" / "main.rs").write_text(f'fn main() {{ println!("{says}"); }}\n')
    os.utime(root / "src" / "main.rs", (OLD, OLD))
    return root


def test_cargo_builds_what_another_tree_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have their turns at one place, as trees have at /src, with one target directory."""
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path / "target"))
    here = tmp_path / "here"
    trees = [tree(tmp_path / name, name) for name in ("one", "other", "again")]
    tree(tmp_path / "other-too", "other")

    def build(which: Path) -> str:
        which.rename(here)
        dates.date(here, tmp_path / "seen.json")
        run = subprocess.run(
            ["cargo", "run", "--quiet", "--offline"], cwd=here, check=True, stdout=subprocess.PIPE, text=True
        )
        here.rename(which)
        return run.stdout.strip()

    assert [build(which) for which in trees] == ["one", "other", "again"]
    # also where it was another one that first said it
    assert [build(tmp_path / name) for name in ("other", "other-too", "one")] == ["other", "other", "one"]


def test_what_says_the_same_keeps_its_time(tmp_path: Path) -> None:
    root, seen = tree(tmp_path / "tree", "it"), tmp_path / "seen.json"
    main = root / "src" / "main.rs"
    dates.date(root, seen)
    first = main.stat().st_mtime_ns
    assert first > OLD * 1_000_000_000
    dates.date(root, seen)
    assert main.stat().st_mtime_ns == first
    # another tree's copy of it gets the same
    os.utime(main, (OLD, OLD))
    dates.date(root, seen)
    assert main.stat().st_mtime_ns == first
    main.write_text("")
    os.utime(main, (OLD, OLD))
    dates.date(root, seen)
    assert main.stat().st_mtime_ns > first
