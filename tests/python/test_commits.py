"""The newest commits say what they change and why, as CONTRIBUTING.md wants it."""

from __future__ import annotations

import re

import pytest

from lab.command import run
from lab.paths import SRC

#: So many are looked at: whoever commits sees it at once.
NEWEST = 5
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


def test_newest_commits() -> None:
    """Merges have texts of their own."""
    log = run("git", "-C", SRC, "log", "--no-merges", f"-{NEWEST}", "--format=%B%x00")
    messages = [message for message in log.split("\0") if message.strip()]
    assert messages
    assert {message: wrong for message in messages if (wrong := complaint(message))} == {}
