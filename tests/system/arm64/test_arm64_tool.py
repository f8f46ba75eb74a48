"""What the tool shows is the same on arm64."""

from __future__ import annotations

import json
import re

import pytest

from lab.machine import Machine
from lab.stage.devices import device
from lab.stage.partitions import Resources, remove, start
from tests.support.machines import ON_ARM64
from tests.support.tiers import late
from tests.system.test_selftest import RUNGS, rungs, selftest
from tests.system.test_tool import test_dump_opens_in_drgn, test_lists, test_logs, test_watchers

#: What must be so on each architecture: these tests are collected here, too.
__all__ = ["test_dump_opens_in_drgn", "test_lists", "test_logs", "test_watchers"]

pytestmark = [pytest.mark.machine(**ON_ARM64), late("what tests of x86-64 say, on another architecture")]


def test_selftest(machine: Machine) -> None:
    """All rungs but the one that only x86-64 has."""
    before = Resources(machine)
    out = machine.run(selftest(machine), timeout=300).output
    assert rungs(out) == list(RUNGS)
    assert out.count("  passed, ") == len(RUNGS) - 1, out
    assert re.search(r"^4\. parking: .*\n  left out: ", out, re.MULTILINE), out
    before.assert_back()
    machine.assert_dmesg_clean()


def test_other_commands(machine: Machine) -> None:
    """Those that no other test here gives: what a partition is attached to, and how fast it is reached."""
    start(machine, cpus="2-3")
    disk = "/tmp/disk"
    machine.run(f"truncate -s 16M {disk} && shimos attach web --disk {disk}")
    assert device(machine, disk)["state"] == "running"
    found = json.loads(machine.run("shimos perf web --time 1 --json").output)
    assert found["messages_per_second"] > 0
    machine.run("shimos ikc && shimos doctor && shimos show web")
    # The map has each CPU's owner, and so has top.
    top = "script -qc 'TERM=dumb timeout --foreground -s INT 2 shimos top -i 0.5' /dev/null </dev/null"
    for command in ("shimos show", top):
        assert "w2" in machine.run(command, check=False).output
    remove(machine)
    machine.assert_dmesg_clean()
