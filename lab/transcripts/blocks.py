"""Transcripts in a Markdown file: where they are, and how what was printed comes into them.

A comment in front of a fenced block says what made it, and what was typed before, unseen:

    <!-- transcript: rt
    shimos rm --force ctl
    -->

What was typed stays as it is, and so do lines of progress; what follows each of them is new.
Three dots in their own line stand for what was left out there; at the end of a command for the rest of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

#: What stands for lines that were left out, and for the end of a long command.
DOTS = "…"
_FENCE = "```"
_COMMENT = re.compile(r"<!-- transcript: (?P<source>[^\n]+?)(?: -->|\n(?P<hidden>.*?)-->)\n\Z", re.DOTALL)
_COMMAND = re.compile(r"\s*((host|partition)?# |\$ )(?P<words>\S.*)")
_PROGRESS = re.compile(r"\[ *\d+\.\d+ s\] (?P<says>.*)")


class TranscriptError(Exception):
    """A document says something that cannot be made again."""


@dataclass(frozen=True)
class Block:
    """A transcript: the lines of the file between its fences, counted from 0, and where they come from."""

    first: int
    lines: tuple[str, ...]
    source: str
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A line that somebody typed, or one of progress, and what followed it."""

    line: str
    output: tuple[str, ...]

    @property
    def command(self) -> str:
        """What was typed; nothing if it is a line of progress."""
        match = _COMMAND.fullmatch(self.line)
        return match["words"] if match else ""

    def is_again(self, other: Entry) -> bool:
        """Return whether another one is the same, made later: its numbers and what was seen may differ."""
        if not self.command:
            return _without_numbers(self.line) == _without_numbers(other.line)
        mine, others = (_without_numbers(each.command) for each in (self, other))
        return others.startswith(mine.removesuffix(DOTS)) if mine.endswith(DOTS) else mine == others

    def as_long_as(self, other: Entry) -> Entry:
        """Return the same, indented as another one is, and cut as its command is."""
        more = _indent(self.line) - _indent(other.line)
        line, *output = (each.removeprefix(" " * more) for each in (self.line, *self.output))
        if other.command.endswith(DOTS):
            words = len(other.line.split()) - 1
            line = f"{' ' * _indent(line)}{' '.join(line.split()[:words])} {DOTS}"
        return Entry(line, tuple(output))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _without_numbers(line: str) -> str:
    """Return what a line is about: versions and times change."""
    match = _PROGRESS.fullmatch(line)
    return re.sub(r"\(seen: .*\)|\d[\d.]*", "", match["says"] if match else line).strip()


def _is_entry(line: str) -> bool:
    return bool(_COMMAND.fullmatch(line) or _PROGRESS.fullmatch(line))


def entries(lines: Sequence[str]) -> list[Entry]:
    """Return what was typed and said in these lines, in order; raises if they begin with something else."""
    starts = [number for number, line in enumerate(lines) if _is_entry(line)]
    if lines and (not starts or starts[0]):
        raise TranscriptError(f"a transcript begins with what follows from nothing: {lines[0]!r}")
    ends = [*starts[1:], len(lines)]
    return [Entry(lines[start], tuple(lines[start + 1 : end])) for start, end in zip(starts, ends, strict=False)]


def _fenced(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Find fenced blocks: their first line, and the one behind their last."""
    fences = [number for number, line in enumerate(lines) if line.startswith(_FENCE)]
    for begin, end in zip(fences[::2], fences[1::2], strict=False):
        yield begin + 1, end


def find(text: str) -> list[Block]:
    """Return the transcripts of a document; raises TranscriptError at one that does not say where it is from."""
    lines = text.split("\n")
    found = []
    for begin, end in _fenced(lines):
        inside = tuple(lines[begin:end])
        before = "".join(f"{line}\n" for line in lines[: begin - 1])
        match = _COMMENT.search(before, max(0, before.rfind("<!--")))
        if match:
            hidden = tuple(line for line in (match["hidden"] or "").split("\n") if line)
            found.append(Block(begin, inside, match["source"], hidden))
        elif any(map(_is_entry, inside)):
            raise TranscriptError(f"line {begin}: a transcript without a comment that says what makes it")
    return found


def put(text: str, made: Sequence[tuple[Block, Sequence[str]]]) -> str:
    """Return the document with other lines in some of its transcripts."""
    lines = text.split("\n")
    for block, new in sorted(made, key=lambda pair: pair[0].first, reverse=True):
        lines[block.first : block.first + len(block.lines)] = new
    return "\n".join(lines)


def shortened(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Leave out what was left out before: as many lines stay in front of the dots, and behind them."""
    before = next((number for number, line in enumerate(old) if line.strip() == DOTS), len(old))
    after = len(old) - before - 1
    if before == len(old) or len(new) <= before + after + 1:
        return list(new)
    return [*new[:before], old[before], *new[len(new) - after :]]


def remade(block: Block, again: Callable[[Entry], Entry]) -> list[str]:
    """Return a transcript's lines, made anew; ``again`` is called for each of its entries in order."""
    lines: list[str] = []
    for entry in entries(block.lines):
        new = again(entry).as_long_as(entry)
        if entry.output and not new.output:
            raise TranscriptError(f"prints nothing any more: {entry.line.strip()!r}")
        lines += [new.line, *shortened(entry.output, new.output)]
    return lines


def from_printed(printed: Sequence[str]) -> Callable[[Entry], Entry]:
    """Take what a command printed as what follows a transcript's entries, each behind the one before."""
    rest = iter(entries(printed))

    def again(entry: Entry) -> Entry:
        for new in rest:
            if entry.is_again(new):
                return new
        raise TranscriptError(f"is not printed any more, or not in this order: {entry.line.strip()!r}")

    return again
