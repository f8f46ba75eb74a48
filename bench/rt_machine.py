"""The machine of `bench/rt`, and what runs on it."""

from __future__ import annotations

from collections.abc import Sequence

from bench.rt_cyclictest import cyclictest
from bench.rt_figures import IDLE, MASKED, WORK
from lab.devices import Disk
from lab.machine import Machine
from lab.stage import rt, traffic

#: Seconds of this computer that one of the machine's may take.
SLOWEST = 120

IMAGE = "/root/latency.elf"
_MASK = f"{rt.UNTIL_END}; do echo mask 0 2000 50 >/proc/layer; done"
BACKGROUND: dict[str, tuple[str, ...]] = {IDLE: (), WORK: (rt.WORK,), MASKED: (rt.WORK, _MASK)}


def machine_of(flavour: str, extra: Sequence[str] = (), kind: type[Machine] = Machine) -> Machine:
    """Return a machine with one CPU, without KLoader."""
    disks = [Disk("bench-rt", cyclictest)]
    return kind(kernel=flavour, partitions=[], cpus=1, icount=True, load=False, disks=disks, extra=extra)


def prepare(machine: Machine) -> None:
    """Let its clock go by instructions only, and have the module that keeps interrupts off."""
    machine.run(f"mount -o ro {machine.disk('bench-rt')} /mnt && modprobe shimos_spumone")
    traffic.load(machine, "shimos_layer_test")
    rt.spin(machine)


def start_ctl(machine: Machine, what: str = IMAGE) -> None:
    """Start a real-time program as users do."""
    machine.run(f"shimos run ctl --share-cpus 0 --memory 8M --kernel {what}", timeout=SLOWEST)


def remove_ctl(machine: Machine) -> None:
    """Take it away."""
    machine.run("shimos rm --force ctl", timeout=SLOWEST)
