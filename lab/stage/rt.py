"""Real-time programs of the lab's, and what Linux does meanwhile, in tests and benchmarks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lab.machine import Machine
from lab.stage.partitions import PROGRAMS, WAIT_FOR

#: The work goes on until this file is there.
END = "/tmp/end"
UNTIL_END = f"while [ ! -e {END} ]"
#: Disk, files and forks, as in the paper's figures 6 and 7 (SPUMONE 2011).
WORK = (
    f"{UNTIL_END}; do dd if=/dev/zero of=/tmp/zeroes bs=64k count=64; sync;"
    " find / -xdev -type f | head -n 500 | xargs cat; /bin/true | cat; done"
)
#: A compiler at work.
COMPILE = "python3 -m compileall -q -f /usr/lib/python3*/json /usr/lib/python3*/email"
#: There as soon as ``spin()`` spins.
_SPINS = "/tmp/spins"
_SPIN = f"i=0; while :; do i=$((i+1)); [ $i != 1000 ] || : >{_SPINS}; done"
#: Seconds of this computer that it may take until all of it has ended.
_LAST = 1200


def spin(machine: Machine) -> None:
    """Keep Linux from sleeping: while it does, a clock that counts instructions follows the computer's.

    Whoever spins has gone around often enough when this returns: it does not wait for its pages any more.
    """
    machine.run(f"rm -f {_SPINS}; (nice -n 19 sh -c '{_SPIN}' >/dev/null 2>&1 &); {WAIT_FOR} file {_SPINS}")


@contextmanager
def awake(machine: Machine) -> Iterator[None]:
    """Insist that Linux does not sleep meanwhile; only with ``spin()``."""
    before = _sleeps(machine)
    yield
    slept = _sleeps(machine) - before
    if slept:
        raise AssertionError(f"Linux slept {slept} times, and the machine's clock followed this computer's meanwhile")


def _sleeps(machine: Machine) -> int:
    text = machine.run("grep idle_calls /proc/timer_list").output
    return sum(int(line.split()[-1]) for line in text.splitlines())


@contextmanager
def busy(machine: Machine, *works: str) -> Iterator[None]:
    """Let Linux do this meanwhile, each for as long as it goes or until END is there; it has ended then."""
    machine.run(f"rm -f {END} /tmp/load; touch /tmp/load")
    for work in works:
        machine.run(f"({work}) >/dev/null 2>&1 & echo $! >>/tmp/load")
    yield
    machine.run(f"touch {END}; [ ! -s /tmp/load ] || {WAIT_FOR} exit $(cat /tmp/load)", timeout=_LAST)


def rt_command(image: str = "latency-endless", name: str = "ctl", cpu: str = "1", more: str = "") -> str:
    """Return the command line that starts a real-time program of the lab's."""
    return f"shimos run {name} --share-cpus {cpu} --memory 8M --kernel {PROGRAMS}/{image}.elf {more}".strip()


def vcpus(machine: Machine) -> dict[str, dict[str, Any]]:
    """Return who shares CPUs, by name, as ``shimos rt`` knows them."""
    return {vcpu["name"]: vcpu for vcpu in json.loads(machine.run("shimos rt --json").output)["cpus"]}
