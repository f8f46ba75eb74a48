"""From results to tables: every figure beside native Linux' of the same run, and the papers'."""

from __future__ import annotations

from dataclasses import dataclass

from bench.compare.results import Clock, Results
from bench.compare.statistics import LEVEL, Summary, speed, welch
from bench.compare.workload import ALL, Group, Workload

TITLES = {"native": "native", "shimos": "SHIMOS", "kvm": "KVM", "xen": "Xen"}
#: Below this many times native's speed a row is explained.
BEHIND = 0.95


@dataclass(frozen=True)
class Cell:
    """One system's figure."""

    summary: Summary | None
    #: Times native's speed.
    speed: float | None = None
    p: float | None = None
    error: str = ""
    #: Runs without a figure.
    failed: int = 0

    def figure(self) -> str:
        """Return median, middle half and number of runs."""
        if self.summary is None:
            return "failed" if self.error else ""
        s = self.summary
        spread = f" ({number(s.low)} to {number(s.high)})" if s.low != s.high else ""
        return f"{number(s.median)}{spread}, n={s.count}" + (f", {self.failed} failed" if self.failed else "")

    def ratio(self) -> str:
        """Return the ratio, starred where chance is no likely reason."""
        if self.speed is None:
            return ""
        digits = ".2f" if self.speed >= 0.1 else ".2g"
        return f"**{self.speed:{digits}}**" + (" \\*" if self.p is not None and self.p < LEVEL else "")


@dataclass(frozen=True)
class Row:
    """One workload on one clock."""

    workload: Workload
    cells: dict[str, Cell]

    @property
    def behind(self) -> bool:
        """Whether SHIMOS is slower than native Linux."""
        found = self.cells.get("shimos")
        return found is not None and found.speed is not None and found.speed < BEHIND


def number(value: float) -> str:
    """Return three digits that count, no exponents."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def told(clock: Clock) -> str:
    """Return what a clock counts, in the words of plots and tables."""
    return "instructions" if clock == "instructions" else "time"


def rows(group: Group, results: Results, clock: Clock, commit: str) -> list[Row]:
    """Return what was measured of a group."""
    found = []
    for workload in group.workloads:
        cells = {system: cell(workload, results, system, clock, commit) for system in ALL}
        if any(c.summary or c.error for c in cells.values()):
            found.append(Row(workload, cells))
    return found


def cell(workload: Workload, results: Results, system: str, clock: Clock, commit: str) -> Cell:
    """Compare one system's runs with native's."""
    values = results.values(system, workload.name, clock, commit)
    error = results.error(system, workload.name, clock, commit)
    failed = results.failed(system, workload.name, clock, commit)
    if not values:
        return Cell(None, error=error, failed=failed)
    native = results.values("native", workload.base or workload.name, clock, commit)
    comparable = bool(native) and system != "native"
    ratio = speed(native, values, workload.better) if comparable else None
    p = welch(native, values) if comparable else None
    return Cell(Summary.of(values), ratio, p, error, failed)


def markdown(found: list[Row], clock: Clock) -> str:
    """Return a table with a column pair for every system that has figures."""
    systems = [s for s in ALL if any(r.cells[s].summary or r.cells[s].error for r in found)]
    others = [s for s in systems if s != "native"]
    head = ["work", "unit", *(["native"] if "native" in systems else [])]
    for system in others:
        head += [TITLES[system], "x native"]
    paper = any(r.workload.paper for r in found)
    head += ["papers"] if paper else []
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for row in found:
        unit = row.workload.unit.replace("ns", "instructions") if clock == "instructions" else row.workload.unit
        if clock == "instructions" and row.workload.unit == "us":
            unit = "1000 instructions"
        line = [row.workload.what, unit, *([row.cells["native"].figure()] if "native" in systems else [])]
        for system in others:
            line += [row.cells[system].figure(), row.cells[system].ratio()]
        if paper:
            line.append("; ".join(f"{TITLES[s]} {text}" for s, text in row.workload.paper.items()))
        lines.append(f"| {' | '.join(line)} |")
    return "\n".join(lines)
