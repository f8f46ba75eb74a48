"""What a guard under a partition costs it: `bench/rt --guarded`.

The same partition, unguarded and guarded in turn, on a machine whose clock counts instructions.
All CPUs move that one clock, so the host idles meanwhile; what it does nevertheless only adds, and
is in both alike.  A read from a shared disk is both kernels' work, and that is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.compare import disks
from bench.rt_guarded_table import Reading, Rows, Work
from lab import progress
from lab.devices import Disk
from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.partitions import initrd_with, remove, show, start

#: Seconds of this computer for a command there.
_SLOWEST = 600
#: A partition of each kind is started so often, in turn: what is where in its memory differs a little.
STARTS = 3
#: Of each work after each start.
SAMPLES = 5

WORKS = (
    Work("getpid", "/micro getpid 100000"),
    Work("fork, exit, wait", "/micro fork 600"),
    Work("page fault", "/micro fault 20000"),
    Work("pipe round trip", "/micro pipe 2000"),
    Work("read 4 KiB of a shared disk", "/direct_io /dev/vda read 4096 1 1000"),
)


@dataclass(frozen=True)
class Stage:
    """The machine, and what partitions boot on it."""

    machine: Machine
    initrd: str


@contextmanager
def _stage(flavour: str) -> Iterator[Stage]:
    tools = Disk("bench-tools", disks.tools)
    with Machine(kernel=flavour, partitions=[flavour], cpus=2, icount=True, disks=[tools]) as machine:
        machine.run(f"mount -o ro {machine.disk('bench-tools')} /mnt")
        machine.run("modprobe shimos_backend && modprobe brd rd_nr=1 rd_size=16384")
        initrd = initrd_with(machine, flavour, {f"/{name}": f"/mnt/{name}" for name in ("micro", "direct_io")})
        yield Stage(machine, initrd)
        machine.assert_dmesg_clean()


@contextmanager
def _partition(stage: Stage, guarded: bool) -> Iterator[PartitionConsole]:
    machine = stage.machine
    more = f"--initrd {stage.initrd} --disk /dev/ram0 {'--guarded' if guarded else ''}"
    start(machine, flavour=machine.flavour, cpus="1", more=more)
    console = machine.partition("web", timeout=_SLOWEST)
    console.run("until [ -b /dev/vda ]; do sleep 0.1; done", timeout=_SLOWEST)
    # where a stack is decides how many page tables a fork copies
    console.run("echo 0 >/proc/sys/kernel/randomize_va_space", timeout=_SLOWEST)
    yield console
    console.close()
    remove(machine)


def sample(machine: Machine, console: PartitionConsole, work: Work) -> Reading:
    """Do it once."""
    before = show(machine)["exits"]
    text = console.run(work.command, timeout=_SLOWEST).output
    return Reading.of(text, show(machine)["exits"] - before)


def measure(flavour: str) -> Rows:
    """Measure all works, unguarded and guarded."""
    found: dict[Work, tuple[list[Reading], list[Reading]]] = {work: ([], []) for work in WORKS}
    with _stage(flavour) as stage:
        for number in range(2 * STARTS):
            guarded = number % 2
            with (
                progress.step(f"{flavour}: {'guarded' if guarded else 'unguarded'} partition"),
                _partition(stage, bool(guarded)) as console,
            ):
                for _ in range(SAMPLES):
                    for work in WORKS:
                        found[work][guarded].append(sample(stage.machine, console, work))
    return found
