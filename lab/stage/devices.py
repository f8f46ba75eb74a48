"""What the host shares with partitions: disks and networks as ``shimos devices`` lists them."""

from __future__ import annotations

import json
from typing import Any

from lab.machine import Machine


def devices(machine: Machine) -> list[dict[str, Any]]:
    """Return all that the host shares."""
    found: list[dict[str, Any]] = json.loads(machine.run("shimos devices --json").output)["devices"]
    return found


def device(machine: Machine, name: str) -> dict[str, Any]:
    """Return the one device that is called so (a disk, an interface), or that this partition uses."""
    (found,) = [d for d in devices(machine) if name in (d["user_name"], d["name"])]
    return found
