"""What the host shares with partitions: disks and networks as ``shimos devices`` lists them."""

from __future__ import annotations

import json
from typing import Any

from lab.machine import Machine
from lab.stage.partitions import PROGRAMS

#: Before a command that needs virtiofsd, which is beside the tests' programs.
WITH_DAEMON = f"PATH=$PATH:{PROGRAMS}"
#: The process of each device that a program serves.
SERVERS = "pgrep -f '^shimos serve'"


def devices(machine: Machine) -> list[dict[str, Any]]:
    """Return all that the host shares."""
    found: list[dict[str, Any]] = json.loads(machine.run("shimos devices --json").output)["devices"]
    return found


def device(machine: Machine, name: str) -> dict[str, Any]:
    """Return the one device that is called so (a disk, an interface), or that this partition uses."""
    (found,) = [d for d in devices(machine) if name in (d["user_name"], d["name"])]
    return found


def until_unserved(machine: Machine) -> None:
    """Wait until no device has a process any more."""
    machine.run(f"while {SERVERS} || pgrep -x virtiofsd; do sleep 0.05; done")
