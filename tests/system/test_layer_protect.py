"""Memory that is hidden from Linux: an RTOS's, and the layer's own."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.machine import Machine
from tests.support.tiers import rounds
from tests.system.test_layer import LOAD, assert_balanced, counts, do, leave, load, said
from tests.system.test_rt import ENDED, IMAGES, MEMORY, beside, until_ended

pytestmark = pytest.mark.machine(one_thread=True, load=False)
#: What a wild write has in its upper half, as memory has it.
WILD = b"DLIW"
#: How a shell says that a program died of it.
SIGSEGV = 128 + 11
#: Of an entry of a page table.
ACCESSED_DIRTY = 1 << 5 | 1 << 6
#: What both use of a program's memory, besides the boot record: SHIMOS_SHARED_SIZE.
SHARED = 256 << 10


@contextmanager
def protected(machine: Machine) -> Iterator[None]:
    """Have the layer under CPU 1, and all CPUs protected from for a while; natively again afterwards."""
    load(machine)
    do(machine, "launch 1")
    do(machine, "protect")
    assert list(counts(machine)) == machine.online_cpus()
    yield
    do(machine, "unprotect")
    assert list(counts(machine)) == [1]
    assert hidden(machine) == []
    leave(machine, [1])


def hidden(machine: Machine) -> list[tuple[int, int]]:
    """Return where what is hidden begins, and how long each piece is."""
    found = re.findall(r"hidden=(\d+) size=(\d+)", machine.run("cat /proc/layer").output)
    return [(int(start), int(size)) for start, size in found]


def faults(machine: Machine) -> int:
    return sum(cpu["faults"] for cpu in counts(machine).values())


def contents(machine: Machine, directory: Path) -> dict[tuple[int, int], bytes]:
    """Return what is in hidden memory, as the emulator sees it."""
    found = {}
    for start, size in hidden(machine):
        machine.qmp("pmemsave", val=start, size=size, filename=str(directory / "memory"))
        found[start, size] = (directory / "memory").read_bytes()
    return found


def wild(machine: Machine, times: int) -> int:
    """Write wildly on all CPUs, so often each; how often altogether."""
    cpus = machine.online_cpus()
    each = " ".join(f"taskset -c {cpu} sh -c 'echo wild {times} >/proc/layer' & pids=\"$pids $!\";" for cpu in cpus)
    machine.run(f"pids=; {each} for pid in $pids; do wait $pid || exit; done", timeout=600)
    return times * len(cpus)


def only_used(before: bytes, after: bytes) -> bool:
    """Return whether the processor has only noted in a page table that pages were accessed or written."""
    entries = zip(struct.iter_unpack("<Q", before), struct.iter_unpack("<Q", after), strict=True)
    return all(not (was ^ now) & ~ACCESSED_DIRTY for (was,), (now,) in entries)


def test_wild_writes(machine: Machine, tmp_path: Path) -> None:
    """None arrives, each is a fault of its writer's, and nothing else happens."""
    with protected(machine), beside(machine, "hello"):
        # it has ended, and is still protected: nobody writes there any more
        until_ended(machine)
        before = contents(machine, tmp_path)
        met = faults(machine)
        written = wild(machine, rounds(250_000, 5_000))
        assert faults(machine) - met == written
        after = contents(machine, tmp_path)
        assert list(after) == list(before)
        # what each instance works with, and where the processor keeps it meanwhile
        changed = [
            place for place in after if after[place] != before[place] and not only_used(before[place], after[place])
        ]
        assert len(changed) <= 2 * len(counts(machine))
        assert not any(WILD in memory for memory in after.values())
        pieces = [size for _, size in after]
        # all of its memory but the boot record and what both use
        assert sum(sorted(pieces)[-2:]) >= MEMORY - SHARED - 8192
        assert max(pieces) not in [size for _, size in changed]
        assert sum(pieces) > MEMORY


