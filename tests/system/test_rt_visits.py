"""``shimos rt move host:1 0``: the host's own CPUs on other cores, beside real-time programs."""

from __future__ import annotations

import json

import pytest

from lab.machine import Machine
from lab.stage import rt
from lab.stage.partitions import refused
from lab.stage.rt import rt_command, vcpus
from tests.support.tiers import rounds

pytestmark = pytest.mark.machine(one_thread=True)


def test_beside_a_program(machine: Machine) -> None:
    """The host's CPU leaves a real-time program alone and comes back, protected or not; the last one's end brings it home."""
    nobody = "start a real-time program first"
    refused(machine, "shimos rt move host:1 0", nobody)
    for more in ("", "--protected"):
        machine.run(rt_command(more=f"--budget 40% {more}"))
        assert machine.run("shimos rt move host:1 0").output.startswith("host:1: on CPU 0, after ")
        where = {name: vcpu["core"] for name, vcpu in vcpus(machine).items()}
        assert where == {"host:0": 0, "host:1": 0, "ctl:0": 1}
        with rt.busy(machine, rt.WORK, rt.COMPILE):
            # the program goes where the CPU went, and another one comes
            machine.run("shimos rt move ctl 0")
            machine.run(rt_command(image="busy-endless", name="log", more="--budget 30%"))
            for _ in range(rounds(20, 2)):
                machine.run("shimos rt move host:1 1 && shimos rt move host:1 0 && shimos rt move host:0 1")
                machine.run("shimos rt move host:0 2 && shimos rt move host:0 0")
        before = json.loads(machine.run("shimos rt latency ctl --json").output)["count"]
        machine.run("shimos rm --force log")
        machine.run(
            f"until [ $(shimos rt latency ctl --json | sed -n 's/.*\"count\": \\([0-9]*\\).*/\\1/p' | head -n 1) -gt {before} ]; do sleep 0.1; done"
        )
        assert vcpus(machine)["host:1"]["core"] == 0 and vcpus(machine)["host:1"]["moves"] >= 1
        machine.run("shimos rm --force ctl")
        refused(machine, "shimos rt move host:1 0", nobody)
        assert not vcpus(machine)
    machine.assert_dmesg_clean()


def test_refusals(machine: Machine) -> None:
    machine.run(rt_command())
    for name, cpu, why in (
        ("host:x", 0, "there is no 'host:x'"),
        ("host:1", 77, "only CPUs up to 15 can move, and be moved to"),
        ("host:1", 9, "CPU 9 is not online"),
        ("host:9", 1, "CPU 9 is not online"),
    ):
        refused(machine, f"shimos rt move {name} {cpu}", why)
    assert vcpus(machine)["host:1"]["core"] == 1
    machine.run("shimos rm --force ctl")
