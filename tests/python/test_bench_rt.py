"""What `bench/rt` makes of what it measures.  No machine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench import rt, rt_moves, rt_plot
from bench.rt_figures import (
    ANCHOR,
    IDLE,
    MASKED,
    OURS,
    WITHOUT,
    WORK,
    Latencies,
    Row,
    Unreadable,
    cycles_per_second,
    goals,
    parse_cyclictest,
    parse_latency,
    table,
)
from lab.paths import SRC

CLOCK = 1_000_000_000

CONSOLE = """latency: 1000000000 cycles per second, a deadline each 1000000
T: 0 ( 0) P:99 I:1000 C:    1000 Min:    376 Act:    388 Avg:    385 Max:    397
T: 0 ( 0) P:99 I:1000 C:    2000 Min:    370 Act:    391 Avg:    386 Max:    448
# Histogram, in cycles
000368 1200
000384 797
000432 2
000448 1
# Total: 2000
# Overflows: 0
# Missed: 3
# Early: 0
# Strays: 0
"""

CYCLICTEST = """# /dev/cpu_dma_latency set to 0us
# Histogram
000000 000000
000001 000000
000007 001500
000012 000480
# Total: 000001990
# Min Latencies: 00007
# Avg Latencies: 00008
# Max Latencies: 01999
# Histogram Overflows: 00010
# Histogram Overflow at cycle number:
# Thread 0: 00001 00002
"""

STEADY = Latencies({368: 1000, 384: 1000}, 16, 0, 376, 385, 398, 0)


def test_the_programs_console() -> None:
    found = parse_latency(CONSOLE, 12.5)
    assert found == Latencies({368: 1200, 384: 797, 432: 2, 448: 1}, 4, 0, 370, 386, 448, 3, 12.5)
    assert found.total == 2000
    assert cycles_per_second(CONSOLE) == CLOCK


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("000432 2\n", "", "has 1998 activations, not 2000"),
        ("Strays: 0", "Strays: 2", "Strays: 2"),
        ("Early: 0", "Early: 1", "Early: 1"),
        ("# Missed: 3\n", "", "nothing fits"),
        ("Max: ", "Mix: ", "nothing fits"),
    ],
)
def test_a_console_that_is_not_all_there(old: str, new: str, says: str) -> None:
    """The console keeps what fits, and a program that failed has no histogram."""
    with pytest.raises(Unreadable, match=says):
        parse_latency(CONSOLE.replace(old, new))


def test_nothing_is_no_histogram() -> None:
    none = CONSOLE.partition("000368")[0] + CONSOLE[CONSOLE.index("# Total") :].replace("Total: 2000", "Total: 0")
    with pytest.raises(Unreadable, match="has 0 activations"):
        parse_latency(none)


def test_the_width_is_the_programs() -> None:
    """What the parser takes for a bucket is what the program counts into one."""
    source = (SRC / "rt/programs/latency.c").read_text()
    assert f"#define LATENCY_WIDTH\t{parse_latency(CONSOLE).width}\t" in source


def test_cyclictest_in_cycles() -> None:
    """Microseconds by the clock, and what it skipped is missed."""
    found = parse_cyclictest(CYCLICTEST, 2000, CLOCK)
    assert found == Latencies({7000: 1500, 12000: 480}, 1000, 10, 7000, 8000, 1999999, 10)
    assert parse_cyclictest(CYCLICTEST, 2000, 2 * CLOCK).minimum == 14000
    # measured, it is a little less than it is
    assert parse_cyclictest(CYCLICTEST, 2000, CLOCK - 1) == found
    # one more than in the time was none missed
    assert parse_cyclictest(CYCLICTEST, 1989, CLOCK).missed == 0
    with pytest.raises(Unreadable, match="1989 activations, not 1990"):
        parse_cyclictest(CYCLICTEST.replace("001500", "001499"), 2000, CLOCK)
    with pytest.raises(Unreadable, match="nothing fits"):
        parse_cyclictest("Unable to change scheduling policy!\n", 2000, CLOCK)


def test_percentiles() -> None:
    """The upper end of the bucket in which it is, but nothing is above the greatest."""
    found = parse_latency(CONSOLE)
    assert found.percentile(0.5) == 371
    assert found.percentile(0.6) == 371
    assert found.percentile(0.601) == 387
    assert found.percentile(0.9985) == 387
    assert found.percentile(0.999) == 435
    assert found.percentile(1) == 448
    # what no bucket is for counts, too
    assert parse_cyclictest(CYCLICTEST, 2000, CLOCK).percentile(0.99) == 12999
    assert parse_cyclictest(CYCLICTEST, 2000, CLOCK).percentile(0.999) == 1999999


def _rows(**changed: Latencies) -> list[Row]:
    late = {"idle": STEADY, "work": STEADY, "masked": STEADY} | changed
    return [Row("6.12", OURS, load, late[name]) for name, load in (("idle", IDLE), ("work", WORK), ("masked", MASKED))]


def _missed(rows: list[Row]) -> list[str]:
    return [goal.what for goal in goals(rows, CLOCK) if not goal.met]


def test_goals_that_are_met() -> None:
    assert len(goals(_rows(), CLOCK)) == 6
    assert not _missed(_rows())
    # an anchor has none
    assert not _missed([*_rows(), Row("6.12", ANCHOR, MASKED, replace(STEADY, maximum=10**6, missed=5))])


@pytest.mark.parametrize("load", ["work", "masked"])
def test_each_goal_can_be_missed(load: str) -> None:
    later = {least + 64: count for least, count in STEADY.buckets.items()}
    for changed, what in (
        (replace(STEADY, buckets=later, maximum=462), "p99.9 at most 1.1 x idle"),
        (replace(STEADY, maximum=501), "max at most 500"),
        (replace(STEADY, missed=1), "none missed"),
    ):
        (missed,) = _missed(_rows(**{load: changed}))
        assert missed.endswith(what)
    assert not _missed(_rows(**{load: replace(STEADY, maximum=500)}))


def test_each_kernel_is_judged_by_itself() -> None:
    older = [replace(row, kernel="6.1") for row in _rows(masked=replace(STEADY, missed=1))]
    (missed,) = _missed([*_rows(), *older])
    assert missed.startswith("6.1, ")


def test_separation_from_nothing_shows_nothing() -> None:
    def worst(cycles: int) -> list[str]:
        return _missed([*_rows(), Row("6.12", WITHOUT, MASKED, replace(STEADY, maximum=cycles))])

    assert worst(1_000_000) == []
    (missed,) = worst(999_999)
    assert "nothing in the way" in missed


def test_table() -> None:
    rows = [
        Row("6.12", OURS, WORK, parse_latency(CONSOLE, 2750.4)),
        Row("6.12", ANCHOR, IDLE, parse_cyclictest(CYCLICTEST, 2000, CLOCK)),
    ]
    first, second = table(rows).splitlines()[2:]
    assert "| 2,000 | 370 | 386 | 387 | 435 | 448 | 3 | 2,750 | figure 7" in first
    assert "| 1,990 | 7,000 | 8,000 | 12,999 | 1,999,999 | 1,999,999 | 10 |  |  |" in second


def test_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything is printed, a goal that is not met as well, and that is the exit status."""
    found = rt.Measuring.__new__(rt.Measuring)
    found.cycles, found.cost, found.rows = CLOCK, None, _rows()
    file, histogram = tmp_path / "all.json", tmp_path / "histogram.svg"
    assert rt.report(found, file, histogram) == 0
    assert "NOT MET" not in capsys.readouterr().out
    (first, *_) = json.loads(file.read_text())["rows"]
    assert (first["who"], first["p99.9"], first["buckets"]) == (OURS, 398, {"368": 1000, "384": 1000})
    assert histogram.read_text().lstrip().startswith("<?xml")
    found.rows = _rows(work=replace(STEADY, missed=1))
    assert rt.report(found, None, None) == 2
    assert "| 6.12, Linux works: none missed | 1 | NOT MET |" in capsys.readouterr().out


def test_a_histogram_of_nothing_is_drawn(tmp_path: Path) -> None:
    rt_plot.draw(tmp_path / "none.svg", [])
    assert (tmp_path / "none.svg").exists()


def test_the_change_fits_the_layer(tmp_path: Path) -> None:
    """The layer that waits is the layer that there is, but for one place."""
    copy = tmp_path / rt.WAITS.file
    copy.parent.mkdir(parents=True)
    copy.write_text((SRC / rt.WAITS.file).read_text())
    rt.WAITS.apply(tmp_path)
    assert "layer_vmcb.save.rflags & X86_FLAGS_IF)) {" in copy.read_text()


def test_moves_are_read_in_microseconds() -> None:
    said = "ctl: on CPU 0, after 113.3 µs on none\nctl: on CPU 1, after 269 ns on none\nctl: on CPU 0, after 3.6 ms on none\n"
    assert rt_moves.parse(said) == pytest.approx([113.3, 0.269, 3600])
