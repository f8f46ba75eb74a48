"""Partitions on a host in xAPIC mode, without interrupt remapping: tests of other modules, on an older machine."""

from __future__ import annotations

import pytest

from lab.machine import Machine
from lab.stage.lan import two_partitions
from tests.support.tiers import late
from tests.system import test_disks, test_networks
from tests.system.test_disks import test_data as test_disk_data
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
)
pytestmark = [
    pytest.mark.machine(disks=test_disks.MACHINE.kwargs["disks"], **test_networks.MACHINE.kwargs),
    late("tests of other files again, on another machine"),
]


def test_packets_of_a_network(fresh_machine: Machine) -> None:
    """A network that the host and two partitions share carries data all ways."""
    lan = two_partitions(fresh_machine)
    for source, target in (("web", "host"), ("host", "web"), ("web", "db")):
        test_networks.test_data(lan, source, target)
