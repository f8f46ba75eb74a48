"""``shimos rt policy``: where the host's CPUs are beside real-time programs (SPUMONE 2011, figure 2, 4.1.2 and 4.2.2)."""

from __future__ import annotations

import json

import pytest

from lab.machine import Machine
from lab.stage import rt, traffic
from lab.stage.partitions import refused
from lab.stage.rt import rt_command, vcpus
from tests.support.tiers import late, rounds

pytestmark = [pytest.mark.machine(one_thread=True), late("where vCPUs go by themselves; test_rt.py runs them")]


def policy(machine: Machine) -> str:
    found: str = json.loads(machine.run("shimos rt policy --json").output)["policy"]
    return found


def wait_for_turns(machine: Machine, count: int) -> None:
    """Wait until the program has used up its budget this often."""
    goal = vcpus(machine)["ctl:0"]["throttled"] + count
    machine.run(
        f"until [ $(shimos rt --json | sed -n 's/.*\"throttled\": \\([0-9][0-9]*\\).*/\\1/p') -ge {goal} ]; do sleep 0.1; done"
    )


def test_it_flees_and_comes_back(machine: Machine) -> None:
    """With each turn of the program it goes, under load, and nothing is lost; without the policy it stays."""
    assert policy(machine) == "fixed"
    refused(machine, "shimos rt policy nonsense", "possible values")
    machine.run(rt_command("busy-endless", more="--budget 40%/10ms"))
    assert machine.run("shimos rt policy lhp").output.startswith("lhp: ")
    with rt.busy(machine, rt.WORK, rt.COMPILE):
        moves = vcpus(machine)["host:1"]["moves"]
        goal = moves + rounds(2000, 200)
        machine.run(
            f"until [ $(shimos rt --json | grep -A 12 '\"host:1\"' | sed -n 's/.*\"moves\": \\([0-9]*\\).*/\\1/p') -ge {goal} ]; do sleep 0.1; done",
            timeout=300,
        )
    assert machine.run("shimos rt policy fixed").output.startswith("fixed: ")
    now = vcpus(machine)
    assert now["host:1"]["core"] == 1
    wait_for_turns(machine, 20)
    assert vcpus(machine)["host:1"]["moves"] == now["host:1"]["moves"]
    machine.run("shimos rm --force ctl")
    assert not vcpus(machine)
    machine.assert_dmesg_clean()


def ran_ns(machine: Machine, pid: str) -> int:
    return int(machine.run(f"cat /proc/{pid}/schedstat").output.split()[0])


def test_it_rests_elsewhere(machine: Machine) -> None:
    """While a program has its core for long, a CPU that has fled runs no tasks; at home and without the policy it does."""
    machine.run(rt_command("busy-endless", more="--budget 60%/500ms"))
    machine.run("shimos rt policy lhp")
    assert "shm-rest/1" in machine.run("cat /proc/*/comm", check=False).output
    pid = machine.run("taskset -c 1 sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!").output.strip()
    before = ran_ns(machine, pid)
    began = int(machine.run("date +%s%N").output)
    wait_for_turns(machine, 10)
    part = (ran_ns(machine, pid) - before) / (int(machine.run("date +%s%N").output) - began)
    machine.run(f"kill {pid}")
    # alone on its core for two fifths of the time; with turns on the other one, or all of it, it had far more
    assert 0.2 < part < 0.6, part
    machine.run("shimos rt policy fixed")
    assert "shm-rest" not in machine.run("cat /proc/*/comm", check=False).output
    machine.run("shimos rm --force ctl")
    machine.assert_dmesg_clean()


def test_where_it_flees_one_waits_for_it(machine: Machine) -> None:
    """It comes though the CPU there wants a lock that it has, in an interrupt that is not ended yet."""
    traffic.load(machine, "shimos_locked_entry")
    machine.run(rt_command("busy-endless", more="--budget 40%/10ms"))
    machine.run("shimos rt policy lhp")
    moves = vcpus(machine)["host:1"]["moves"]
    machine.run(f"echo hold 1 2 20000 {rounds(200, 20)} >/proc/locked_entry")
    assert vcpus(machine)["host:1"]["moves"] > moves + rounds(200, 20)
    assert int(machine.run("cat /proc/locked_entry").output) > rounds(100, 10)
    machine.run("shimos rt policy fixed")
    machine.run("shimos rm --force ctl && rmmod shimos_locked_entry")
    machine.assert_dmesg_clean()


def cores(machine: Machine) -> dict[str, int]:
    return {name: vcpu["core"] for name, vcpu in vcpus(machine).items() if name.startswith("host:")}


def test_spread_and_pack(machine: Machine) -> None:
    """They follow the programs, and nobody else moves them meanwhile."""
    machine.run(rt_command(more="--budget 40%"))
    machine.run("shimos rt policy spread")
    away = cores(machine)["host:1"]
    assert away != 1
    machine.run(rt_command(name="log", cpu=str(away), image="busy-endless", more="--budget 30%/10ms"))
    found = cores(machine)
    assert not {found["host:1"], found[f"host:{away}"]} & {1, away}
    machine.run("shimos rt move log 1")
    assert cores(machine)[f"host:{away}"] == away
    refused(machine, "shimos rt move host:1 1", "with 'fixed' they can be moved")
    machine.run("shimos rt policy pack")
    found = cores(machine)
    assert len(found) == int(machine.run("nproc").output) and set(found.values()) == {1}
    with rt.busy(machine, rt.WORK):
        machine.run(rt.COMPILE, timeout=300)
    machine.run("shimos rm --force log && shimos rm --force ctl")
    assert not vcpus(machine) and policy(machine) == "pack"
    machine.run(rt_command())
    assert set(cores(machine).values()) == {1}
    machine.run("shimos rt policy fixed")
    assert all(name == f"host:{core}" for name, core in cores(machine).items())
    machine.run("shimos rm --force ctl")
    machine.assert_dmesg_clean()


def masked(machine: Machine) -> int:
    """Return how often only the layer made the program wait, with Linux's interrupts off: under a load for that."""
    before = vcpus(machine)["ctl:0"]["masked"]
    with rt.busy(machine, f"taskset -c 1 sh -c '{rt.WORK}'"):
        for _ in range(rounds(10, 2)):
            machine.run("echo mask 1 2000 50 >/proc/layer", timeout=120)
    found: int = vcpus(machine)["ctl:0"]["masked"] - before
    return found


def test_the_kernel_stays_out(machine: Machine) -> None:
    """With user-only a program never meets Linux's kernel on its core; without it does."""
    traffic.load(machine, "shimos_layer_test")
    machine.run(rt_command())
    assert masked(machine) > 10
    assert machine.run("shimos rt policy user-only").output.startswith("user-only: ")
    moves = vcpus(machine)["host:1"]["moves"]
    assert masked(machine) == 0
    assert vcpus(machine)["host:1"]["moves"] > moves + 10
    machine.run(f"taskset -c 1 {rt.COMPILE}", timeout=300)
    machine.run("shimos rt policy fixed")
    assert masked(machine) > 10
    machine.run("shimos rm --force ctl")
    machine.assert_dmesg_clean()
