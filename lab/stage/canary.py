"""Memory of the host that shows whether somebody has touched it."""

from __future__ import annotations

from lab.machine import Machine


def insmod_canary(machine: Machine) -> None:
    """Have pages of the host that nobody may touch."""
    machine.run(f"insmod /usr/lib/shimos-test/{machine.versions[machine.flavour]}/shimos_canary.ko")


def canary(machine: Machine) -> dict[str, str]:
    """Return where these are ("address", hexadecimal), and how many of their words are not as they were ("wrong")."""
    return dict(line.split() for line in machine.run("cat /proc/canary").output.splitlines())
