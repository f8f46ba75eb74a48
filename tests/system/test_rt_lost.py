"""A CPU of the host's that has a triple fault, while real-time programs run: they go on."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from lab.machine import Machine
from lab.stage import rt
from lab.stage.partitions import refused
from lab.stage.rt import rt_command, vcpus
from lab.stage.rt_lost import COUNT, MOST, PAST, STATE, TIMERS, lose, shared_page, words
from tests.support.tiers import REPETITION, rare
from tests.system.test_rt_moves import counted

#: Its only CPU is lost, so nobody is there any more but the program; time jumps to its deadlines, whatever the computer does.
alone = pytest.mark.machine(cpus=1, icount=True, extra=("-icount", "sleep=off"))
#: CPU 1, which is lost, is kept free of Linux's work, as for a real-time program it often is: else Linux soon waits for it.
beside = pytest.mark.machine(cpus=2, icount=True, cmdline="isolcpus=domain,managed_irq,1 rcu_nocbs=1 irqaffinity=0")


def lateness(machine: Machine) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(machine.run("shimos rt latency ctl --json").output)
    return found


@alone
@rare("the next test has the same beside a CPU that is left")
def test_the_only_one(fresh_machine: Machine) -> None:
    """The program has its deadlines as before, none of them missed or late, though there is no Linux any more."""
    machine = fresh_machine
    rt.spin(machine)
    machine.run(rt_command(cpu="0"))
    counted(machine, "ctl", 100)
    page = shared_page(machine)
    before = words(machine, page)
    lose(machine, 0)
    deadline = time.monotonic() + 120
    while (now := words(machine, page))[TIMERS] < before[TIMERS] + 10_000:
        assert time.monotonic() < deadline, now
        time.sleep(0.1)
    assert (now[STATE], now[PAST]) == (before[STATE], before[PAST])
    # each has come, and at most so many instructions late
    assert now[COUNT] >= now[TIMERS] - 1 and now[MOST] <= 500, now


@beside
@pytest.mark.parametrize("more", ["", pytest.param("--protected", marks=REPETITION)], ids=["plain", "protected"])
def test_its_program_goes_on(fresh_machine: Machine, more: str) -> None:
    """At 1 kHz, and whoever wants to change something hears why that cannot be.  CPUs take turns here: that makes it late."""
    machine = fresh_machine
    # while CPUs sleep the clock follows the computer's
    rt.spin(machine)
    machine.run(rt_command(more=more))
    counted(machine, "ctl", 100)
    lose(machine, 1)
    machine.run("until dmesg | grep -q 'has had a triple fault'; do sleep 0.1; done", timeout=120)
    before, uptime = lateness(machine), float(machine.run("cut -d ' ' -f 1 /proc/uptime").output)
    counted(machine, "ctl", vcpus(machine)["ctl:0"]["timers"] + 500)
    after, took = lateness(machine), float(machine.run("cut -d ' ' -f 1 /proc/uptime").output) - uptime
    assert after["past"] == before["past"]
    assert after["count"] - before["count"] == pytest.approx(took * 1000, rel=0.4)

    now = vcpus(machine)
    assert (now["host:1"]["state"], now["ctl:0"]["state"]) == ("crashed", "running")
    log = machine.dmesg()
    assert "CPU 1 has had a triple fault at 0x" in log and "restart the machine" in log
    for command in (
        rt_command(name="other", cpu="0"),
        "shimos rt move ctl 0",
        "shimos rt move host:0 1",
        "shimos rt priority ctl 99",
        "shimos rt policy spread",
    ):
        refused(machine, command, "CPU 1 of the host has had a triple fault at 0x", "until the machine is restarted")
    # nobody can stop it, and its memory is not given away
    assert machine.run("shimos kill ctl", check=False, timeout=120).status
    assert lateness(machine)["count"] > after["count"]
    assert vcpus(machine)["ctl:0"]["state"] == "stuck"
