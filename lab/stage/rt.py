"""Real-time programs of the lab's, and what Linux does meanwhile, in tests and benchmarks."""

from __future__ import annotations

import json
from typing import Any

from lab.machine import Machine
from lab.stage.partitions import PROGRAMS

#: The work goes on until this file is there.
END = "/tmp/end"
UNTIL_END = f"while [ ! -e {END} ]"
#: Disk, files and forks, as in the paper's figures 6 and 7 (SPUMONE 2011).
WORK = (
    f"{UNTIL_END}; do dd if=/dev/zero of=/tmp/zeroes bs=64k count=64; sync;"
    " find / -xdev -type f | head -n 500 | xargs cat; /bin/true | cat; done"
)


def rt_command(image: str = "latency-endless", name: str = "ctl", cpu: str = "1", more: str = "") -> str:
    """Return the command line that starts a real-time program of the lab's."""
    return f"shimos run {name} --share-cpus {cpu} --memory 8M --kernel {PROGRAMS}/{image}.elf {more}".strip()


def vcpus(machine: Machine) -> dict[str, dict[str, Any]]:
    """Return who shares CPUs, by name, as ``shimos rt`` knows them."""
    return {vcpu["name"]: vcpu for vcpu in json.loads(machine.run("shimos rt --json").output)}
