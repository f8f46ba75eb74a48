"""SPUMONE's layer and real-time partitions, again and again: `./test tests/system/soak/test_rt.py`, not part of `./test`.

SHIMOS_SOAK_LAUNCHES says how many launches, 1000 unless told; SHIMOS_SOAK_KILLS how many kills, 200;
SHIMOS_SOAK_MOVES how many moves from CPU to CPU, 10000; SHIMOS_SOAK_SEED when.
"""

from __future__ import annotations

import os
import random

import pytest

from bench.rt_cyclictest import cyclictest
from lab.devices import Disk
from lab.machine import Machine
from lab.stage.partitions import Resources, remove
from lab.stage.rt import UNTIL_END, rt_command
from tests.system.test_layer import LOAD, assert_balanced, counts, do, leave, load
from tests.system.test_rt_moves import go_around
from tests.system.test_rt_partitions import killed

LAUNCHES = int(os.environ.get("SHIMOS_SOAK_LAUNCHES", "1000"))
KILLS = int(os.environ.get("SHIMOS_SOAK_KILLS", "200"))
MOVES = int(os.environ.get("SHIMOS_SOAK_MOVES", "10000"))
SEED = int(os.environ.get("SHIMOS_SOAK_SEED", "2026"))
#: Launches between two looks at whether every interrupt arrived.
LOOK_EVERY = 50
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
    hackbench = f"{UNTIL_END}; do /mnt/usr/bin/hackbench -g 2 -l 200; done"
    go_around(fresh_machine, MOVES, random.Random(SEED), hackbench)
    before.assert_back()
