"""Real-time tasks of the host's that go before real-time programs, by one scale of priorities."""

from __future__ import annotations

import json
import re

import pytest

from lab.machine import Machine
from lab.stage import rt, traffic
from lab.stage.partitions import PROGRAMS, refused, remove, show
from lab.stage.rt import rt_command, vcpus
from tests.support.tiers import REPETITION

pytestmark = pytest.mark.machine(cpus=1, icount=True)
#: A program that takes half of the CPU, in one piece.
HOG = rt_command("busy-endless", name="hog", cpu="0", more="--budget 50%/1s --priority 50")


def pendulum(machine: Machine, seconds: int = 1) -> tuple[bool, int]:
    """Balance it by a task of priority 99; returns whether it stands, and the most us it was late.

    It writes to a file: a console waits for this computer, whatever the machine's clock is.
    """
    shown = machine.run(f"{PROGRAMS}/pendulum_linux 0 {seconds} >/tmp/shown; cat /tmp/shown", timeout=600).output
    lates = [int(us) for us in re.findall(r"at most (\d+) us late", shown)]
    return f"standing after {seconds}000 ticks" in shown, max(lates)


def most(machine: Machine, name: str) -> int:
    late = json.loads(machine.run(f"shimos rt latency {name} --json").output)
    return int(late["cycles"]["max"])


@pytest.mark.parametrize(
    "kernel",
    [
        "6.12",
        pytest.param(
            "6.1", marks=[pytest.mark.machine(kernel="6.1", partitions=["6.1"], cpus=1, icount=True), REPETITION]
        ),
    ],
)
def test_a_task_that_is_more_urgent(fresh_machine: Machine, kernel: str) -> None:
    """It has the CPU whenever it wants to, and a program the rest; what is more urgent than the limit notices nothing."""
    machine = fresh_machine
    rt.spin(machine)
    machine.run(HOG)
    _, late = pendulum(machine)
    assert late > 100_000, late

    said = machine.run("shimos rt priority host:0 90").output
    assert "host:0: tasks up to priority 90 go before programs with a lower one" in said
    assert vcpus(machine)["host:0"]["priority"] == 90
    before, uptime = vcpus(machine)["hog:0"]["ran_ns"], show(machine, "hog")["uptime_ns"]
    stands, late = pendulum(machine)
    print(f"{kernel}: at most {late} us late")
    assert stands and late <= 500, late
    # and the other tasks, which are always at work, go after it as they did
    ran, took = vcpus(machine)["hog:0"]["ran_ns"] - before, show(machine, "hog")["uptime_ns"] - uptime
    assert ran == pytest.approx(0.5 * took, rel=0.2)

    # above the limit nobody waits for tasks
    machine.run(rt_command("latency-endless", cpu="0", more="--budget 20% --priority 95"))
    stands, late = pendulum(machine)
    assert stands and late <= 500, late
    # more than without a limit: three want the CPU, and Linux's interrupts come in between
    assert most(machine, "ctl") <= 1000
    remove(machine, "ctl")

    # and below it the program is the more urgent one again
    machine.run("shimos rt priority host:0 40")
    assert pendulum(machine)[1] > 100_000
    machine.run("shimos rt priority host:0 90 && shimos rt priority host:0 0")
    assert vcpus(machine)["host:0"]["priority"] is None
    assert pendulum(machine)[1] > 100_000

    # the last program takes the limit along
    machine.run("shimos rt priority host:0 90")
    remove(machine, "hog")
    machine.run(HOG)
    assert vcpus(machine)["host:0"]["priority"] is None
    for command, words in {
        "shimos rt priority host:7 5": ("no real-time program shares CPU 7",),
        "shimos rt priority host:x 5": ("there is no 'host:x'", "host:0, host:1"),
        "shimos rt priority host:0 100": ("0..=99",),
    }.items():
        refused(machine, command, *words)
    remove(machine, "hog")
    machine.assert_dmesg_clean()


def test_a_program_that_comes_at_any_moment(fresh_machine: Machine) -> None:
    """Also while Linux is in the interrupt that is about to wake the task, and took it when nobody wanted the CPU."""
    machine = fresh_machine
    rt.spin(machine)
    # by and by it comes at each microsecond of the pendulum's millisecond
    machine.run(rt_command("busy-endless", name="hog", cpu="0", more="--budget 50%/1337us --priority 50"))
    machine.run("shimos rt priority host:0 90")
    stands, late = pendulum(machine, seconds=3)
    assert stands and late <= 100, late
    remove(machine, "hog")
    machine.assert_dmesg_clean()


def test_an_interrupt_waits_for_a_return(fresh_machine: Machine) -> None:
    """Linux, with interrupts off, goes on before a program for an interrupt's sake, and returns from a fault before it has that."""
    machine = fresh_machine
    traffic.load(machine, "shimos_layer_test")
    rt.spin(machine)
    machine.run(rt_command("busy-endless", name="hog", cpu="0", more="--budget 50%/10ms --priority 50"))
    machine.run("shimos rt priority host:0 90")
    before = vcpus(machine)["hog:0"]["masked"]
    machine.run("echo fault 0 5000 20 >/proc/layer", timeout=120)
    # the program had the CPU in between
    assert vcpus(machine)["hog:0"]["masked"] > before
    remove(machine, "hog")
    machine.assert_dmesg_clean()
