"""Verdicts from repeated samples.  No machine."""

from __future__ import annotations

import pytest

from bench import kml
from lab.stage.samples import Samples, Verdict, judge

STEADY = [303.0, 302.0, 303.0, 304.0, 303.0]
DIRECT = [104.0, 103.0, 104.0, 104.0, 110.0]


def _judge(anchor: list[float], measured: list[float]) -> Verdict:
    return judge(Samples.of(anchor), Samples.of(measured), 0.35)


def test_the_median_decides() -> None:
    verdict = _judge(STEADY, [*DIRECT[:4], 300.0])
    assert (verdict.met, verdict.status) == (True, 0)
    assert verdict.text == "<= 0.35 met"


def test_an_aim_is_missed() -> None:
    verdict = _judge(STEADY, [120.0] * 5)
    assert (verdict.met, verdict.status) == (False, 1)
    assert verdict.text == "<= 0.35 MISSED"


@pytest.mark.parametrize(("wild", "spread"), [(2, "112%"), (3, "53%")])
def test_an_anchor_that_varies_gives_no_verdict(wild: int, spread: str) -> None:
    """It read 642 in one of three runs once, and everything beside it looked twice as good."""
    verdict = _judge([642.0] * wild + STEADY[wild:], DIRECT)
    assert (verdict.met, verdict.status) == (None, 2)
    assert verdict.text == f"no verdict: the anchor varies by {spread}"


def test_what_is_no_number_gives_no_verdict() -> None:
    assert _judge([float("nan")] * 5, DIRECT).met is None


def test_one_wild_sample_is_no_matter() -> None:
    """The median does not move, and neither does the verdict."""
    assert _judge([642.0, *STEADY[1:]], DIRECT).met
    assert _judge([642.0, *STEADY[1:]], [120.0] * 5).met is False


def test_few_samples_are_no_samples() -> None:
    with pytest.raises(ValueError, match="4 samples, 5 are wanted"):
        Samples.of(STEADY[:4])


def test_samples_show_their_spread() -> None:
    assert str(Samples.of(STEADY)) == "303 (302 to 304)"


def test_the_table_has_medians_ranges_and_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    user, trusted, direct = (
        {"getpid": Samples.of(values), "file_read_16": Samples.of(values)} for values in (STEADY, [118.0] * 5, DIRECT)
    )
    assert kml.single_calls(user, trusted, direct).met
    (row,) = capsys.readouterr().out.splitlines()[2:]
    assert "| getpid | 303 (302 to 304) | 118 (118 to 118) | 0.39 | 104 (103 to 110) | 0.34 | <= 0.35 met |" in row


def test_whole_files_show_how_steady_the_anchor_is(capsys: pytest.CaptureFixture[str]) -> None:
    user, trusted, direct = ({"file_read_16": Samples.of(values)} for values in ([200.0] * 5, [100.0] * 5, [50.0] * 5))
    kml.files(user, trusted, direct)
    assert "| read | 16 KiB | 2.000 | 4.000 | 0% |" in capsys.readouterr().out
