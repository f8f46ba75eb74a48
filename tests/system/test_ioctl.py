"""The ioctl interface under nonsense."""

from __future__ import annotations

from lab.machine import Machine
from lab.stage.partitions import Resources, start
from tests.support.tiers import rounds

FUZZ = "/usr/lib/shimos-test/ioctl_fuzz"


def test_nonsense_without_partitions(machine: Machine) -> None:
    before = Resources(machine)
    for seed in range(rounds(4, 2)):
        result = machine.run(f"{FUZZ} {seed} 3000", timeout=300)
        assert "3000 random calls, 0 failures" in result.output
    before.assert_back()
    machine.assert_dmesg_clean()


def test_nonsense_beside_a_partition(fresh_machine: Machine) -> None:
    """Ids that exist: it may be killed or removed, and nothing else happens."""
    before = Resources(fresh_machine)
    start(fresh_machine)
    for seed in range(3):
        result = fresh_machine.run(f"{FUZZ} {seed} 3000", timeout=300)
        assert "3000 random calls, 0 failures" in result.output
    assert "web: stopped" in fresh_machine.dmesg(), "no call met the partition"
    fresh_machine.run("shimos rm --force web", check=False)
    before.assert_back()
    fresh_machine.assert_dmesg_clean()


def test_only_root_opens_the_device(machine: Machine) -> None:
    assert machine.run("stat -c %a%U /dev/shimos").output.strip() == "600root"
