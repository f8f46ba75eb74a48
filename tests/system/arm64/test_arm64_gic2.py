"""A machine whose interrupt controller is too old: refused, and why."""

from __future__ import annotations

from lab.machine import Machine
from lab.stage.partitions import refused
from tests.support.tiers import late

pytestmark = late("an older interrupt controller")


def test_gicv2() -> None:
    """The doctor says it before any module of ours can."""
    with Machine(arch="arm64", load=False, partitions=(), extra=["-machine", "gic-version=2"]) as machine:
        refused(machine, "shimos doctor", "GICv2", "needs GICv3", "ring", "use a machine with GICv3")
        refused(machine, "modprobe shimos_kloader", "No such device")
        assert "this machine has no GICv3" in machine.dmesg()
        machine.assert_dmesg_clean()
