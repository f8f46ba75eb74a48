"""A real-time program beside a Linux that is made for real time itself."""

from __future__ import annotations

import json
import re

import pytest

from lab.build import RT_ACTIVATIONS
from lab.machine import Machine
from lab.stage.partitions import Resources, remove, wait_state
from lab.stage.rt import UNTIL_END, WORK, busy, rt_command, vcpus
from tests.support.tiers import rare

#: Its clock goes by instructions; nothing of what it says is the computer's doing.
pytestmark = pytest.mark.machine(kernel="6.12-rt", partitions=(), cpus=1, icount=True)


@pytest.mark.parametrize("more", ["", "--protected"])
@rare("needs modules and a template for one more kernel")
def test_a_kernel_for_real_time(machine: Machine, more: str) -> None:
    """It is a host like the others: nothing is late, nothing sleeps where it may not, and the layer goes again."""
    assert "PREEMPT_RT" in machine.run("uname -v").output
    before = Resources(machine)
    assert re.search("ok +shared CPUs", machine.run("shimos doctor", check=False).output)
    # a CPU that sleeps would let the clock follow the computer's
    with busy(machine, WORK, f"{UNTIL_END}; do :; done"):
        machine.run(rt_command("latency", cpu="0", more=more), timeout=120)
        wait_state(machine, "ctl", "stopped")
        late = json.loads(machine.run("shimos rt latency ctl --json").output)
        assert (late["count"], late["past"]) == (RT_ACTIVATIONS, 0)
        lines = machine.run("shimos logs --console ctl").output
        assert re.search("# Missed: +0\n", lines), lines
    remove(machine, "ctl")
    assert vcpus(machine) == {}
    before.assert_back()
    machine.assert_dmesg_clean()
