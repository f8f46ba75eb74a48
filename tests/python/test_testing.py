"""``./test``: its options, what a change can have broken, its order, its last words.  No machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab import accelerator, ledger, test, tier, touched
from lab.command import run
from lab.kernels import Kernel
from lab.ledger import Entry
from lab.paths import SRC
from tests.support import reports, schedule


def _files() -> list[str]:
    return run("git", "ls-files", cwd=SRC).splitlines()


def test_every_tracked_file_is_mapped() -> None:
    """A folder that nobody mapped would have all tests run, without anybody knowing why."""
    assert [file for file in _files() if touched.place(file) is None] == []


def test_every_place_of_the_map_is_there() -> None:
    """What was renamed must not stay in the map."""
    files = _files()
    used = {touched.place(file) for file in files}
    assert [pattern for pattern, _ in touched.MAP if pattern not in used] == []
    tests = {name for _, names in touched.MAP for name in names or ()}
    assert [name for name in tests if not (SRC / name).exists()] == []


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (["docs/lab.md", "README.md"], []),
        (["kernel/kml/main.c"], "tests/system/test_kml.py"),
        (["tests/system/test_life.py"], "tests/system/test_life.py"),
        (["docs/lab.md", "kernel/ikc/ring.h"], None),
        (["never/seen"], None),
        (["lab/machine.py"], None),
    ],
    ids=["documents", "module", "test", "core", "unknown", "lab"],
)
def test_what_a_change_can_have_broken(files: list[str], wanted: list[str] | str | None) -> None:
    found = touched.tests(files)
    assert wanted in found if isinstance(wanted, str) and found is not None else found == wanted


def test_an_unknown_revision_is_said() -> None:
    with pytest.raises(touched.NoRevision, match="nowhere"):
        touched.changed("nowhere")


@pytest.mark.parametrize(
    ("words", "workers", "others", "chooses"),
    [
        ([], None, [], False),
        (["-k", "panic"], None, ["-k", "panic"], True),
        (["-n", "4", "--maxfail", "1"], 4, ["--maxfail", "1"], False),
        (["tests/system/test_life.py::test_two_kernels"], None, ["tests/system/test_life.py::test_two_kernels"], True),
        (["--pdb", "-k", "panic"], 0, ["--pdb", "-k", "panic"], True),
        (["--all", "-x"], None, ["-x"], False),
    ],
    ids=["nothing", "by name", "workers", "path", "debugger", "all"],
)
def test_options(words: list[str], workers: int | None, others: list[str], chooses: bool) -> None:
    own, rest = test._parse(words)
    assert own.numprocesses == (min(os.cpu_count() or 1, 4) if workers is None else workers)
    assert rest == others
    assert test._chooses(rest) == chooses


def _test(*words: str) -> subprocess.CompletedProcess[str]:
    """Run ``./test`` as people do, while no other may run."""
    command = [sys.executable, "-m", "lab.test", *words]
    return subprocess.run(command, cwd=SRC, capture_output=True, text=True, check=False)


def test_a_second_run_is_refused() -> None:
    with suppress(test.Refusal), test._alone():
        pass  # this is a run of pytest itself, and nobody else's
    with suppress(test.Refusal):
        with test._alone():
            result = _test("-k", "nothing")
        assert result.returncode == 4
        return
    result = _test("-k", "nothing")
    assert result.returncode == 4
    assert "another ./test uses this cache since" in result.stderr
    assert "SHIMOS_CACHE" in result.stderr


def test_wrong_numbers_are_refused() -> None:
    for words in (("-n", "-1"), ("-n", "many"), ("--checks", "-k", "panic")):
        result = _test(*words)
        assert result.returncode == 2, result.stderr
        assert "usage: ./test" in result.stderr


def test_arguments_are_looked_at_before_anything_is_built(capsys: pytest.CaptureFixture[str]) -> None:
    assert test._check_arguments(["--no-such-option"]) == 4
    assert "--no-such-option" in capsys.readouterr().err
    assert test._check_arguments(["-k", "no_such_test_anywhere"]) == 5
    assert "no test fits -k no_such_test_anywhere" in capsys.readouterr().err


def test_a_full_disk_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100 << 20))
    with pytest.raises(test.Refusal, match=r"100 MiB free.*SHIMOS_CACHE"):
        test._need_room()


def test_only_root_enters() -> None:
    result = subprocess.run(
        ["setpriv", "--reuid", "65534", "--clear-groups", SRC / "lab" / "enter", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "must be root" in result.stderr
    assert "sudo" in result.stderr


@pytest.fixture
def own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a ledger of its own, so that nothing here counts in the run that tests it."""
    monkeypatch.setattr(ledger, "LOGS", tmp_path)
    monkeypatch.setenv(ledger.RUN_VARIABLE, "a-run")