def test_a_stray_write_ends_its_writer(fresh_machine: Machine) -> None:
    """Linux's kernel takes it for a fault of the task's, and goes on; so does the program."""
    machine = fresh_machine
    load(machine)
    do(machine, "launch 1")
    do(machine, "protect")
    do(machine, f"rt 1 {MEMORY} {IMAGES}/latency-endless.elf")
    assert machine.run("sh -c 'echo stray >/proc/layer'", check=False).status
    assert "general protection fault" in machine.dmesg()
    assert faults(machine) == 1
    # a program of the host's, by a mapping
    for how in ("read", "write"):
        assert machine.run(f"{IMAGES}/touch_page /proc/layer_memory {how}", check=False).status == SIGSEGV
    assert faults(machine) == 3
    timers = counts(machine)[1]["timers"]
    machine.run(f"while grep -q 'timers={timers} ' /proc/layer; do sleep 0.1; done")


def left(before: dict[str, int], after: dict[str, int]) -> int:
    """Return how often a CPU left Linux otherwise than by a call of ours: to look, or to be told what is hidden."""
    return (after["exits"] - before["exits"]) - (after["calls"] - before["calls"])


def test_cpus_that_only_see_less(machine: Machine) -> None:
    """They are not left while Linux works, its shared CPU is left as ever, and all can be shared meanwhile."""
    with protected(machine):
        before = counts(machine)
        with beside(machine, "latency-endless"):
            machine.run(LOAD.format(n=rounds(100, 20)), timeout=300)
            after = counts(machine)
        for cpu in (0, 2, 3):
            assert not left(before[cpu], after[cpu])
            assert not after[cpu]["interrupts"]
        assert_balanced(before[1], after[1])
        assert after[1]["interrupts"] > before[1]["interrupts"]
        assert not faults(machine)
        # shared, and only protected again
        do(machine, "launch 2")
        with beside(machine, "hello", 2):
            assert until_ended(machine, 2)["rt"] == ENDED
            wild(machine, 50)
        do(machine, "leave 2")
        last = counts(machine)
        machine.run(LOAD.format(n=10), timeout=300)
        assert not left(last[2], counts(machine)[2])
        do(machine, "leave 1")
        do(machine, "launch 1")


def test_cpus_come_and_go(machine: Machine) -> None:
    """A CPU that comes, again or for the first time, sees no more than the others."""
    online = "/sys/devices/system/cpu/cpu{}/online"
    machine.run(f"echo 0 >{online.format(3)}")
    with protected(machine), beside(machine, "latency-endless"):
        machine.run(f"echo 1 >{online.format(3)}")
        machine.run(f"echo 0 >{online.format(2)}")
        assert list(counts(machine)) == [0, 1, 3]
        machine.run(f"echo 1 >{online.format(2)}")
        assert list(counts(machine)) == [0, 1, 2, 3]
        assert machine.run(f"echo 0 >{online.format(1)}", check=False).status
        assert wild(machine, 50) == 200
        # while it is off, what it had goes, too
        machine.run(f"echo 0 >{online.format(2)}")
    machine.run(f"echo 1 >{online.format(2)}")


def test_no_nested_paging() -> None:
    """A processor without it."""
    with Machine(load=False, one_thread=True, extra=("-cpu", "max,-erms,-fsrm,-fsrs,-npt")) as machine:
        load(machine)
        assert "no nested page tables" in said(machine, "protect")
        assert counts(machine) == {}
        machine.assert_dmesg_clean()


def test_interrupts_around_an_exit(machine: Machine) -> None:
    """CPUs that are under the layer only to be protected from, and take their interrupts themselves, lose none."""
    with protected(machine):
        machine.run(f"({LOAD.format(n=100 * rounds(4, 1))}) >/dev/null 2>&1 & echo $! >/tmp/load")
        for _ in range(rounds(10, 2)):
            for cpu in (0, 2, 3):
                machine.run(f"echo exit {cpu} 1000 20 >/proc/layer")
        machine.run("while kill -0 $(cat /tmp/load) 2>/dev/null; do sleep 0.1; done", timeout=300)
