"""A CPU of the host's that is lost, and what the layer knows of its program after that, read from outside."""

from __future__ import annotations

import re
import time

from lab.machine import Machine

#: Where struct layer_guest_shared has its counts of deadlines, and struct layer_late, in words of 8 bytes.
RT, LATE = 12, 28
STATE, TIMERS, PAST = RT, RT + 8, RT + 10
COUNT, MOST, BUCKETS = LATE, LATE + 2, LATE + 4
#: Where struct layer_shared says that its CPU has gone.
GONE = 7
#: LAYER_LATE_BUCKETS and LAYER_LATE_STEPS.
_BUCKETS, STEPS = 545, 32
WORDS = BUCKETS + (_BUCKETS + 1) // 2


def physical(machine: Machine, address: int) -> int:
    """Return where an address of the host's kernel is in memory.

    A program that has the CPU just now does not have it in its memory, nor does the layer.
    """
    deadline = time.monotonic() + 60
    while not (found := re.search("gpa: 0x([0-9a-f]+)", machine.emulator.hmp(f"gva2gpa {address:#x}"))):
        assert time.monotonic() < deadline, f"nobody has {address:#x} in memory"
    return int(found[1], 16)


def words(machine: Machine, place: int, count: int = WORDS) -> list[int]:
    """Read memory of the machine from outside."""
    text = machine.emulator.hmp(f"xp/{count}gx {place:#x}")
    return [int(word, 16) for line in text.splitlines() for word in re.findall(r"0x(\w{16})", line.split(":", 1)[1])]


def buckets(page: list[int]) -> list[int]:
    """Return how many deadlines were how late, of what ``words()`` has read of a program's page."""
    return [half for word in page[BUCKETS:] for half in (word & 0xFFFFFFFF, word >> 32)][:_BUCKETS]


def shared_page(machine: Machine) -> int:
    """Return where the layer and the host share what they know of the first program."""
    return _pointed(machine, "image_guests")


def host_page(machine: Machine) -> int:
    """Return where they share what they know of the host's first CPU."""
    return _pointed(machine, "image_host_pages")


def _pointed(machine: Machine, symbol: str) -> int:
    pointer = int(machine.run(f"grep ' {symbol}' /proc/kallsyms").output.split()[0], 16)
    return physical(machine, words(machine, physical(machine, pointer), 1)[0])


def lose(machine: Machine, cpu: int) -> None:
    """Let a CPU have a triple fault; whoever had it never comes back.

    Linux would look for that CPU with interrupts off, for seconds at a time, if it were not told otherwise.
    """
    module = f"/usr/lib/shimos-test/{machine.versions[machine.flavour]}/shimos_astray.ko"
    machine.run("echo 1 >/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress")
    machine.run(f"insmod {module}")
    # a moment later, when this shell has answered
    machine.run(f"(sleep 0.2; taskset -c {cpu} sh -c 'echo triple >/proc/astray') >/dev/null 2>&1 &")
