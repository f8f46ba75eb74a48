"""The report: a page, a summary in Markdown, plots, and the tables as JSON."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import markdown as markdown_library
from markdown.extensions.toc import TocExtension

from bench.compare import charges, guide, plots, statistics, tables
from bench.compare.results import CLOCKS, Clock, Results
from bench.compare.statistics import Summary
from bench.compare.workload import Group
from bench.compare.workloads import GROUPS
from lab.machine import Machine

_STYLE = """
body { font-family: sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; line-height: 1.4 }
table { border-collapse: collapse; font-size: 85% } td, th { border: 1px solid #bbb; padding: .25em .5em; text-align: left }
img { max-width: 100% } h2 { margin-top: 2em } summary { cursor: pointer; color: #2a6f97 }
"""


#: Headings have the names by which the table at the beginning links to them.
_ANCHORS = TocExtension(slugify=lambda title, _: guide.anchor(title))


def facts(machine: Machine) -> dict[str, str]:
    """Return what the figures are from."""
    accel = machine.accelerator
    return {
        "machine": f"4 CPUs, {machine.spec.memory}, accelerator {accel}",
        "emulated": "no" if accel == "kvm" else "yes",
        "host": machine.run("grep -m1 'model name' /proc/cpuinfo | cut -d: -f2").output.strip(),
        "kernel": machine.versions[machine.flavour],
        "developer's machine": f"{_cpu()}, {len(os.sched_getaffinity(0))} CPUs",
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")


def keep_facts(directory: Path, clock: Clock, systems: str, found: dict[str, str]) -> None:
    """Keep facts for the report, which may be written another day."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"facts-{clock}-{systems}.json").write_text(json.dumps(found, indent=1) + "\n")


def write(directory: Path, results: Results, commit: str) -> Path:
    """Write everything; returns the page."""
    directory.mkdir(parents=True, exist_ok=True)
    measured = [
        (group, clock, found)
        for group in GROUPS
        for clock in CLOCKS
        if (found := tables.rows(group, results, clock, commit))
    ]
    charged = charges.measured(results, commit)
    parts = [
        _head(directory, commit) + _busy(results, commit),
        guide.text(
            {name for *_, found in measured for row in found for name, cell in row.cells.items() if cell.summary}
        ),
        guide.overview((group.title, clock, found) for group, clock, found in measured if _compares(group)),
    ]
    for group, its in itertools.groupby(measured, key=lambda entry: entry[0]):
        parts.append(_section(directory, group, [(clock, found) for _, clock, found in its], charged))
    parts.append(_behind(measured))
    summary = "\n\n".join(part for part in parts if part) + "\n"
    (directory / "summary.md").write_text(summary)
    raw = {f"{group.name}-{clock}": [_raw(row) for row in found] for group, clock, found in measured}
    (directory / "report.json").write_text(json.dumps({"commit": commit, "tables": raw}, indent=1) + "\n")
    return _page(directory, summary)


def _head(directory: Path, commit: str) -> str:
    lines = [
        "# Native Linux, SHIMOS, KVM and Xen on the same machine",
        "",
        "Ratios are times native Linux' speed in the same run: 1.00 is native, more is faster, whatever the unit."
        " Figures are medians, the middle half of the runs in brackets; \\* marks a difference to native that"
        f" Welch's test finds significant at {statistics.LEVEL:.0%}, as in the papers. Papers: SHIMOS 2008 and 2009 (see"
        " docs/performance.md), real hardware, their ratio to native Linux unless it says otherwise.",
        "",
        f"Commit {commit}. All of it again: `./bench/run`.",
    ]
    emulated = False
    for file in sorted(directory.glob("facts-*.json")):
        found = json.loads(file.read_text())
        emulated |= found.pop("emulated") == "yes"
        lines += ["", f"- {file.stem.removeprefix('facts-')}: " + "; ".join(f"{k} {v}" for k, v in found.items())]
    if emulated:
        lines += [
            "",
            "**Times are an emulator's. None of them is a hardware time**, and those that need another CPU to"
            " wake up vary by a factor of two. Instruction counts repeat; they know nothing of caches, pipelines"
            " or what a VM exit costs a real CPU.",
        ]
    return "\n".join(lines)


def _busy(results: Results, commit: str) -> str:
    others = results.others("times", commit)
    if not others:
        return ""
    middle = Summary.of(others)
    return (
        f"\n\nWhile times were measured, other work used {middle.median:.1f} of the computer's CPUs (middle half of the"
        f" runs {middle.low:.1f} to {middle.high:.1f}, at most {max(others):.1f}): the less, the more the times mean."
    )


def _caption(clock: Clock) -> str:
    if clock == "times":
        return "*By time.*"
    return (
        "*By instructions of all kernels together, counted; one emulated CPU runs at a time. KVM guests do not come up in"
        " that mode, by a fault of the emulator (docs/lab.md).*"
    )


def _section(directory: Path, group: Group, measured: list[tuple[Clock, list[tables.Row]]], charged: str) -> str:
    parts = [f"## {group.title}"]
    for clock, found in measured:
        parts.append(_caption(clock))
        if stem := plots.draw(directory, group, clock, found):
            parts.append(f"![{group.title}, {clock}]({stem}.svg)")
        parts += [_figures(tables.markdown(found, clock)), *_failures(found)]
    notes = (*group.notes, f"What the machine charges: {group.charges} {charged}".rstrip())
    return "\n\n".join([*parts, "\n".join(f"- {note}" for note in notes)])


def _figures(table: str) -> str:
    """Return a table that is opened by who wants it; the empty lines are Markdown's."""
    return f'<details markdown="1"><summary>The figures</summary>\n\n{table}\n\n</details>'


def _compares(group: Group) -> bool:
    """Return whether its rows are about the systems, and not about the emulator."""
    return group.name != "emulator"


def _behind(measured: list[tuple[Group, Clock, list[tables.Row]]]) -> str:
    lines = [
        _explained(row, clock) for group, clock, found in measured for row in found if row.behind and _compares(group)
    ]
    return "## Where SHIMOS is behind native Linux\n\n" + ("\n".join(lines) or "Nowhere by more than 5 %.")


def _explained(row: tables.Row, clock: Clock) -> str:
    cell = row.cells["shimos"]
    doubt = ""
    if clock == "times" and (cell.p is None or cell.p >= statistics.LEVEL):
        doubt = " Not significant." if cell.p is not None else " Too few runs to tell."
    return f"- {row.workload.what}, by {clock}: {cell.speed:.2f}.{doubt} {row.workload.why}".rstrip()


def _failures(found: list[tables.Row]) -> list[str]:
    return [
        f"`{row.workload.name}` on {tables.TITLES[system]} failed: `{cell.error.splitlines()[0][:200]}`"
        for row in found
        for system, cell in row.cells.items()
        if cell.error
    ]


def _raw(row: tables.Row) -> dict[str, Any]:
    cells = {s: asdict(c) for s, c in row.cells.items() if c.summary or c.error}
    return {"work": row.workload.name, "what": row.workload.what, "unit": row.workload.unit, "cells": cells}


def _page(directory: Path, summary: str) -> Path:
    body = markdown_library.markdown(summary, extensions=["tables", "md_in_html", _ANCHORS])
    page = directory / "index.html"
    title = "SHIMOS, measured"
    page.write_text(
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>{body}</html>\n'
    )
    return page
