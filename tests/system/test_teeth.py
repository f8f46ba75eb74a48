"""Tests that can fail: each is run on a product with a defect at the place that it is about.

SHIMOS_BLUNT=1 leaves the defects out.  Then every test here must fail, which shows that the
defects are what the tests see.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from lab.machine import Machine
from tests.support import mutants
from tests.support.mutants import Mutation
from tests.system import test_hostile, test_ioctl


@dataclass(frozen=True)
class Tooth:
    """A test, what is broken before, and a pattern of what the test then says."""

    test: Callable[[Machine], None]
    spoil: Callable[[Machine], None]
    says: str


def mutation(file: str, old: str, new: str, *flavours: str) -> Callable[[Machine], None]:
    """A defect of modules, for the host's kernel unless flavours are given."""

    def spoil(machine: Machine) -> None:
        for flavour in flavours or (machine.flavour,):
            mutants.install(machine, flavour, Mutation(file, old, new))

    return spoil


def command(text: str) -> Callable[[Machine], None]:
    """A defect that a command of the machine makes."""

    def spoil(machine: Machine) -> None:
        machine.run(text)

    return spoil


def tooth(
    name: str, test: Callable[[Machine], None], spoil: Callable[[Machine], None], says: str, **options: Any
) -> Any:
    """A row of the table; the options are the machine's."""
    return pytest.param(Tooth(test, spoil, says), id=name, marks=pytest.mark.machine(**options))


TEETH = [
    tooth(
        "unknown-cause-believed",
        test_hostile.test_unknown_cause,
        mutation("kernel/kloader/life.c", "if (cause >= SHIMOS_CAUSE_KILLED)", "if (false)"),
        "the unknown cause was taken.*'cause': 'unknown'",
        partitions=["6.1"],
    ),
    tooth(
        "nothing-scribbled",
        test_hostile.test_scribbled_shared_area,
        mutation("tests/modules/shimos_test.c", "\t\tscribble();", "\t\treturn 0;", "6.1"),
        "nothing was scribbled",
        partitions=["6.1"],
    ),
    tooth(
        "ioctl-fuzzer-missing",
        test_ioctl.test_nonsense_beside_a_partition,
        command(f"rm {test_ioctl.FUZZ}"),
        "exit status 127: .*ioctl_fuzz",
        partitions=["6.1"],
    ),
    tooth(
        "ioctl-fuzzer-does-nothing",
        test_ioctl.test_nonsense_beside_a_partition,
        command(f"printf '#!/bin/sh\\necho 3000 random calls, 0 failures\\n' >{test_ioctl.FUZZ}"),
        "no call met the partition",
        partitions=["6.1"],
    ),
]


@pytest.mark.parametrize("each", TEETH)
def test_teeth(fresh_machine: Machine, each: Tooth) -> None:
    """The test sees the defect, and says what it sees."""
    if os.environ.get("SHIMOS_BLUNT") != "1":
        each.spoil(fresh_machine)
    # What the emulator spoils reads otherwise.
    with pytest.raises(AssertionError, match=f"(?s){each.says}"):
        each.test(fresh_machine)
