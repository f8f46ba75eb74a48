"""The transcripts in the documents: each says what makes it, and can be made anew.  No machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.paths import SRC
from lab.transcripts.__main__ import documents
from lab.transcripts.blocks import Block, Entry, TranscriptError, entries, find, from_printed, put, remade, shortened
from lab.transcripts.scenes import is_known

PAGE = """Text.

<!-- transcript: rt
first | unseen
second
-->
```
# shimos ls
old
```

```
shimos run web   # no transcript: nobody typed it
```

<!-- transcript: ./demo -->
```
host# uname -r
6.1.0
```
"""

PRINTED = [
    "[   1.0 s] the machine is up after 9.1 s (tcg)",
    "    host# shimos run web --cpuset 2-3 --kernel /boot/vmlinuz-6.1.0-51",
    "    web: running",
    "[   2.0 s]   ok    it holds (seen: [(1, 2)])",
    "    partition# dmesg",
    "    one",
    "    two",
    "    three",
    "    four",
    "    host# shimos ls",
    "    NAME",
    "      web",
]


@pytest.mark.parametrize("page", documents(), ids=lambda page: str(page.relative_to(SRC)))
def test_each_says_what_makes_it(page: Path) -> None:
    unknown = [block.source for block in find(page.read_text()) if not is_known(block.source)]
    assert not unknown


def test_there_are_some() -> None:
    assert sum(len(find(page.read_text())) for page in documents()) > 10


def test_where_they_are() -> None:
    assert find(PAGE) == [
        Block(7, ("# shimos ls", "old"), "rt", ("first | unseen", "second")),
        Block(17, ("host# uname -r", "6.1.0"), "./demo"),
    ]


def test_one_from_nowhere() -> None:
    with pytest.raises(TranscriptError, match="line 3: a transcript without a comment"):
        find("Text.\n\n```\n# shimos ls\n```\n")


def test_new_lines_come_in() -> None:
    first, second = find(PAGE)
    page = put(PAGE, [(first, ["# shimos ls", "one", "two"]), (second, ["host# uname -r"])])
    assert page == PAGE.replace("old", "one\ntwo").replace("6.1.0\n", "")


def test_what_begins_with_nothing() -> None:
    with pytest.raises(TranscriptError, match="'NAME'"):
        entries(["NAME", "# shimos ls"])


def test_commands_are_run_in_order() -> None:
    block = Block(0, ("# one", "1", "# two", "2", "2"), "rt")
    lines = remade(block, lambda entry: Entry(entry.line, (f"{entry.command} again",)))
    assert lines == ["# one", "one again", "# two", "two again"]


def test_what_a_command_printed() -> None:
    """Numbers, versions and what was seen may be others; what is left out stays so."""
    old = [
        "[  99.9 s] the machine is up after 1.2 s (tcg)",
        "[   9.0 s]   ok    it holds (seen: [(3, 4)])",
        "    partition# dmesg",
        "    x",
        "    …",
        "    y",
        "    host# shimos ls",
    ]
    lines = remade(Block(0, tuple(old), "./demo"), from_printed(PRINTED))
    assert lines == [PRINTED[0], *PRINTED[3:6], "    …", *PRINTED[8:]]


def test_without_indentation_and_cut() -> None:
    old = ("host# shimos run web --cpuset 2-3 …", "x", "host# shimos ls")
    lines = remade(Block(0, old, "./demo"), from_printed(PRINTED))
    assert lines == ["host# shimos run web --cpuset 2-3 …", "web: running", "host# shimos ls", "NAME", "  web"]


@pytest.mark.parametrize("gone", ["    host# shimos top", "[ 1.0 s] it was said", "    host# shimos run web …"])
def test_what_is_not_printed_any_more(gone: str) -> None:
    old = ("[ 2.0 s]   ok    it holds (seen: 1)", gone)
    with pytest.raises(TranscriptError, match="is not printed any more"):
        remade(Block(0, old, "./demo"), from_printed(PRINTED))


def test_what_prints_nothing_any_more() -> None:
    silent = from_printed(["$ bench/kml --demo", "[ 1.0 s] building", "all of it"])
    with pytest.raises(TranscriptError, match="prints nothing any more"):
        remade(Block(0, ("$ bench/kml --demo", "all of it"), "bench/kml --demo"), silent)


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        (["a", "b"], ["c", "d", "e"], ["c", "d", "e"]),
        (["a", "…", "b"], ["c", "d", "e", "f"], ["c", "…", "f"]),
        (["…"], ["c", "d"], ["…"]),
        (["a", "…", "b"], ["c", "d", "e"], ["c", "d", "e"]),
    ],
)
def test_what_was_left_out(old: list[str], new: list[str], left: list[str]) -> None:
    assert shortened(old, new) == left
