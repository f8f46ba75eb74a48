"""Several real-time programs on a CPU, and programs that go from one CPU to another while they run."""

from __future__ import annotations

import json
import random
import re

import pytest

from lab.build import RT_ACTIVATIONS
from lab.machine import Machine
from lab.stage import rt
from lab.stage.partitions import PROGRAMS, Resources, refused, remove, show, start, wait_state
from lab.stage.rt import rt_command, vcpus
from tests.support.tiers import late, rounds

pytestmark = [pytest.mark.machine(one_thread=True), late("where vCPUs go by command; test_rt.py runs them")]
#: Moves of one command to the machine, when there are many.
AT_ONCE = 100
#: Talks to ``talk`` all the time, and notes what has no answer.
PING = f"{rt.UNTIL_END}; do shimos ping talk --count 10 --interval 0 || echo lost >>/tmp/lost; done"


def console(machine: Machine, name: str) -> str:
    return machine.run(f"shimos logs --console {name}").output


def until(machine: Machine, condition: str) -> None:
    """Wait until a command succeeds."""
    machine.run(f"until {condition}; do sleep 0.1; done", timeout=120)


def counted(machine: Machine, name: str, least: int) -> None:
    """Wait until a program has had so many interrupts of its timer."""
    until(
        machine, f"shimos rt --json | grep -A 12 '\"{name}:0\"' | awk -F '[:,]' '/timers/ {{ exit !($2 >= {least}) }}'"
    )


@pytest.mark.machine(cpus=1, icount=True)
def test_priorities(fresh_machine: Machine) -> None:
    """A program that is always at work does not delay one of a higher priority, and gets what that one leaves.

    Time goes by instructions here, and an instruction is a cycle.
    """
    machine = fresh_machine
    rt.spin(machine)
    machine.run(rt_command("busy-endless", name="low", cpu="0", more="--budget 40%/5ms --priority 10"))
    machine.run(rt_command("latency", name="high", cpu="0", more="--budget 40%/5ms --priority 90"))
    until(machine, "shimos ls | grep -q '^high .*stopped'")
    told = {key: int(value) for key, value in re.findall(r"# (\w+): (\d+)", console(machine, "high"))}
    assert told == {"Total": RT_ACTIVATIONS, "Overflows": 0, "Missed": 0, "Early": 0, "Strays": 0}
    late = json.loads(machine.run("shimos rt latency high --json").output)
    assert late["count"] == RT_ACTIVATIONS and late["cycles"]["max"] <= 500
    now = vcpus(machine)
    assert list(now) == ["host:0", "high:0", "low:0"]
    assert (now["high:0"]["priority"], now["low:0"]["priority"]) == (90, 10)
    assert not now["high:0"]["throttled"] and now["low:0"]["throttled"]
    # it has had its share all the same
    uptime = show(machine, "low")["uptime_ns"]
    assert now["low:0"]["ran_ns"] == pytest.approx(0.4 * uptime, rel=0.05)
    machine.run("shimos rm --force low && shimos rm high")


def too_late(machine: Machine, name: str) -> int:
    """Return how many interrupts of its timer a program has had later than a high one ever has."""
    late = json.loads(machine.run(f"shimos rt latency {name} --json").output)
    return sum(bucket["count"] for bucket in late["buckets"] if bucket["from_cycles"] > 500)


