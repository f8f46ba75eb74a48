"""Tests that a known fault of the emulator spoiled are done once more, and counted."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from _pytest.runner import runtestprotocol

from lab import faults
from tests.support.machines import running

_FAULTS = pytest.StashKey[list[str]]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Look whether the emulator is to blame, while the machines are as the test left them."""
    report = yield
    if report.failed and call.excinfo is not None:
        # With programs in kernel mode a lost interrupt may be our fault.
        judged = [machine for machine in running if machine.judged]
        found = [f"{machine.name}: {fault}" for machine in judged if (fault := machine.diagnosis.fault())]
        item.stash.setdefault(_FAULTS, []).extend(found)
    return report


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
