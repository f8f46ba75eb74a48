"""Partitions on a host in x2APIC mode, with interrupt remapping: its modes, and CPUs with long ids.

Tests of life, of communication, of disks and of networks run on such a machine anyway (pytest.mark.x2apic), and some of
them on an older one in test_xapic.py.
"""

from __future__ import annotations

import pytest

from lab.machine import Machine
from lab.spec import X2APIC
from lab.stage.partitions import Resources, refused, remove, run_command, start
from tests.support.tiers import REPETITION, everything, late, rounds

if everything():
    from tests.system.test_guarded import test_several_cpus  # noqa: F401  # to be collected
#: Of the register that says where the APIC is, and its mode.
MODE = 1 << 10
pytestmark = [pytest.mark.machine(one_thread=True, **X2APIC), late("what else is shown in that mode")]


@pytest.mark.parametrize("flavour", ["6.12", pytest.param("6.1", marks=REPETITION)])
def test_modes(machine: Machine, flavour: str) -> None:
    """The host is in x2APIC mode, also after its CPUs have been a partition's, and the partition in xAPIC mode."""
    before = Resources(machine)
    assert "x2apic enabled" in machine.dmesg().lower()
    modes = "modprobe msr; for cpu in $(seq 0 3); do od -An -tx8 -j 27 -N 8 /dev/cpu/$cpu/msr; done"
    was = machine.run(modes).lines
    assert all(int(mode, 16) & MODE for mode in was)
    start(machine, flavour=flavour)
    # the first says that a CPU began in that mode, the second that one was put into it
    said = machine.partition("web").run("dmesg").output.lower()
    assert "x2apic: enabled by bios" not in said and "x2apic enabled" not in said
    machine.run("shimos ping -c 3 web")
    machine.partition("web").close()
    remove(machine)
    assert machine.run(modes).lines == was
    before.assert_back()
    machine.assert_dmesg_clean()


#: A fifth CPU, whose id is 384: it is in the last of four sockets, and 65 cores of each take 7 bits.
FIFTH_CPU = (
    *("-smp", "4,maxcpus=260,sockets=4,cores=65,threads=1"),
    *("-device", "max-x86_64-cpu,socket-id=3,core-id=0,thread-id=0"),
)


@pytest.mark.machine.with_args(**X2APIC | {"extra": (*X2APIC["extra"], *FIFTH_CPU)})
def test_long_hardware_ids(fresh_machine: Machine) -> None:
    """A CPU that partitions can neither have nor ring: the host's bells are on others, wherever they are moved to."""
    machine = fresh_machine
    assert machine.online_cpus() == [0, 1, 2, 3, 4]
    refused(machine, run_command(machine, cpus="4"), "CPU 4 has APIC id 384", "below 254", "x2APIC", "another CPU")
    bells = machine.run("sed -n 's/^ *\\([0-9]*\\):.* shimos-.*/\\1/p' /proc/interrupts").output.split()
    assert len(bells) == 6
    places = f"for bell in {' '.join(bells)}; do cat /proc/irq/$bell/effective_affinity_list; done"
    assert sorted(set(machine.run(places).output.split())) == ["0", "1", "2", "3"]
    machine.run(f"for bell in {' '.join(bells)}; do echo 4 >/proc/irq/$bell/smp_affinity_list; done", check=False)
    assert "4" not in machine.run(places).output.split()
    for cpu in (3, 2, 1):
        machine.run(f"echo 0 >/sys/devices/system/cpu/cpu{cpu}/online")
        assert "4" not in machine.run(places).output.split()
    machine.assert_dmesg_clean()


# In its logical mode the emulator loses interrupts for a CPU behind a partition's (docs/lab.md).
@pytest.mark.machine.with_args(
    **X2APIC | {"extra": (*X2APIC["extra"], *FIFTH_CPU), "cmdline": f"{X2APIC['cmdline']} x2apic_phys"}
)
def test_partitions_beside_a_long_id(fresh_machine: Machine) -> None:
    """The host's devices interrupt a CPU with a long id, and partitions come and go beside it."""
    machine = fresh_machine
    before = Resources(machine)
    # the consoles' thread where their interrupts are (docs/lab.md)
    machine.run("taskset --pid --cpu-list 4 $(pgrep -x khvcd)")
    machine.run("for irq in /proc/irq/[0-9]*; do echo 4 >$irq/smp_affinity_list; done 2>/dev/null", check=False)
    # of the CPUs that are online there is a column each
    consoles = "awk 'NR == 1 {while ($++n != \"CPU4\");} /virtio/ {sum += $(n + 1)} END {print sum}' /proc/interrupts"
    for _ in range(rounds(30, 2)):
        start(machine)
        taken = int(machine.run(consoles).output)
        machine.run("taskset -c 4 shimos ping -c 20 -i 0 web")
        assert machine.partition("web").run("nproc").output == "2\n"
        assert int(machine.run(consoles).output) > taken
        machine.partition("web").close()
        remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()
