"""A long mixed load on programs in kernel mode: `./test tests/system/soak/test_kml.py`, not part of `./test`.

SHIMOS_SOAK_MINUTES says how long, 60 unless told; both kernels take turns.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable
from time import monotonic

from lab import progress
from lab.machine import Machine
from lab.stage import kml, kml_load, kml_programs
from lab.stage.kml import KERNEL, PROGRAMS, USER
from lab.stage.partitions import WAIT_FOR

MINUTES = float(os.environ.get("SHIMOS_SOAK_MINUTES", "60"))
#: Of a machine, before the other kernel's.
TURN = min(MINUTES / 2, 10) * 60
#: Seconds of load in a round, in which all of the below happens.
ROUND = 60
PORT = 7001
SEED = 1003


def real(machine: Machine) -> None:
    """Check that real programs find in kernel mode what they find in user mode."""
    kml_programs.sqlite(machine)
    assert kml_programs.redis(machine, KERNEL) == kml_programs.redis(machine, USER)


def storm(machine: Machine) -> None:
    kml_load.storm(machine, 4)


#: What happens to trusted programs in each round, in random order.
EVENTS: tuple[Callable[[Machine], None], ...] = (
    *(storm, kml_load.give_up, real, kml_load.probe, kml_load.move_cpus, kml_load.eat_memory, kml_load.try_unload),
)


def serve(machine: Machine) -> str:
    """Start a trusted Redis that is asked without end; returns its process id."""
    server = kml_programs.start_redis(machine, KERNEL, PORT)
    machine.run(f"{USER} redis-benchmark -p {PORT} -c 4 -t set,get,lpush,lpop -l -q >/dev/null 2>&1 &")
    return server


def rounds(machine: Machine, moments: random.Random, end: float) -> int:
    """Do rounds until the end, at least one; returns how many."""
    server = serve(machine)
    for number in itertools.count(1):
        kml_load.begin(machine, ROUND)
        events = moments.sample(EVENTS, len(EVENTS))
        for event in events:
            progress.say(f"round {number}: {event.__name__}")
            event(machine)
            assert server in machine.run(f"{PROGRAMS}/kml_call tasks").lines, "the server is gone or not trusted"
        kml_load.end(machine, timeout=ROUND * 10)
        kml.assert_clean(machine)
        if monotonic() > end:
            break
    machine.run(f"pkill -x redis-benchmark; kill {server}; {WAIT_FOR} exit {server}")
    assert "BUG REPORT" not in machine.run(f"cat /tmp/{PORT}.log").output
    machine.run("rmmod shimos_kml")
    return number


def test_soak() -> None:
    """Nothing fails, nothing is left, and the kernels' logs are clean."""
    moments = random.Random(SEED)
    end, done = monotonic() + MINUTES * 60, dict.fromkeys(("6.12", "6.1"), 0)
    for kernel in itertools.cycle(done):
        if monotonic() > end and all(done.values()):
            break
        with kml.make(kernel=kernel, disks=[kml.ROOT_DISK]) as machine:
            kml.mount_root(machine)
            kml.prepare(machine)
            done[kernel] += rounds(machine, moments, min(end, monotonic() + TURN))
            kml.assert_clean(machine)
    print(f"rounds: {done}")
