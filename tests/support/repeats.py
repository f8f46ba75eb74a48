"""Tests that a known fault of the emulator spoiled are done once more, and counted."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest
from _pytest.runner import runtestprotocol

from lab import faults
from lab.machine import Machine
from tests.support.machines import running

_FAULTS = pytest.StashKey[list[str]]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Look whether the emulator is to blame, while the machines are as the test left them."""
    report = yield
    if report.failed and call.excinfo is not None:
        said = [str(call.excinfo.value), *(text for _, text in report.sections)]
        item.stash.setdefault(_FAULTS, []).extend(blamed(running, said))
    return report


def blamed(machines: Sequence[Machine], said: Sequence[str]) -> list[str]:
    """Return the emulator's faults that spoiled a test on these machines.

    ``said`` is what it failed with and what its report has: of a partition's kernel, which has
    no console of the emulator's, that is all there is.
    """
    # With programs in kernel mode a lost interrupt may be our fault.
    judged = [machine for machine in machines if machine.judged]
    found = [f"{machine.name}: {fault}" for machine in judged if (fault := machine.diagnosis.fault())]
    if judged and not found:
        found = [f"a partition: {fault}" for text in said if (fault := faults.stale_breakpoint(text))]
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test; once more, on another machine, if the emulator spoiled it."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    found = item.stash.setdefault(_FAULTS, [])
    if found:
        faults.record("; ".join(dict.fromkeys(found)), f"test {item.nodeid}")
        found.clear()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
