"""A check that passed is not done again until what it reads changes.  No machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import checks, tier
from lab.command import CommandError


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a file that a check reads; results are kept beside it."""
    monkeypatch.setattr(checks, "CACHE", tmp_path)
    monkeypatch.delenv(tier.ALL_VARIABLE, raising=False)
    (tmp_path / "input").write_text("first")
    return tmp_path / "input"


def test_what_passed_is_not_done_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def unchanged() -> bool:
        return checks.unless_unchanged("name", [file], lambda: done.append(file.read_text()))

    assert [unchanged(), unchanged()] == [False, True]
    file.write_text("second")
    assert [unchanged(), unchanged()] == [False, True]
    assert done == ["first", "second"]
    monkeypatch.setenv(tier.ALL_VARIABLE, "1")
    assert not unchanged()


def test_what_failed_is_done_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise CommandError("broken")

    for _ in range(2):
        with pytest.raises(CommandError):
            checks.unless_unchanged("name", [file], fails)
    assert not checks.unless_unchanged("name", [file], lambda: None)
    # It failed this time, with nothing changed: what is known of it does not count any more.
    monkeypatch.setenv(tier.ALL_VARIABLE, "1")
    with pytest.raises(CommandError):
        checks.unless_unchanged("name", [file], fails)
    monkeypatch.delenv(tier.ALL_VARIABLE)
    assert not checks.unless_unchanged("name", [file], lambda: None)


def test_results_are_printed_in_one_piece(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def good() -> None:
        """Something: good."""

    def kept() -> None:
        """Something: kept."""

    def bad() -> None:
        """Something: bad."""
        raise CommandError("line\nline")

    monkeypatch.setattr(checks, "_CHAINS", ((good, bad), (kept,)))
    monkeypatch.setattr(checks, "_READS", {kept: ("README.md",)})
    assert checks.quick_checks() == ["Something: bad"]
    assert "FAIL  Something: bad\nline\nline\n" in capsys.readouterr().out
    assert checks.quick_checks() == ["Something: bad"]
    assert "ok (unchanged)  Something: kept\n" in capsys.readouterr().out
    assert file.exists()
