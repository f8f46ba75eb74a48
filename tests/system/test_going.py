"""A host that goes down or to sleep while someone starts a partition, and a partition that goes while someone waits for it."""

from __future__ import annotations

import re

import pytest

from lab.machine import Machine
from lab.shell import ShellGone
from lab.stage.partitions import Resources, remove, run_command, start, wait_state
from tests.support.tiers import late

pytestmark = late("what seldom happens to a host")

PROGRAM = "/tmp/late"


def _run_late(machine: Machine, command: str) -> None:
    """Let a command run at the last moment, when KLoader has been told already; what comes of it is logged."""
    machine.run(f"insmod /usr/lib/shimos-test/{machine.versions[machine.flavour]}/shimos_going.ko")
    text = f"#!/bin/sh\nout=$({command} 2>&1)\necho late: $? $out | tr '\\n' ' ' >/dev/kmsg\n"
    machine.put(PROGRAM, text.encode(), 0o755)
    machine.run(f"echo {PROGRAM} >/proc/going")


def test_nothing_starts_while_the_host_goes_down(fresh_machine: Machine) -> None:
    start(fresh_machine, name="db", cpus="1")
    _run_late(fresh_machine, run_command(fresh_machine))
    with pytest.raises(ShellGone) as died:
        fresh_machine.run("reboot -f", timeout=60)
    log = str(died.value)
    # the one that ran was ended first
    assert re.search(r"db: stopped \(killed\)(.|\n)*late: [1-9][0-9]* .*the host is going down", log), log


def test_nothing_starts_while_the_host_falls_asleep(machine: Machine) -> None:
    before = Resources(machine)
    # an old one, for the host takes no CPU off any more
    start(machine)
    machine.run("shimos kill web")
    _run_late(machine, "shimos restart web")
    assert machine.run("echo freeze >/sys/power/state", check=False).status
    late = re.findall(r"late: (\d+) (.*)", machine.dmesg())
    assert len(late) == 1 and late[0][0] != "0" and "the host is about to sleep" in late[0][1], late
    # it did not sleep after all
    machine.run("rmmod shimos_going && shimos restart web")
    assert machine.run("echo freeze >/sys/power/state", check=False).status
    assert "the host cannot sleep while partitions run" in machine.dmesg()
    wait_state(machine, "web", "running")
    remove(machine)
    before.assert_back()


def test_removed_while_waited_for(machine: Machine) -> None:
    """Who waits for a partition hears at once that it is gone."""
    before = Resources(machine)
    start(machine)
    # what does not run has no other event than its removal
    machine.run("shimos kill web")
    machine.run(
        "/usr/lib/shimos-test/wait_event 300 >/tmp/wait.log & until grep -q waiting /tmp/wait.log; do sleep 0.02; done;"
        " shimos rm web; wait",
        timeout=60,
    )
    assert machine.run("cat /tmp/wait.log").lines == ["waiting", "No such file or directory"]
    before.assert_back()
    machine.assert_dmesg_clean()
