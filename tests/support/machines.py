"""Machines for tests: ``fresh_machine`` is the test's own, ``machine`` is shared by its module.

``@pytest.mark.machine(kernel="6.1")`` chooses another machine than the default, and ``@pytest.mark.x2apic`` its mode.
A module whose machines need more has a fixture ``make_machine`` of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pexpect
import pytest

from lab import faults, progress
from lab.devices import Disk, Nic
from lab.machine import Machine
from lab.shell import ShellError
from lab.spec import X2APIC
from lab.stage.lan import Lan, two_partitions
from lab.tier import everything
from tests.support.reports import REPORT

#: Its modules take a minute and a half to build, and the same kernel is on x86-64 in each run.
RT_ON_ARM64 = ("6.12-rt",) if everything() else ()
#: Options of the one machine that most tests of arm64 share, with all that any of them wants: a boot takes 20 seconds.
ON_ARM64: dict[str, Any] = {
    "arch": "arm64",
    "partitions": ("6.1", "6.12-16k", *RT_ON_ARM64),
    "disks": (Disk("data", "64M"),),
    "nics": (Nic(),),
}

#: Those that are running, for whoever explains a failure.
running: list[Machine] = []
_lans: dict[Machine, Lan] = {}


def _options(request: pytest.FixtureRequest) -> dict[str, object]:
    marker = request.node.get_closest_marker("machine")
    options = dict(marker.kwargs) if marker else {}
    return X2APIC | options if request.node.get_closest_marker("x2apic") else options


@pytest.fixture
def fresh_machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """Yield a machine that no other test has seen or will see, with KLoader loaded."""
    progress.quiet()
    with Machine(**_options(request)) as machine:
        machine.name = f"fresh machine of {request.node.name}"
        running.append(machine)
        try:
            yield machine
        finally:
            running.remove(machine)


@pytest.fixture(scope="module")
def make_machine(request: pytest.FixtureRequest) -> Callable[[], Machine]:
    """Return how the module's machine is started and prepared; modules may have another."""
    return lambda: Machine(**_options(request)).start()


@pytest.fixture(scope="module")
def module_machine(make_machine: Callable[[], Machine], request: pytest.FixtureRequest) -> Iterator[list[Machine]]:
    """Yield the module's machine, in a box so that one that was spoiled can be replaced."""
    progress.quiet()
    box: list[Machine] = []
    _start_in(box, make_machine, f"machine of {request.node.name}")
    yield box
    _stop_in(box)


@pytest.fixture
def machine(
    module_machine: list[Machine], make_machine: Callable[[], Machine], request: pytest.FixtureRequest
) -> Iterator[Machine]:
    """Yield one machine for all tests of a module; after a failure the next test gets a fresh one."""
    machine = module_machine[0]
    yield machine
    if _failed(request) or _spoiled(machine):
        _replace(module_machine, make_machine)


@pytest.fixture
def shared_lan(
    module_machine: list[Machine], make_machine: Callable[[], Machine], request: pytest.FixtureRequest
) -> Iterator[Lan]:
    """Yield web and db on a bridge of the module's machine, for all its tests; fresh ones after a failure."""
    machine = module_machine[0]
    if machine not in _lans:
        _lans[machine] = two_partitions(machine)
    yield _lans[machine]
    if _failed(request) or faults.unclean(machine.dmesg()):
        _replace(module_machine, make_machine)


def _start_in(box: list[Machine], make: Callable[[], Machine], name: str) -> None:
    machine = make()
    machine.name = name
    running.append(machine)
    box[:] = [machine]


def _stop_in(box: list[Machine]) -> None:
    machine = box.pop()
    _lans.pop(machine, None)
    running.remove(machine)
    machine.stop()


def _replace(box: list[Machine], make: Callable[[], Machine]) -> None:
    """Start a new machine: what a failed test left behind must not fail the next one."""
    name = box[0].name
    _stop_in(box)
    _start_in(box, make, name)


def _failed(request: pytest.FixtureRequest) -> bool:
    report = request.node.stash.get(REPORT, None)
    return report is not None and report.failed


def _spoiled(machine: Machine) -> bool:
    """Return whether partitions, complaints of the kernel or a dead console are left."""
    try:
        machine.release_consoles()
        if not machine.spec.load:
            return False  # programs that it kills are in its log, and there are no partitions
        left = machine.run("ls /sys/class/shimos", check=False)
        return bool(left.output and left.status == 0) or bool(faults.unclean(machine.dmesg()))
    except (ShellError, OSError, pexpect.ExceptionPexpect):
        return True
