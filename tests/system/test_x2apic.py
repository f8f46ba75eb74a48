"""Partitions on a host in x2APIC mode, with interrupt remapping: tests of other modules, on such a machine."""

from __future__ import annotations

import pytest

from lab.devices import Nic
from lab.machine import Machine
from lab.stage.lan import two_partitions
from lab.stage.partitions import Resources, remove, start
from tests.support.machines import X2APIC
from tests.support.tiers import REPETITION
from tests.system import test_disks, test_networks
from tests.system.test_disks import test_data as test_disk_data
from tests.system.test_guarded import test_several_cpus
from tests.system.test_ikc import test_bells_follow_their_cpus, test_packets_each_way
from tests.system.test_life import test_ends_are_contained, test_killed_while_booting, test_three_kernels

#: They are collected here, too, and get this module's machine.
COLLECTED = (
    test_ends_are_contained,
    test_killed_while_booting,
    test_three_kernels,
    test_packets_each_way,
    test_bells_follow_their_cpus,
    test_disk_data,
    test_several_cpus,
)
#: Of the register that says where the APIC is, and its mode.
MODE = 1 << 10
pytestmark = pytest.mark.machine(
    one_thread=True,
    disks=test_disks.pytestmark.kwargs["disks"],
    nics=[Nic(), Nic("vmxnet3")],
    **X2APIC,
)


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


def test_packets_of_a_network(fresh_machine: Machine) -> None:
    """A network that the host and two partitions share carries data all ways."""
    lan = two_partitions(fresh_machine)
    for source, target in (("web", "host"), ("host", "web"), ("web", "db")):
        test_networks.test_data(lan, source, target)
