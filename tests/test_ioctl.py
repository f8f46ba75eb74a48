"""The ioctl interface under nonsense."""

from __future__ import annotations

from support import Resources, start

from lab.machine import Machine

FUZZ = "/usr/lib/shimos-test/ioctl_fuzz"


def test_nonsense_without_partitions(shared_machine: Machine) -> None:
    machine = shared_machine
    before = Resources(machine)
    for seed in range(4):
        result = machine.run(f"{FUZZ} {seed} 3000", timeout=300)
        assert " 0 failures" in result.output
    before.assert_back()
    machine.assert_dmesg_clean()


def test_nonsense_beside_a_partition(machine: Machine) -> None:
    """Ids that exist: it may be killed or removed, and nothing else happens."""
    before = Resources(machine)
    start(machine)
    for seed in range(10, 13):
        machine.run(f"{FUZZ} {seed} 3000", timeout=300, check=False)
    machine.run("shimos rm --force web", check=False)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_only_root_opens_the_device(shared_machine: Machine) -> None:
    assert shared_machine.run("stat -c %a%U /dev/shimos").output.strip() == "600root"
