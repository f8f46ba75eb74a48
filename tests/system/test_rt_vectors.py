"""Which interrupts shared CPUs have had, and whose they were, as ``shimos rt vectors`` knows it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.machine import Machine
from lab.stage.partitions import remove
from lab.stage.rt import rt_command, vcpus
from tests.support.tiers import REPETITION

pytestmark = pytest.mark.machine(one_thread=True)
older = pytest.mark.machine(kernel="6.1", partitions=["6.1"], one_thread=True)

TIMER, BELL = 32, 33  # enum shimos_rt_vector
LAYER_TIMER, LAYER_BELL = 0xF2, 0xF1
KINDS = ("LOC", "RES", "CAL")
#: Ticks, and processes that go from CPU to CPU.
FORKS = "for n in 1 2 3 4; do (i=0; while [ $i -lt 50 ]; do /bin/true | cat; i=$((i+1)); done) & done; wait"

Row = dict[str, Any]


def rows(machine: Machine) -> list[Row]:
    found: list[Row] = json.loads(machine.run("shimos rt vectors --json").output)["vectors"]
    return found


def count(found: list[Row], whose: str, vector: int) -> int:
    """Return how many of one vector somebody had; none is not shown."""
    return next((row["count"] for row in found if (row["whose"], row["vector"]) == (whose, vector)), 0)


def taken(interrupts: str, cpu: int) -> dict[str, int]:
    """Return what Linux says it took on a CPU: /proc/interrupts."""
    fields = [line.split() for line in interrupts.splitlines()]
    return {field[0][:-1]: int(field[1 + cpu]) for field in fields if field and field[0][:-1] in KINDS}


def reading(machine: Machine, cpu: int) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
    """Return what the layer gave to Linux on a CPU, and how many more Linux took, at least and at most.

    Linux has counted from an earlier moment on, so it is the same number at all times.
    """
    ask = "cat /proc/interrupts; echo ---; shimos rt vectors --json; echo ---; cat /proc/interrupts"
    first, found, last = machine.run(f"taskset -c 0 sh -c '{ask}'").output.split("---\n")
    given = dict.fromkeys(KINDS, 0)
    for row in json.loads(found)["vectors"]:
        if row["whose"] == f"host:{cpu}" and row["name"] in given:
            given[row["name"]] += row["count"]
    before, after = taken(first, cpu), taken(last, cpu)
    return given, {kind: (before[kind] - given[kind], after[kind] - given[kind]) for kind in KINDS}


def exact_reading(machine: Machine, cpu: int) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
    """Return the same, read until it is one number; of calls, two.

    The CPU is asked by a call, which it may hear without an interrupt if it is about to sleep.
    """
    given, more = reading(machine, cpu)
    while any(most - least > (kind == "CAL") for kind, (least, most) in more.items()):
        given, other = reading(machine, cpu)
        more = {kind: both(more[kind], other[kind], kind) for kind in KINDS}
    return given, more


def both(one: tuple[int, int], other: tuple[int, int], kind: str) -> tuple[int, int]:
    least, most = max(one[0], other[0]), min(one[1], other[1])
    assert least <= most, f"{kind}: Linux has taken {one} more than it was given, and then {other}"
    return least, most


@pytest.mark.parametrize("kernel", ["6.12", pytest.param("6.1", marks=[older, REPETITION])])
def test_exact(fresh_machine: Machine, kernel: str) -> None:
    """Linux has taken on that CPU what the layer says that it was given there, and nothing else."""
    machine = fresh_machine
    assert machine.run("uname -r").output.startswith(kernel)
    machine.run(rt_command())
    given, more = exact_reading(machine, 1)
    machine.run(FORKS, timeout=300)
    given_then, more_then = exact_reading(machine, 1)
    for kind in KINDS:
        both(more[kind], more_then[kind], kind)
        assert given_then[kind] > given[kind] + 20, kind
    remove(machine, "ctl")


def test_whose(machine: Machine) -> None:
    """The host's, the layer's and each program's; a program's figures are those of ``shimos rt``."""
    assert machine.run("shimos rt vectors").output == "no CPU is shared\n"
    machine.run(rt_command("echo", name="talk", more="--budget 40%"))
    machine.run(rt_command(more="--budget 40%"))
    machine.run(rt_command(name="other", cpu="2", more="--budget 40%"))
    first = rows(machine)
    assert {(row["cpu"], row["whose"]) for row in first} >= {
        (1, "host:1"),
        (1, "layer"),
        (1, "ctl"),
        (2, "host:2"),
        (2, "layer"),
        (2, "other"),
    }
    # no line for what there was nothing of, nor is anything here twice
    assert all(row["count"] for row in first)
    assert len({(row["cpu"], row["whose"], row["vector"]) for row in first}) == len(first)
    # the layer's are nobody else's
    assert not any(count(first, f"host:{cpu}", vector) for cpu in (1, 2) for vector in (LAYER_TIMER, LAYER_BELL))

    # one bell for all of a CPU, and those of another CPU do not hear it
    machine.run("shimos ping talk --count 20 --interval 0.05", timeout=60)
    then = rows(machine)
    rung, talk, ctl = (
        count(then, who, vector) for who, vector in (("layer", LAYER_BELL), ("talk", BELL), ("ctl", BELL))
    )
    assert talk >= 20 and ctl >= 20 and rung >= talk
    assert count(then, "other", BELL) == count(first, "other", BELL)
    # a deadline needs the timer
    machine.run("shimos stop ctl")
    then, timers = rows(machine), vcpus(machine)["ctl:0"]["timers"]
    assert count(then, "ctl", TIMER) == timers > count(first, "ctl", TIMER) > 0
    assert {row["name"] for row in then if row["whose"] in ("layer", "ctl")} == {"timer", "bell"}
    # its own go with it; a CPU that nobody shares any more is not here
    machine.run("shimos rt move talk 2 && shimos rm ctl")
    assert {(row["cpu"], row["whose"]) for row in rows(machine) if not row["whose"].startswith("host")} == {
        (2, "layer"),
        (2, "talk"),
        (2, "other"),
    }
    for name in ("talk", "other"):
        remove(machine, name)
    assert rows(machine) == []
    machine.assert_dmesg_clean()