@pytest.mark.machine(cpus=1, icount=True)
def test_another_priority(fresh_machine: Machine) -> None:
    """A program at 1 kHz waits for one that never halts, until it is the more urgent one; nothing of it is lost."""
    machine = fresh_machine
    rt.spin(machine)
    machine.run(rt_command("busy-endless", name="hog", cpu="0", more="--budget 40%/5ms --priority 90"))
    machine.run(rt_command("latency-endless", cpu="0", more="--budget 40%/5ms --priority 10"))
    counted(machine, "ctl", 300)
    # of each 5 ms it waits for 2
    assert too_late(machine, "ctl") > 50
    assert list(vcpus(machine)) == ["host:0", "hog:0", "ctl:0"]

    assert "ctl: priority 99, before 10" in machine.run("shimos rt priority ctl 99").output
    late, now = too_late(machine, "ctl"), vcpus(machine)
    assert list(now) == ["host:0", "ctl:0", "hog:0"]
    assert (now["ctl:0"]["priority"], show(machine, "ctl")["priority"]) == (99, 99)
    counted(machine, "ctl", now["ctl:0"]["timers"] + 300)
    assert too_late(machine, "ctl") == late
    # the other one has its share all the same
    assert vcpus(machine)["hog:0"]["throttled"] > now["hog:0"]["throttled"]

    # it stays when it is started again
    machine.run("shimos kill ctl && shimos restart ctl")
    counted(machine, "ctl", 300)
    assert vcpus(machine)["ctl:0"]["priority"] == 99 and not too_late(machine, "ctl")
    # and can be another one before that
    machine.run("shimos stop ctl && shimos rt priority ctl:0 1 && shimos restart ctl")
    counted(machine, "ctl", 300)
    assert vcpus(machine)["ctl:0"]["priority"] == 1 and too_late(machine, "ctl") > 50

    for command, words in {
        "shimos rt priority ctl 0": ("cannot have priority 0", "host"),
        "shimos rt priority ctl 100": ("0..=99",),
        "shimos rt priority nobody 5": ("no partition 'nobody'", "hog, ctl"),
    }.items():
        refused(machine, command, *words)
    assert vcpus(machine)["ctl:0"]["priority"] == 1
    for name in ("ctl", "hog"):
        machine.run(f"shimos rm --force {name}")
    machine.assert_dmesg_clean()


def test_budgets(machine: Machine) -> None:
    """What the programs of a CPU have together leaves Linux enough."""
    before = Resources(machine)
    machine.run(rt_command("busy-endless", name="one", more="--budget 40%/5ms"))
    machine.run(rt_command(name="two", more="--budget 40%/5ms"))
    ran = vcpus(machine)["one:0"]["ran_ns"]
    machine.run("shimos kill two")
    assert show(machine, "one")["state"] == "running" and vcpus(machine)["one:0"]["ran_ns"] > ran
    # that of one that does not run is still its own
    refused(machine, rt_command(name="three", more="--budget 20%"), "CPU 1", "80 % of it already", "95 %")
    refused(machine, rt_command(name="three"), "95 % more", "smaller budgets")
    machine.run(rt_command(name="three", more="--budget 15%"))
    for option in ("--priority 0", "--priority 100"):
        refused(machine, rt_command(name="four", more=option), "1..=99")
    refused(machine, "shimos run web --cpuset 2 --memory 512M --priority 5", "--priority")
    for name in ("one", "two", "three"):
        remove(machine, name)
    assert vcpus(machine) == {}
    before.assert_back()
    machine.assert_dmesg_clean()