@pytest.mark.usefixtures("own_ledger")
def test_the_last_lines_say_what_why_and_how_again() -> None:
    assert ledger.last_words([]) == []
    for n in range(9):
        ledger.note(
            Entry("failure", f"tests/system/test_x.py::test_{n}[a b]", why="assert 1 == 2\n" + "because\n" * 50)
        )
    lines = ledger.last_words(["Modules: checkpatch"])
    assert len(lines) <= 40
    text = "\n".join(lines)
    assert "FAILED CHECK: Modules: checkpatch" in text
    assert "FAILED: tests/system/test_x.py::test_0[a b]\n    assert 1 == 2\n    because" in text
    assert "again: ./test 'tests/system/test_x.py::test_0[a b]' " in text
    assert "(and 3 more)" in text
    assert "again: ./test --checks" in text


def test_how_machines_came_up_is_counted() -> None:
    entries = [
        Entry("clone", "a", 1.0),
        Entry("clone", "b", 3.0),
        Entry("boot", "c", 9.0),
        Entry("cold", "d", why="kvm"),
    ]
    assert reports.machines_text(entries) == [
        "2 clones, median 2.0 s, longest 3.0 s",
        "1 boots, median 9.0 s, longest 9.0 s",
        "booted cold: d: kvm",
    ]


@pytest.mark.usefixtures("own_ledger")
def test_more_than_three_repetitions_fail_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    for count in range(1, 6):
        ledger.note(Entry("repetition", f"test {count}: timer lost"))
        session = SimpleNamespace(exitstatus=0)
        reports.pytest_sessionfinish(session)  # type: ignore[arg-type]
        assert session.exitstatus == (1 if count > 3 else 0), count
        assert bool(ledger.last_words([])) == (count > 3), count


def test_the_longest_group_is_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "DURATIONS", tmp_path / "durations.json")
    (tmp_path / "durations.json").write_text(json.dumps({"a::1": 5, "a::2": 5, "b::1": 30, "c::1": 1}))
    queue = schedule.LongestFirst.__new__(schedule.LongestFirst)
    queue._known = schedule.known()
    queue.workqueue = {"a": {"a::1@a": False, "a::2@a": False}, "b": {"b::1": False}, "c": {"c::1": False}}
    assert sorted(queue.workqueue, key=queue._seconds) == ["c", "a", "b"]
    queue.workqueue["d"] = {"d::1": False}
    assert max(queue.workqueue, key=queue._seconds) == "d", "who knows how long it takes"


def test_late_groups_are_last_and_need_time(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = schedule.LongestFirst.__new__(schedule.LongestFirst)
    queue._known = {"a::1": 30.0, "b::1": 5.0}
    queue.workqueue = {"late a": {"a::1@late a": False}, "b": {"b::1": False}}
    assert sorted(queue.workqueue, key=queue._rank) == ["late a", "b"]

    class Item:
        def __init__(self, *marks: str):
            self.marks = marks

        def get_closest_marker(self, name: str) -> bool:
            return name in self.marks

    for minutes in (None, 1.0):
        monkeypatch.setenv(tier.UNTIL_VARIABLE, "")
        tier.limit(minutes)
        schedule.pytest_runtest_setup(Item("late"))  # type: ignore[arg-type]
    tier.limit(-1.0)
    schedule.pytest_runtest_setup(Item())  # type: ignore[arg-type]
    with pytest.raises(pytest.skip.Exception, match="no time is left"):
        schedule.pytest_runtest_setup(Item("late"))  # type: ignore[arg-type]


def test_a_damaged_file_of_durations_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "DURATIONS", tmp_path / "durations.json")
    assert schedule.known() == {}
    (tmp_path / "durations.json").write_text("{")
    assert schedule.known() == {}


def test_without_kvm_it_is_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHIMOS_ACCEL", raising=False)
    monkeypatch.setattr(os, "access", lambda path, _: path != "/dev/kvm")
    monkeypatch.setattr(accelerator, "_kvm_boots", lambda *_: pytest.fail("KVM was probed"))
    assert accelerator.accelerator(Kernel("6.12", "6.12", Path("/nowhere")), Path("/nowhere")) == "tcg"
