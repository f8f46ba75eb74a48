"""The newest commits say what they change and why, as CONTRIBUTING.md wants it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from lab.command import run
from lab.paths import SRC

#: So many are looked at, or all that upstream has not: whoever commits sees it at once.
NEWEST = 5
UPSTREAM = "origin/main"
_SUBJECT = re.compile(r"[a-z0-9][\w ,./-]*: \S.*")
LONGEST = 72


def complaint(message: str) -> str:
    """Return what is wrong with a commit's message; nothing if all is well."""
    subject, _, body = message.strip().partition("\n")
    if len(subject) > LONGEST:
        return f"the first line has {len(subject)} characters, {LONGEST} are the most"
    if not _SUBJECT.fullmatch(subject):
        return "the first line is not `part: what changed`"
    return "" if body.strip() else "nothing says why"


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("docs: a word\n\nIt was wrong.\n", ""),
        ("kml, spumone: one finder\n\nThere were two.\n", ""),
        ("docs: a word\n", "why"),
        ("Docs: a word\n\nIt was wrong.\n", "part"),
        ("a word\n\nIt was wrong.\n", "part"),
        (f"docs: {'x' * 70}\n\nIt was wrong.\n", "76 characters"),
    ],
)
def test_what_is_wrong(message: str, words: str) -> None:
    found = complaint(message)
    assert words in found and bool(found) == bool(words)


def messages(tree: Path) -> list[str]:
    """Return the messages of a branch's own commits, or of the newest ones if these are more; skips without git."""
    git = ("git", "-C", tree)
    if subprocess.run((*git, "rev-parse", "--verify", "HEAD"), capture_output=True, check=False).returncode:
        pytest.skip("there is no history here: neither a clone nor a worktree that the tool root can follow")
    own = subprocess.run(
        (*git, "rev-list", "--count", f"{UPSTREAM}..HEAD"), capture_output=True, check=False, text=True
    )
    count = max(NEWEST, int(own.stdout) if own.returncode == 0 else 0)
    # Merges have texts of their own.
    log = run(*git, "log", "--no-merges", f"-{count}", "--format=%B%x00")
    return [message for message in log.split("\0") if message.strip()]


def test_own_and_newest_commits() -> None:
    found = messages(SRC)
    assert found
    assert {message: wrong for message in found if (wrong := complaint(message))} == {}


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    """Make a repository with eight commits."""
    tree = tmp_path / "upstream"
    run("git", "init", "-q", "-b", "main", tree)
    commit(tree, *(f"docs: {number}" for number in range(8)))
    return tree


def commit(tree: Path, *subjects: str) -> None:
    """Add empty commits."""
    who = ("-c", "user.name=Nobody", "-c", "user.email=nobody@localhost")
    for subject in subjects:
        run("git", "-C", tree, *who, "commit", "-q", "--allow-empty", "-m", subject)


@pytest.mark.parametrize(
    ("depth", "own", "expected"), [(8, 0, NEWEST), (8, 2, NEWEST), (8, 7, 7), (1, 0, 1), (1, 2, 3)]
)
def test_whose_messages_are_read(upstream: Path, tmp_path: Path, depth: int, own: int, expected: int) -> None:
    """All of a branch's own, also in a shallow clone, which has no more."""
    clone = tmp_path / "clone"
    run("git", "clone", "-q", f"--depth={depth}", f"file://{upstream}", clone)
    commit(clone, *(f"lab: {number}" for number in range(own)))
    found = messages(clone)
    assert len(found) == expected
    assert [message.strip() for message in found[:own]] == [f"lab: {number}" for number in reversed(range(own))]


def test_a_tree_without_history_is_skipped(tmp_path: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="no history"):
        messages(tmp_path)
