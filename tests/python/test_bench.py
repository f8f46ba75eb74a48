"""The comparison's own logic: statistics, resuming, tables, the guard.  No machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.compare import charges, guide, host, report, tables
from bench.compare import run as comparison
from bench.compare.check import beside_native, compare
from bench.compare.results import Clock, Measurement, Results
from bench.compare.run import Plan
from bench.compare.statistics import Summary, speed, welch
from bench.compare.workload import Group, Workload
from bench.compare.workloads import GROUPS, WORKLOADS

COMMIT = "abc"


def _unused(_: object) -> float:
    raise AssertionError("nothing is measured here")


def _workload(name: str = "work", **more: object) -> Workload:
    return Workload(name, f"what {name} is", "ns", _unused, **more)  # type: ignore[arg-type]


def _group(*workloads: Workload) -> Group:
    return Group("group", "A group", workloads, ("a note",), "nothing")


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / "results.jsonl")


@pytest.fixture
def add(results: Results) -> Callable[..., None]:
    def add(system: str, *values: float | None, name: str = "work", clock: Clock = "times", error: str = "") -> None:
        for run, value in enumerate(values):
            results.add(Measurement(system, name, clock, run, COMMIT, value, error))

    return add


def test_median_and_middle_half() -> None:
    assert Summary.of([5.0, 1.0, 2.0, 4.0, 3.0]) == Summary(5, 3.0, 2.0, 4.0)
    assert Summary.of([7.0]) == Summary(1, 7.0, 7.0, 7.0)


def test_faster_is_above_one_whatever_the_unit() -> None:
    assert speed([100.0], [50.0], "lower") == 2.0
    assert speed([100.0], [50.0], "higher") == 0.5


def _runs(mean: float, variance: float, count: int) -> list[float]:
    """Return an even number of values with exactly this mean and sample variance."""
    step = (variance * (count - 1) / count) ** 0.5
    return [mean + step, mean - step] * (count // 2)


@pytest.mark.filterwarnings("ignore:Precision loss")  # the paper's runs were all alike
def test_welch_gives_the_papers_verdict() -> None:
    """Tables 7 and 8 of SHIMOS 2009, both significant at 1 %; the second by hand: t = 5.2 with 5 degrees of freedom."""
    compiled = welch(_runs(208.3918, 0.03754, 10), _runs(207.335, 0.1013, 10))
    assert compiled is not None
    assert compiled < 1e-5
    spec = welch([10.2] * 5, _runs(10.021, 7.104e-3, 6))
    assert spec == pytest.approx(0.0035, abs=0.0002)
    same = welch(_runs(208.3918, 0.03754, 10), _runs(208.40, 0.1013, 10))
    assert same is not None
    assert same > 0.5


def test_welch_wants_runs_that_vary() -> None:
    assert welch([1.0, 2.0], [3.0, 4.0]) is None
    assert welch([1.0] * 5, [2.0] * 5) is None


def test_results_survive_an_interruption(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    first = Results(path)
    for run in range(2):
        first.add(Measurement("native", "work", "times", run, COMMIT, 1.0 + run))
    text = path.read_text()
    path.write_text(text[:-20])  # in the middle of the last line
    again = Results(path)
    assert again.has("native", "work", "times", 0, COMMIT)
    assert not again.has("native", "work", "times", 1, COMMIT)
    again.add(Measurement("native", "work", "times", 1, COMMIT, 5.0))
    assert Results(path).values("native", "work", "times", COMMIT) == [1.0, 5.0]


def test_results_of_another_commit_do_not_count(results: Results, add: Callable[..., None]) -> None:
    add("native", 1.0)
    assert not results.has("native", "work", "times", 0, "def")
    assert results.values("native", "work", "times", "def") == []


def test_a_failure_is_tried_again_and_replaced(results: Results, add: Callable[..., None]) -> None:
    add("kvm", None, error="it broke")
    assert not results.has("kvm", "work", "times", 0, COMMIT)
    assert results.error("kvm", "work", "times", COMMIT) == "it broke"
    add("kvm", 3.0)
    assert results.values("kvm", "work", "times", COMMIT) == [3.0]
    assert results.error("kvm", "work", "times", COMMIT) == ""


def test_a_failure_beside_successes_is_counted(results: Results, add: Callable[..., None]) -> None:
    add("native", 1.0, 1.0)
    add("xen", None, 400.0, error="it broke")
    (row,) = tables.rows(_group(_workload()), results, "times", COMMIT)
    assert row.cells["xen"].figure() == "400, n=1, 1 failed"
    assert row.cells["xen"].ratio() == "**0.0025**"


def test_only_what_is_missing_is_pending(results: Results, add: Callable[..., None]) -> None:
    work = _workload(clocks=("times", "instructions"), systems=("native", "shimos"))
    plan = Plan(("native", "shimos", "kvm"), (work,), ("times", "instructions"), 3, 1.0, COMMIT)
    add("native", 1.0, None, 3.0)
    assert [run for _, run in plan.pending(results, "native", "times")] == [1]
    assert [run for _, run in plan.pending(results, "native", "instructions")] == [0, 1]
    assert len(plan.pending(results, "shimos", "times")) == 3
    assert plan.pending(results, "kvm", "times") == []
    assert plan.pending(results, "xen", "times") == []


class _FakeMachine:
    """Is started and stopped."""

    process = None

    def __init__(self, log: list[str]):
        self._log = log

    def start(self) -> _FakeMachine:
        self._log.append("boot")
        return self

    def stop(self) -> None:
        self._log.append("stop")


@pytest.mark.parametrize(("deaths", "machines", "left"), [(0, 1, 0), (1, 2, 0), (2, 2, 1)])
def test_what_a_death_left_undone_gets_another_machine_once(
    results: Results, monkeypatch: pytest.MonkeyPatch, deaths: int, machines: int, left: int
) -> None:
    log: list[str] = []
    monkeypatch.setattr(host, "prepare", lambda _: None)
    monkeypatch.setattr(report, "facts", lambda _: {})
    monkeypatch.setattr(comparison, "Others", lambda _: SimpleNamespace(cpus=lambda: 0.0))

    @contextmanager
    def system(name: str, machine: Any) -> Iterator[Any]:
        log.append(name)
        yield SimpleNamespace(name=name, machine=machine, alive=lambda: False)

    def work(system: Any) -> float:
        if system.name == "kvm" and log.count("kvm") <= deaths:
            raise RuntimeError("it hangs")
        return 1.0

    boot = comparison.Boot(
        lambda _: cast("Any", _FakeMachine(log)),
        {"native": lambda machine, _: system("native", machine), "kvm": lambda machine, _: system("kvm", machine)},
    )
    plan = Plan(("native", "kvm"), (replace(_workload(), run=work),), ("times",), 1, 1.0, COMMIT)
    comparison.everything(plan, results, [boot])
    assert (log.count("boot"), log.count("stop"), log.count("native")) == (machines, machines, 1)
    assert len(plan.pending(results, "kvm", "times")) == left


def test_systems_take_turns() -> None:
    def turns(runs: int) -> list[int]:
        return Plan((), (), (), runs, 1.0, COMMIT).turns

    assert turns(3) == [3]
    assert turns(5) == [5]
    assert turns(12) == [5, 10, 12]


def test_a_row_stands_beside_native_of_the_same_run(results: Results, add: Callable[..., None]) -> None:
    add("native", 100.0, 110.0, 120.0)
    add("shimos", 218.0, 220.0, 222.0)
    (row,) = tables.rows(_group(_workload()), results, "times", COMMIT)
    assert row.cells["shimos"].speed == 0.5
    assert row.behind
    assert row.cells["kvm"].summary is None
    text = tables.markdown([row], "times")
    assert "110 (105 to 115), n=3" in text
    assert "**0.50** \\*" in text
    assert "KVM" not in text


def test_a_row_may_stand_beside_another_of_native(results: Results, add: Callable[..., None]) -> None:
    add("native", 10.0, name="base")
    add("shimos", 20.0)
    (row,) = tables.rows(_group(_workload(base="base")), results, "times", COMMIT)
    assert row.cells["shimos"].speed == 0.5


def test_the_report_shows_papers_failures_and_losses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = Results(tmp_path / "results.jsonl")
    work = _workload(paper={"shimos": "1.26"}, why="Because of the moon.")
    monkeypatch.setattr(report, "GROUPS", (_group(work),))
    title = _group(work).title
    for system, value, error in (("native", 100.0, ""), ("shimos", 200.0, ""), ("kvm", None, "no guest\ncame up")):
        results.add(Measurement(system, "work", "times", 0, COMMIT, value, error))
    page = report.write(tmp_path / "report", results, COMMIT)
    summary = (tmp_path / "report" / "summary.md").read_text()
    assert "SHIMOS 1.26" in summary
    assert "`work` on KVM failed: `no guest`" in summary
    assert "what work is, by times: 0.50. Too few runs to tell. Because of the moon." in summary
    html = page.read_text()
    assert "<table>" in html and "<summary>The figures</summary>" in html
    # the table at the beginning leads to the heading
    assert f"| [{title}](#{guide.anchor(title)}) | time | 1 | 0 | 0 | 1 | 0.50 |" in summary
    assert f'<a href="#{guide.anchor(title)}">' in html and f'<h2 id="{guide.anchor(title)}">' in html
    assert 'src="group-times.svg"' in html
    assert (tmp_path / "report" / "group-times.svg").stat().st_size > 0
    assert (tmp_path / "report" / "group-times.png").stat().st_size > 0


def test_only_systems_with_results_are_explained() -> None:
    text = guide.text({"native", "shimos"})
    assert "| SHIMOS | kernels side by side" in text and "{1/2}" in text
    assert "KVM" not in text


def test_a_row_is_ahead_or_level_or_behind(results: Results, add: Callable[..., None]) -> None:
    names = ("fast", "level", "slow")
    for name, value in zip(names, (50.0, 99.0, 300.0), strict=True):
        add("native", 100.0, name=name)
        add("shimos", value, name=name)
    found = tables.rows(_group(*(replace(_workload(), name=name) for name in names)), results, "times", COMMIT)
    assert "| [a, b](#a-b) | time | 3 | 1 | 1 | 1 | 1.01 |" in guide.overview([("a, b", "times", found)])
    assert guide.overview([("a", "times", [])]) == ""


def test_times_of_an_emulator_are_said_to_be_none(tmp_path: Path) -> None:
    found = {"machine": "4 CPUs", "emulated": "yes"}
    report.keep_facts(tmp_path, "times", "native", found)
    report.write(tmp_path, Results(tmp_path / "none.jsonl"), COMMIT)
    assert "None of them is a hardware time" in (tmp_path / "summary.md").read_text()
    report.keep_facts(tmp_path, "times", "native", found | {"emulated": "no"})
    report.write(tmp_path, Results(tmp_path / "none.jsonl"), COMMIT)
    assert "None of them is a hardware time" not in (tmp_path / "summary.md").read_text()


def test_what_the_machine_charges_is_computed(results: Results, add: Callable[..., None]) -> None:
    add("native", 100.0, name="getpid")
    assert charges.measured(results, COMMIT) == ""
    add("native", 50.0, name="cpuid")
    add("kvm", 850.0, name="cpuid")
    add("xen", 50.0, name="cpuid")
    add("xen", 700.0, name="getpid")
    add("native", 1.0, name="pipe")
    add("native", 5.0, name="pipe-other")
    text = charges.measured(results, COMMIT)
    assert "leaving a kvm guest and coming back costs 8.0 getpids" in text
    assert "a system call of a xen guest, 7.0 times native's" in text
    assert "waking another CPU, 20 getpids more" in text
    assert "TLB" not in text


def test_the_guard_sees_what_is_worse_and_what_is_gone() -> None:
    lines = compare({"a": 100.0, "b": 100.0, "c": 100.0, "d": 100.0}, {"a": 104.0, "b": 106.0, "c": 50.0, "e": 1.0})
    assert [line.what for line in lines if line.bad] == ["b", "d"]


def test_the_guard_lets_a_partition_be_one_percent_behind() -> None:
    native = {"native getpid": 100.0, "native fork": 100.0, "native pipe": 100.0, "native exec": 100.0}
    lines = beside_native(native | {"shimos getpid": 100.9, "shimos fork": 101.1, "shimos exec": 200.0})
    assert [line.what for line in lines if line.bad] == ["fork", "pipe"]


def test_an_architecture_has_the_rows_that_its_processor_can_do() -> None:
    assert [w.name for w in WORKLOADS if "arm64" not in w.arches] == ["cpuid"]
    assert all("amd64" in w.arches for w in WORKLOADS)


def test_workloads_have_names_of_their_own_and_known_bases() -> None:
    names = [w.name for w in WORKLOADS]
    assert len(set(names)) == len(names)
    assert all(w.base in names for w in WORKLOADS if w.base)
    assert len({g.name for g in GROUPS}) == len(GROUPS)
