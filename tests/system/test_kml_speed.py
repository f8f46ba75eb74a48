"""What system calls cost in kernel mode, in instructions, which the emulator counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab.machine import Machine
from lab.stage import kml
from lab.stage.kml import PROGRAMS, TRUSTED
from tests.support.tiers import REPETITION


@pytest.fixture(scope="module", params=["6.12", pytest.param("6.1", marks=REPETITION)])
def make_machine(request: pytest.FixtureRequest) -> Callable[[], Machine]:
    """One CPU, whose clock advances by a nanosecond for each instruction."""
    return lambda: kml.start(kernel=request.param, icount=True, cpus=1)


def getpid(machine: Machine, directory: str) -> tuple[float, float]:
    """Instructions of a getpid by SYSCALL and by kml.h, with the loop around; the least of some runs."""
    runs = [machine.run(f"{directory}/kml_call loop 1000").lines[1].split() for _ in range(5)]
    return min(float(run[1]) for run in runs), min(float(run[3]) for run in runs)


def test_getpid(machine: Machine) -> None:
    """Of the stock kernel's instructions, at most 0.42 for an unmodified program and 0.35 for a direct call.

    Measured: 301 stock, 118, 104 (6.12), 312, 116, 103 (6.1), where getpid itself and the loop are about 80 of each.
    """
    stock, _ = getpid(machine, PROGRAMS)
    by_syscall, direct = getpid(machine, TRUSTED)
    print(f"stock {stock} SYSCALL {by_syscall} direct {direct}")
    assert stock > 250
    assert by_syscall / stock < 0.42
    assert direct < by_syscall
    assert direct / stock <= 0.35
