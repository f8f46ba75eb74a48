"""CPUs of the running kernel's on other cores than their own (SPUMONE 2011, section 3.2.4)."""

from __future__ import annotations

import random

import pytest

from lab.machine import Machine
from lab.stage.rt import UNTIL_END, busy
from tests.support.tiers import rare, rounds
from tests.system.test_layer import LOAD, assert_balanced, counts, do, launch, load

pytestmark = pytest.mark.machine(one_thread=True, load=False)


def end(machine: Machine, cpus: list[int]) -> None:
    """Bring all home and remove the layer; Linux goes on."""
    for cpu in cpus:
        do(machine, f"visit {cpu} {cpu}")
        do(machine, f"leave {cpu}")
    assert counts(machine) == {}
    machine.run(LOAD.format(n=20), timeout=300)
    machine.run("rmmod shimos_layer_test shimos_spumone")
    machine.assert_dmesg_clean()


def wander(machine: Machine, visits: int) -> None:
    """Let each CPU go anywhere, so often, under load; none of its interrupts is lost or comes twice."""
    load(machine)
    cpus = machine.online_cpus()
    launch(machine, cpus)
    before = counts(machine)
    machine.run(f"({LOAD.format(n=100 * rounds(4, 1))}) >/dev/null 2>&1 & echo $! >/tmp/load")
    choice = random.Random(15)
    for _ in range(visits):
        do(machine, f"visit {choice.choice(cpus)} {choice.choice(cpus)}")
    # all on one, until the load has ended
    for cpu in cpus:
        do(machine, f"visit {cpu} 0")
    machine.run("while kill -0 $(cat /tmp/load) 2>/dev/null; do sleep 0.1; done", timeout=300)
    after = counts(machine)
    for cpu in cpus:
        assert_balanced(before[cpu], after[cpu])
    end(machine, cpus)


@rare("test_levels has the visits of a CPU that stays")
def test_cpus_wander(machine: Machine) -> None:
    wander(machine, rounds(200, 20))


@pytest.mark.machine(kernel="6.1", partitions=["6.1"], one_thread=True, load=False)
@rare("test_layer.py has the layer under it")
def test_older_kernel(fresh_machine: Machine) -> None:
    wander(fresh_machine, rounds(200, 8))


def test_cpus_come_and_go(machine: Machine) -> None:
    """Others go off and come back while one is away; those that have to do with it stay."""
    load(machine)
    do(machine, "visit 1 0")
    before = counts(machine)
    for _ in range(rounds(10, 2)):
        machine.run("echo 0 >/sys/devices/system/cpu/cpu3/online")
        machine.run("echo 1 >/sys/devices/system/cpu/cpu3/online")
        machine.run(LOAD.format(n=5), timeout=300)
    for cpu in (0, 1):
        assert machine.run(f"echo 0 >/sys/devices/system/cpu/cpu{cpu}/online", check=False).status, cpu
    assert "CPU 1 stays: one of the host's CPUs is not on its own core" in machine.dmesg()
    after = counts(machine)
    for cpu in (0, 1):
        assert_balanced(before[cpu], after[cpu])
    do(machine, "visit 1 1")
    end(machine, [])


def test_alone_again_it_halts_by_itself(machine: Machine) -> None:
    """One that went while it shared its core is not left for each halt when it is home again, and alone.

    The layer would take it for halted when the next one comes, and nobody wakes a CPU that Linux knows to be awake.
    """
    load(machine)
    launch(machine, [0, 1])
    with busy(machine, f"taskset -c 0 sh -c '{UNTIL_END}; do :; done'"):
        # the busy one is on 1 when that goes again, and is home before that is
        for command in ("visit 1 0", "visit 0 1", "visit 0 0", "visit 1 1"):
            do(machine, command)
        before = counts(machine)[1]
        machine.run("for n in $(seq 50); do taskset -c 1 true; done")
        after = counts(machine)[1]
    exits, interrupts, calls = (after[what] - before[what] for what in ("exits", "interrupts", "calls"))
    assert exits - calls < 2 * interrupts, f"{exits} exits, {interrupts} of them for interrupts and {calls} for calls"
    end(machine, [0, 1])


def test_nmis_find_it(machine: Machine) -> None:
    """NMIs to CPUs that are elsewhere arrive."""
    load(machine)
    do(machine, "visit 1 0")
    do(machine, "visit 3 2")
    name = "/sys/module/shimos_nmi_storm/parameters/nmis"
    machine.run(f"insmod /usr/lib/shimos-test/{machine.versions[machine.flavour]}/shimos_nmi_storm.ko")
    machine.run(LOAD.format(n=50), timeout=300)
    nmis = int(machine.run(f"cat {name}; rmmod shimos_nmi_storm").output)
    found = counts(machine)
    assert nmis and sum(found[cpu]["nmis"] for cpu in found) >= nmis
    for cpu in (1, 3):
        do(machine, f"visit {cpu} {cpu}")
    end(machine, [])


@pytest.mark.machine(cmdline="pci=nomsi", one_thread=True, load=False)
def test_levels(fresh_machine: Machine) -> None:
    """Interrupts that are levels find a CPU that is elsewhere, and end at its home when they end there."""
    machine = fresh_machine
    load(machine)
    # the root's disk's interrupts, as levels, to each CPU in turn, which is elsewhere then
    disk = machine.run("basename $(readlink -f /sys/block/vda/device)").output.strip()
    irq = int(machine.run(f"grep -m 1 -w 'fasteoi.*{disk}' /proc/interrupts").output.split(":")[0])
    read = "echo 3 >/proc/sys/vm/drop_caches; find / -xdev -type f 2>/dev/null | head -300 | xargs cat >/dev/null"

    def comes(cpu: int) -> None:
        came = f"awk '/^ *{irq}:/ {{ print ${cpu + 2} }}' /proc/interrupts"
        machine.run(f"was=$({came}); until [ $({came}) -gt $was ]; do {read}; done", timeout=120)

    for cpu in machine.online_cpus():
        machine.run(f"echo {cpu} >/proc/irq/{irq}/smp_affinity_list")
        comes(cpu)  # at home first: Linux changes a line's CPU when it interrupts
        do(machine, f"visit {cpu} {(cpu + 1) % 4}")
        comes(cpu)
        # home in the middle of them
        machine.run(f"({read}) & echo $! >/tmp/load")
        for _ in range(rounds(20, 4)):
            do(machine, f"visit {cpu} {cpu}")
            do(machine, f"visit {cpu} {(cpu + 1) % 4}")
        machine.run("while kill -0 $(cat /tmp/load) 2>/dev/null; do sleep 0.1; done", timeout=300)
        do(machine, f"visit {cpu} {cpu}")
    end(machine, [])
