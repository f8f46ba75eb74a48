"""What is said about a test that failed: at once, at the end, and in the cache."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Generator

import pytest
from _pytest.terminal import TerminalReporter

from lab import ledger
from lab.machine import Machine
from lab.paths import CACHE
from lab.shell import ShellError
from tests.support import tiers

#: Where a test's report is kept for its fixtures.
REPORT = pytest.StashKey[pytest.TestReport]()
_terminals: list[TerminalReporter] = []
_causes: dict[str, str] = {}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach what the machines of a failed test say."""
    from tests.support.machines import running  # noqa: PLC0415 # which needs REPORT from here

    report = yield
    if report.when == "call":
        item.stash[REPORT] = report
    if report.failed and call.excinfo is not None:
        for machine in running:
            report.sections.append((f"serial console, {machine.name}", machine.diagnosis.serial_tail()))
            report.sections.append((f"partitions, {machine.name}", _partitions(machine)))
    return report


def _partitions(machine: Machine) -> str:
    """Return what the tool says about the partitions, in a shell that the test did not use."""
    script = (
        "shimos ls; for p in $(ls /sys/class/shimos 2>/dev/null); do shimos show $p;"
        ' echo "--- log of $p"; shimos logs $p | tail -n 80; done; dmesg | tail -n 40'
    )
    try:
        return machine.shell(1).run(f"timeout 20 sh -c '{script}'", timeout=25, check=False).output
    except (ShellError, OSError, ValueError, KeyError) as error:
        return f"no answer: {error.__class__.__name__}"


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Note where to write while tests run."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if isinstance(terminal, TerminalReporter):
        _terminals.append(terminal)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Say at once what failed and why, and keep all that is known of it: what ran the tests may show a part only."""
    if not report.failed or "PYTEST_XDIST_WORKER" in os.environ:
        return
    cause = _cause(report)
    said = "for the same reason" if cause in _causes.values() else cause
    # The name of the group is no part of its name.
    test = report.nodeid.rsplit("@", 1)[0]
    _causes[f"{report.when} of {test}"] = cause
    ledger.note(ledger.Entry("failure", test, why=cause))
    for terminal in _terminals:
        terminal.write_line(f"\n{report.when} of {test} failed: {said}", red=True)
    with (CACHE / "failures.log").open("a") as log:
        log.write(f"===== {time.strftime('%Y-%m-%dT%H:%M:%S')} {report.when} of {test}\n")
        log.write(f"{report.longreprtext}\n")
        log.writelines(f"----- {name}\n{text}\n" for name, text in report.sections)


def _cause(report: pytest.TestReport) -> str:
    """Return a failure's message; of a long one, how it begins and ends."""
    crash = getattr(report.longrepr, "reprcrash", None)
    message = crash.message if crash else report.longreprtext
    return message if len(message) < 1000 else f"{message[:200]}\n[...]\n{message[-700:]}"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in which the emulator spoiled too much: what happens that often hides something."""
    if (
        "PYTEST_XDIST_WORKER" not in os.environ
        and len(ledger.repetitions()) > ledger.CEILING
        and session.exitstatus == 0
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def machines_text(entries: list[ledger.Entry]) -> list[str]:
    """Return a line for each way in which machines came up, with how often and how long."""
    lines = []
    for kind, what in (("clone", "clones"), ("template", "templates made"), ("boot", "boots")):
        seconds = [entry.seconds for entry in entries if entry.kind == kind]
        if seconds:
            lines.append(
                f"{len(seconds)} {what}, median {statistics.median(seconds):.1f} s, longest {max(seconds):.1f} s"
            )
    cold = sorted({f"{entry.what}: {entry.why}" for entry in entries if entry.kind == "cold"})
    return [*lines, *(f"booted cold: {line}" for line in cold)]


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Say how machines came up, what was repeated, and what found no time."""
    done = ledger.repetitions()
    terminalreporter.section("machines")
    for line in machines_text(ledger.entries()):
        terminalreporter.write_line(line)
    terminalreporter.write_line(f"repeated because of a known fault of the emulator: {len(done)}")
    for line in done:
        terminalreporter.write_line(f"  {line}")
    skipped = terminalreporter.stats.get("skipped", [])
    if waiting := [report.nodeid for report in skipped if tiers.NO_TIME in report.longreprtext]:
        terminalreporter.write_line(f"NOT RUN, for there was no time: {len(waiting)} late tests", yellow=True)
    if len(done) > ledger.CEILING:
        terminalreporter.write_line(
            f"FAILED: more than {ledger.CEILING} repetitions, so something else is wrong", red=True
        )