def test_moves(machine: Machine) -> None:
    """A program goes on on another CPU, with its timer and its channel, and nothing of it is lost."""
    before = Resources(machine)
    machine.run(rt_command("echo", name="talk", more="--budget 40%"))
    machine.run(rt_command(more="--budget 40%"))
    assert "on CPU 0, after" in machine.run("shimos rt move ctl 0").output
    now = vcpus(machine)
    assert list(now) == ["host:0", "ctl:0", "host:1", "talk:0"]
    assert (now["ctl:0"]["core"], now["ctl:0"]["moves"]) == (0, 1)
    counted(machine, "ctl", now["ctl:0"]["timers"] + 100)
    # who talks to it does not notice
    machine.run("shimos ping talk --count 5 && shimos rt move talk 0 && shimos ping talk --count 5", timeout=60)
    assert list(vcpus(machine)) == ["host:0", "talk:0", "ctl:0"]
    # CPU 1 is nobody's but the host's again, and can be a partition's
    start(machine, cpus="1", memory="512M")
    for command, words in {
        "shimos rt move ctl 1": ("CPU 1 belongs to another partition",),
        "shimos rt move ctl 0": ("shares CPU 0 already",),
        "shimos rt move ctl 77": ("CPU 77 does not exist",),
        "shimos rt move host:0 1": ("CPU 1 is not online",),
        "shimos rt move web 0": ("CPUs of its own",),
        "shimos rt priority web 5": ("CPUs of its own",),
        "shimos rt move nobody 0": ("nobody",),
    }.items():
        refused(machine, command, *words)
    remove(machine, "web")
    # what they would have together is asked for first, and then nothing has changed
    machine.run(rt_command(name="third", cpu="1", more="--budget 60%"))
    refused(machine, "shimos rt move ctl 1", "60 % of it already", "40 % more")
    assert vcpus(machine)["ctl:0"]["core"] == 0
    # one that does not run goes, too; and one that asked to stop there does
    machine.run(
        "shimos stop ctl && shimos rt move ctl 2 && shimos restart ctl && shimos rt move ctl 3 && shimos stop ctl"
    )
    assert show(machine, "ctl")["cause"] == "poweroff"
    for name in ("ctl", "talk", "third"):
        remove(machine, name)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_a_protected_one(machine: Machine) -> None:
    """It goes, too; wherever it is, the host cannot touch it, and is native again in the end."""
    before = Resources(machine)
    machine.run(rt_command(more="--protected"))
    for cpu in (0, 2, 1):
        machine.run(f"shimos rt move ctl {cpu}")
        counted(machine, "ctl", vcpus(machine)["ctl:0"]["timers"] + 50)
    refused(machine, "shimos rt check ctl", "protected from the host")
    now = show(machine, "ctl")
    assert (now["state"], now["cpus"], now["faults"]) == ("running", [1], 0)
    remove(machine, "ctl")
    before.assert_back()
    machine.assert_dmesg_clean()


def move_some(machine: Machine, times: int, place: dict[str, int], cpus: list[int], chance: random.Random) -> None:
    """Move any of the programs to any other CPU, again and again; ``place`` follows."""
    moves = []
    for _ in range(times):
        name = chance.choice(list(place))
        place[name] = chance.choice([cpu for cpu in cpus if cpu != place[name]])
        moves.append(f"{name} {place[name]}")
    said = machine.run(f"echo {' '.join(moves)} | {PROGRAMS}/rt_moves", timeout=300).output
    assert said.strip() == str(times)


def assert_nothing_lost(machine: Machine) -> None:
    """Check what PING has noted."""
    assert machine.run("cat /tmp/lost 2>/dev/null", check=False).output == ""


def go_around(machine: Machine, times: int, chance: random.Random, *works: str) -> None:
    """Move programs with timers, tasks and messages around, while Linux works on all CPUs: all of it arrives."""
    cpus = machine.online_cpus()
    machine.run(rt_command("task", name="task", cpu="0", more="--budget 30%"))
    machine.run(rt_command("echo", name="talk", cpu="1", more="--budget 30%"))
    machine.run(rt_command(name="ctl", cpu="2", more="--budget 30%"))
    place = {"task": 0, "talk": 1, "ctl": 2}
    with rt.busy(machine, rt.WORK, PING, *works):
        for first in range(0, times, AT_ONCE):
            move_some(machine, min(AT_ONCE, times - first), place, cpus, chance)
    assert_nothing_lost(machine)
    now = vcpus(machine)
    assert {name: now[f"{name}:0"]["core"] for name in place} == place
    assert sum(now[f"{name}:0"]["moves"] for name in ("talk", "ctl")) >= times / 4
    wait_state(machine, "task", "stopped")
    assert "task fine" in console(machine, "task")
    counted(machine, "ctl", now["ctl:0"]["timers"] + 100)
    for name in place:
        remove(machine, name)
    machine.assert_dmesg_clean()


def test_many_moves(machine: Machine) -> None:
    go_around(machine, rounds(500, 20), random.Random(1))
