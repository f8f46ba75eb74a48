"""Machines for the tests, and what is known when one fails."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator

import pexpect
import pytest
from _pytest.runner import runtestprotocol
from _pytest.terminal import TerminalReporter

from lab import faults, progress
from lab.machine import Machine
from lab.paths import CACHE
from lab.shell import ShellError
from lab.stage.lan import Lan, two_partitions
from tests.support import tiers

_known_faults = len(faults.recorded())
# Those made here.  Not the ones with programs in kernel mode, which their tests make: there,
# a lost interrupt may be our fault.
_machines: list[Machine] = []


def _started(request: pytest.FixtureRequest, scope: str) -> Iterator[Machine]:
    marker = request.node.get_closest_marker("machine")
    options = dict(marker.kwargs) if marker else {}
    progress.quiet()
    with Machine(**options) as machine:
        machine.name = f"{scope} machine of {request.node.name}"
        _machines.append(machine)
        try:
            yield machine
        finally:
            _machines.remove(machine)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a machine stay together when tests run beside each other."""
    if not tiers.everything():
        items[:] = [item for item in items if not item.get_closest_marker("repetition")]
    for item in items:
        if "_module_machine" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group(item.path.name))


@pytest.fixture
def fresh_machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A fresh machine with KLoader loaded; ``@pytest.mark.machine(kernel="6.1")`` chooses another."""
    yield from _started(request, "fresh")


@pytest.fixture(scope="module")
def _module_machine(request: pytest.FixtureRequest) -> Iterator[list[Machine]]:
    """The module's machine, in a box so that a dead one can be replaced."""
    progress.quiet()
    box: list[Machine] = []
    marker = request.node.get_closest_marker("machine")
    options = dict(marker.kwargs) if marker else {}

    def start() -> Machine:
        machine = Machine(**options).start()
        machine.name = f"shared machine of {request.node.name}"
        return machine

    box.append(start())
    _machines.append(box[0])
    yield box
    _machines.remove(box[0])
    box[0].stop()


@pytest.fixture
def machine(_module_machine: list[Machine], request: pytest.FixtureRequest) -> Iterator[Machine]:
    """One machine for all tests of a module; after a failure the next test gets a fresh one."""
    yield _module_machine[0]
    if _failed(request) or _spoiled(_module_machine[0]):
        _replace(_module_machine)


@pytest.fixture
def shared_lan(_module_machine: list[Machine], request: pytest.FixtureRequest) -> Iterator[Lan]:
    """web and db on a bridge of the module's machine, for all its tests; after a failure the next test gets a fresh one."""
    machine = _module_machine[0]
    if machine not in _lans:
        _lans[machine] = two_partitions(machine)
    yield _lans[machine]
    if _failed(request) or faults.unclean(machine.dmesg()):
        del _lans[machine]
        _replace(_module_machine)


_lans: dict[Machine, Lan] = {}


def _failed(request: pytest.FixtureRequest) -> bool:
    report = request.node.stash.get(_REPORT, None)
    return report is not None and report.failed


def _replace(box: list[Machine]) -> None:
    """What a failed test left behind must not fail the next one."""
    machine = box[0]
    replacement = Machine(**vars(machine.spec)).start()
    replacement.name = machine.name
    _machines[_machines.index(machine)] = replacement
    box[0] = replacement
    machine.stop()


def _spoiled(machine: Machine) -> bool:
    """Whether partitions, complaints of the kernel or a dead console are left."""
    try:
        machine.release_consoles()
        left = machine.run("ls /sys/class/shimos", check=False)
        return bool(left.output and left.status == 0) or bool(faults.unclean(machine.dmesg()))
    except (ShellError, OSError, pexpect.ExceptionPexpect):
        return True


_REPORT = pytest.StashKey[pytest.TestReport]()
_FAULT = pytest.StashKey[list[str]]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach what the machines of a failed test say."""
    report = yield
    if report.when == "call":
        item.stash[_REPORT] = report
    if report.failed and call.excinfo is not None:
        faults_found = item.stash.setdefault(_FAULT, [])
        faults_found += [f"{machine.name}: {fault}" for machine in _machines if (fault := machine.diagnosis.fault())]
        for machine in _machines:
            report.sections.append((f"serial console, {machine.name}", machine.diagnosis.serial_tail()))
            report.sections.append((f"partitions, {machine.name}", _partitions(machine)))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """What the emulator spoiled is counted and done once more, on another machine."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    found = item.stash.setdefault(_FAULT, [])
    if found:
        faults.record("; ".join(dict.fromkeys(found)), f"test {item.nodeid}")
        found.clear()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Say at once what failed and why, and keep all that is known of it: what ran the tests may show a part only."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        cause = _cause(report)
        said = "for the same reason" if cause in _causes else cause
        _terminals[0].write_line(f"\n{report.when} of {report.nodeid} failed: {said}", red=True)
        _causes.add(cause)
        with (CACHE / "failures.log").open("a") as log:
            log.write(f"===== {time.strftime('%Y-%m-%dT%H:%M:%S')} {report.when} of {report.nodeid}\n")
            log.write(f"{report.longreprtext}\n")
            log.writelines(f"----- {name}\n{text}\n" for name, text in report.sections)


_terminals: list[TerminalReporter] = []
_causes: set[str] = set()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Where to write while tests run."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    assert isinstance(terminal, TerminalReporter)
    _terminals.append(terminal)


def _cause(report: pytest.TestReport) -> str:
    """A failure's message; of a long one, how it begins and ends."""
    crash = getattr(report.longrepr, "reprcrash", None)
    message = crash.message if crash else report.longreprtext
    return message if len(message) < 1000 else f"{message[:200]}\n[...]\n{message[-700:]}"


def _partitions(machine: Machine) -> str:
    """What the tool says about the partitions, in a shell that the test did not use."""
    script = (
        "shimos ls; for p in $(ls /sys/class/shimos 2>/dev/null); do shimos show $p;"
        ' echo "--- log of $p"; shimos logs $p | tail -n 40; done; dmesg | tail -n 40'
    )
    try:
        return machine.shell(1).run(f"timeout 20 sh -c '{script}'", timeout=25, check=False).output
    except (ShellError, OSError, ValueError, KeyError) as error:
        return f"no answer: {error.__class__.__name__}"


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Say how often a boot had to be repeated, and which quick checks failed."""
    new = faults.recorded()[_known_faults:]
    terminalreporter.section("emulator")
    terminalreporter.write_line(f"boots and tests repeated because of a known emulator fault: {len(new)}")
    for line in new:
        terminalreporter.write_line(f"  {line}")
    failed = os.environ.get("SHIMOS_FAILED_CHECKS", "")
    if failed:
        terminalreporter.section("quick checks")
        for name in failed.splitlines():
            terminalreporter.write_line(f"FAILED CHECK: {name}", red=True)
