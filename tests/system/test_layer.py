"""SPUMONE's layer under CPUs of a running stock kernel: launched, at work, and gone again."""

from __future__ import annotations

import re

import pytest

from lab.machine import Machine
from tests.support.tiers import rounds

KINDS = ("LOC", "RES", "CAL", "IWI")
pytestmark = pytest.mark.machine(one_thread=True, load=False)


def load(machine: Machine) -> None:
    machine.run("modprobe shimos_spumone")
    machine.run(f"insmod /usr/lib/shimos-test/{machine.versions[machine.flavour]}/shimos_layer_test.ko")


def do(machine: Machine, command: str) -> None:
    machine.run(f"echo {command} >/proc/layer")


def counts(machine: Machine) -> dict[int, dict[str, int]]:
    """Return what the layer under each CPU has counted; nothing of CPUs without."""
    found = {}
    for line in machine.run("cat /proc/layer").lines:
        fields = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}
        if line.startswith("cpu=") and fields["under"]:
            found[fields["cpu"]] = fields
    return found


def assert_balanced(before: dict[str, int], after: dict[str, int]) -> None:
    """Check that Linux took each interrupt that the layer gave it, once."""
    for kind in KINDS:
        given, taken = (after[f"{kind}_{side}"] - before[f"{kind}_{side}"] for side in ("given", "taken"))
        assert given == taken, f"{kind} of CPU {after['cpu']}: given {given}, taken {taken}"
    assert not after["died"]


#: Forks, switches between CPUs, calls to other CPUs, and disk.
LOAD = (
    "for n in 1 2 3 4; do (i=0; while [ $i -lt {n} ]; do /bin/true | cat; i=$((i+1)); done) & done;"
    " find / -xdev -type f 2>/dev/null | head -2000 | xargs cat >/dev/null; wait"
)


def launch(machine: Machine, cpus: list[int]) -> None:
    for cpu in cpus:
        do(machine, f"launch {cpu}")


def leave(machine: Machine, cpus: list[int]) -> None:
    """Take the layer away, and check that Linux is itself again."""
    for cpu in cpus:
        do(machine, f"leave {cpu}")
    assert counts(machine) == {}
    machine.run(LOAD.format(n=20), timeout=300)
    machine.run("rmmod shimos_layer_test shimos_spumone")
    machine.assert_dmesg_clean()


def launch_and_leave(machine: Machine) -> None:
    """Launch and leave on every CPU in turn, then on all at once, under load; each interrupt arrives once."""
    load(machine)
    cpus = machine.online_cpus()
    for cpu in cpus:
        do(machine, f"launch {cpu}")
        assert list(counts(machine)) == [cpu]
        assert machine.diagnosis.on_a_layer()
        do(machine, f"leave {cpu}")
        assert not machine.diagnosis.on_a_layer()
    launch(machine, cpus)
    before = counts(machine)
    machine.run(LOAD.format(n=100 * rounds(4, 1)), timeout=300)
    after = counts(machine)
    for cpu in cpus:
        assert_balanced(before[cpu], after[cpu])
        assert after[cpu]["interrupts"] > before[cpu]["interrupts"] and after[cpu]["ticks"] > before[cpu]["ticks"]
    leave(machine, cpus)


def test_launch_and_leave(machine: Machine) -> None:
    launch_and_leave(machine)


@pytest.mark.machine(kernel="6.1", partitions=["6.1"], one_thread=True, load=False)
def test_older_kernel(fresh_machine: Machine) -> None:
    launch_and_leave(fresh_machine)


def test_interrupts_that_wait(machine: Machine) -> None:
    """While Linux keeps interrupts off, the layer gets them, and Linux has them all afterwards; NMIs, too."""
    load(machine)
    cpus = machine.online_cpus()
    launch(machine, cpus)
    before = counts(machine)
    machine.run(f"insmod /usr/lib/shimos-test/{machine.versions[machine.flavour]}/shimos_nmi_storm.ko")
    machine.run("for n in 0 1 2 3; do echo mask $n 2000 100 >/proc/layer & done; wait", timeout=120)
    nmis = int(machine.run("cat /sys/module/shimos_nmi_storm/parameters/nmis; rmmod shimos_nmi_storm").output)
    after = counts(machine)
    for cpu in cpus:
        assert_balanced(before[cpu], after[cpu])
        # a tick of 4 ms meets at least some of 100 times 2 ms
        assert after[cpu]["masked"] > before[cpu]["masked"] + 10
    assert nmis and sum(after[cpu]["nmis"] for cpu in cpus) >= nmis
    leave(machine, cpus)


def test_cpus_come_and_go(machine: Machine) -> None:
    """A CPU that goes off leaves the layer, and has it again when it comes back."""
    load(machine)
    launch(machine, [2, 3])
    for _ in range(rounds(10, 3)):
        machine.run("echo 0 >/sys/devices/system/cpu/cpu3/online")
        assert list(counts(machine)) == [2]
        machine.run("echo 1 >/sys/devices/system/cpu/cpu3/online")
        assert list(counts(machine)) == [2, 3]
    before = counts(machine)
    machine.run(LOAD.format(n=20), timeout=300)
    after = counts(machine)
    for cpu in (2, 3):
        assert_balanced(before[cpu], after[cpu])
    # one that is off has left already
    machine.run("echo 0 >/sys/devices/system/cpu/cpu3/online")
    do(machine, "leave 3")
    machine.run("echo 1 >/sys/devices/system/cpu/cpu3/online")
    leave(machine, [2])


def said(machine: Machine, command: str) -> str:
    """Return why the layer was refused."""
    assert machine.run(f"echo {command} >/proc/layer", check=False).status
    return machine.run("dmesg | grep 'layer:' | tail -n 1").output


def test_refusals(machine: Machine) -> None:
    load(machine)
    assert "CPU 77 is not online" in said(machine, "launch 77")
    # each that asks for it has to give it back
    do(machine, "launch 1")
    do(machine, "launch 1")
    do(machine, "leave 1")
    assert counts(machine)[1]["under"]
    assert machine.run("echo leave 2 >/proc/layer", check=False).status
    # it stays awake
    assert machine.run("echo freeze >/sys/power/state", check=False).status
    assert "the host cannot sleep while it shares a CPU" in machine.dmesg()
    leave(machine, [1])


def test_no_svm() -> None:
    """A processor without it."""
    with Machine(extra=("-cpu", "max,-erms,-fsrm,-fsrs,-svm")) as machine:
        load(machine)
        assert "this processor has no SVM" in said(machine, "launch 1")
        machine.assert_dmesg_clean()
