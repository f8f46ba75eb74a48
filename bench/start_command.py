"""What `bench/start` starts, whether it takes the time or counts instructions."""

from __future__ import annotations

from lab.machine import LAB_INITRD, Machine

#: Waits for the first line, or a later one, that the init of the partition prints.
UNTIL_INIT = "shimos console web --read-only </dev/null | grep -q -m{count} lab-init:"


def command(machine: Machine, flavour: str) -> str:
    """Start a partition with the bare initrd."""
    return f"shimos run web --cpuset 2-3 --memory 1G --kernel {machine.vmlinuz(flavour)} --initrd {LAB_INITRD}"
