"""What `bench/rt --guarded` makes of what it measures.  No machine."""

from __future__ import annotations

import pytest

from bench.rt_figures import Unreadable
from bench.rt_guarded import WORKS
from bench.rt_guarded_table import Line, Reading, Work, report, table
from lab.paths import SRC

WORK = Work("getpid", "/micro getpid 5")
STEADY = (300.0, 301.0, 300.0, 301.0, 420.0)


def line(guarded: tuple[float, ...] = STEADY, exits: int = 0, unguarded: tuple[float, ...] = STEADY) -> Line:
    plain = [Reading(value, 0) for value in unguarded]
    held = [Reading(value, exits if number == 2 else 0) for number, value in enumerate(guarded)]
    return Line.of(WORK, plain, held)


def times(factor: float) -> tuple[float, ...]:
    return tuple(value * factor for value in STEADY)


def test_what_programs_say() -> None:
    assert Reading.of("312.05\n", 3) == Reading(312.05, 3)
    assert Reading.of("31824 ns per request\n", 0) == Reading(31824, 0)
    for text in ("", "micro: fork: Cannot allocate memory", "1\n2", "12 x", "nan"):
        with pytest.raises(Unreadable, match="no nanoseconds"):
            Reading.of(text, 0)


@pytest.mark.parametrize(
    ("found", "met", "word"),
    [
        (line(), True, "| +0.00% | 0 | met |"),
        (line(times(0.9)), True, "| -10.00% | 0 | met |"),
        (line(times(1.004)), True, "| +0.40% | 0 | met |"),
        (line(times(1.006)), False, "| +0.60% | 0 | MISSED |"),
        (line(exits=1), False, "| 1 | MISSED |"),
        (line(unguarded=(300, 304, 308, 312, 316)), None, "no verdict: unguarded varies by 2.6% |"),
        # one exit is one too many, whatever the anchor does
        (line(exits=1, unguarded=(300, 304, 308, 312, 316)), False, "| 1 | MISSED |"),
    ],
)
def test_verdicts(found: Line, met: bool | None, word: str) -> None:
    assert found.met is met
    assert str(found).startswith("| getpid | 30") and str(found).endswith(word), found


def test_too_few() -> None:
    with pytest.raises(ValueError, match="samples"):
        line(guarded=(300.0,) * 4)


def test_table() -> None:
    head, rule, row = table([line()]).splitlines()
    assert head.count("|") == rule.count("|") == row.count("|")
    assert "at most 0.5% more, no exit" in head
    assert "301 (300 to 420)" in row


@pytest.mark.parametrize(("exits", "met"), [(0, True), (2, False)])
def test_report(capsys: pytest.CaptureFixture[str], exits: int, met: bool) -> None:
    readings = [Reading(value, 0) for value in STEADY]
    other = Work("fork", "/micro fork 5")
    rows = {WORK: (readings, readings), other: (readings, [*readings[:-1], Reading(300, exits)])}
    assert report(rows) is met
    said = capsys.readouterr().out
    assert "5 samples each" in said and "nested page tables cost nothing" in said
    assert said.count("| met |") == (2 if met else 1)


def test_the_programs_know_the_works() -> None:
    """What partitions are told to do is what bench/programs/micro.c can do."""
    source = (SRC / "bench/programs/micro.c").read_text()
    for work in WORKS:
        program, what, *_ = work.command.split()
        assert program == "/direct_io" or f'"{what}"' in source, work
