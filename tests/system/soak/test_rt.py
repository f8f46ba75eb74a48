"""SPUMONE's layer and real-time partitions, again and again: `./test tests/system/soak/test_rt.py`, not part of `./test`.

SHIMOS_SOAK_LAUNCHES says how many launches, 1000 unless told; SHIMOS_SOAK_KILLS how many kills, 200;
SHIMOS_SOAK_MOVES how many moves from CPU to CPU, 10000; SHIMOS_SOAK_MINUTES how long all of it
goes on together, 60; SHIMOS_SOAK_SEED when.
"""

from __future__ import annotations

import os
import random
from time import monotonic

import pytest

from bench.rt_cyclictest import cyclictest
from lab.devices import Disk
from lab.machine import Machine
from lab.stage import rt
from lab.stage.partitions import Resources, remove, show
from lab.stage.rt import UNTIL_END, rt_command, vcpus
from tests.system.test_layer import LOAD, assert_balanced, counts, do, leave, load
from tests.system.test_rt_moves import PING, assert_nothing_lost, counted, go_around, move_some
from tests.system.test_rt_partitions import killed

LAUNCHES = int(os.environ.get("SHIMOS_SOAK_LAUNCHES", "1000"))
KILLS = int(os.environ.get("SHIMOS_SOAK_KILLS", "200"))
MOVES = int(os.environ.get("SHIMOS_SOAK_MOVES", "10000"))
MINUTES = float(os.environ.get("SHIMOS_SOAK_MINUTES", "60"))
SEED = int(os.environ.get("SHIMOS_SOAK_SEED", "2026"))
#: Launches between two looks at whether every interrupt arrived.
LOOK_EVERY = 50
#: Linux's tasks on all CPUs, and messages between them.
HACKBENCH = f"{UNTIL_END}; do /mnt/usr/bin/hackbench -g 2 -l 200; done"
#: Of one round of all together.
MOVES_AT_ONCE = 20
#: The load goes on until it is told to stop.
LOAD_FOR_EVER = f"touch /tmp/busy; (while [ -e /tmp/busy ]; do {LOAD.format(n=50)}; done) >/dev/null 2>&1 &"
pytestmark = pytest.mark.machine(one_thread=True)


@pytest.mark.machine(one_thread=True, load=False)
def test_launches(fresh_machine: Machine) -> None:
    """The layer comes and goes under load, on any CPU, and so do the CPUs."""
    chance = random.Random(SEED)
    load(fresh_machine)
    cpus = fresh_machine.online_cpus()
    fresh_machine.run(LOAD_FOR_EVER)
    for first in range(0, LAUNCHES, LOOK_EVERY):
        do(fresh_machine, "launch 0")
        before = counts(fresh_machine)[0]
        words = []
        for _ in range(min(LOOK_EVERY, LAUNCHES - first)):
            cpu = chance.choice(cpus[1:])
            words.append(f"echo launch {cpu}")
            if chance.random() < 0.3:
                # off without the layer, on with it
                words += [f"echo {to} >/sys/devices/system/cpu/cpu{cpu}/online" for to in (0, 1)]
            words.append(f"echo leave {cpu}")
        script = " && ".join(word if ">" in word else f"{word} >/proc/layer" for word in words)
        fresh_machine.run(script, timeout=600)
        assert_balanced(before, counts(fresh_machine)[0])
        do(fresh_machine, "leave 0")
    fresh_machine.run("rm /tmp/busy; wait", timeout=300)
    leave(fresh_machine, [])


def test_kills(fresh_machine: Machine) -> None:
    """A program is killed at any moment of its life, and starts again as new."""
    before = Resources(fresh_machine)
    fresh_machine.run(rt_command())
    killed(fresh_machine, KILLS, random.Random(SEED))
    remove(fresh_machine, "ctl")
    before.assert_back()
    fresh_machine.assert_dmesg_clean()


@pytest.mark.machine(one_thread=True, disks=[Disk("rt-tests", cyclictest)])
def test_moves(fresh_machine: Machine) -> None:
    """Programs go from CPU to CPU at random, under hackbench: messages between tasks on all CPUs."""
    fresh_machine.run(f"mount -o ro {fresh_machine.disk('rt-tests')} /mnt")
    before = Resources(fresh_machine)
    go_around(fresh_machine, MOVES, random.Random(SEED), HACKBENCH)
    before.assert_back()


def restarted(machine: Machine, chance: random.Random) -> None:
    """End a program in one of the ways there are, at any moment, and start it again."""
    end = chance.choice(("kill", "stop"))
    machine.run(f"sleep {chance.uniform(0, 0.2):.3f}; shimos {end} victim && shimos restart victim", timeout=60)
    assert (show(machine, "victim")["state"], show(machine, "victim")["cause"]) == ("running", "none")


@pytest.mark.machine(one_thread=True, disks=[Disk("rt-tests", cyclictest)])
def test_all_together(fresh_machine: Machine) -> None:
    """Programs move, end, start and talk for an hour, while Linux works on all CPUs: nothing is lost."""
    machine, chance = fresh_machine, random.Random(SEED)
    machine.run(f"mount -o ro {machine.disk('rt-tests')} /mnt")
    before = Resources(machine)
    place = {"ctl": 0, "talk": 1, "victim": 2}
    for name, image in (("ctl", "latency-endless"), ("talk", "echo"), ("victim", "latency-endless")):
        machine.run(rt_command(image, name, str(place[name]), "--budget 30%"))
    rounds = 0
    with rt.busy(machine, rt.WORK, PING, HACKBENCH):
        end = monotonic() + MINUTES * 60
        while monotonic() < end:
            timers = vcpus(machine)["ctl:0"]["timers"]
            move_some(machine, MOVES_AT_ONCE, place, machine.online_cpus(), chance)
            restarted(machine, chance)
            counted(machine, "ctl", timers + 100)
            rounds += 1
    assert rounds
    assert_nothing_lost(machine)
    # restarts count anew, and those that only moved have gone all the ways
    assert sum(vcpus(machine)[f"{name}:0"]["moves"] for name in ("ctl", "talk")) > rounds
    for name in place:
        remove(machine, name)
    before.assert_back()
    machine.assert_dmesg_clean()
    print(f"{rounds} rounds of {MOVES_AT_ONCE} moves and an end of a program")
