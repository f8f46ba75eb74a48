"""`shimos@.service`, as systemd runs it."""

from __future__ import annotations

import json

import pytest

from lab.machine import LAB_INITRD, Machine
from lab.paths import SRC
from lab.stage.partitions import MEMORY, show
from tests.support.tiers import late

#: Its unit loads the modules.
pytestmark = [
    pytest.mark.machine(cmdline="lab.systemd", load=False, partitions=["6.1"]),
    late("systemd around commands that other tests try"),
]

UNIT = "tool/dist/shimos@.service"


@pytest.fixture
def installed(machine: Machine) -> Machine:
    """Return a machine with the unit, as the package brings it."""
    machine.put("/usr/lib/systemd/system/shimos@.service", (SRC / UNIT).read_bytes())
    machine.run("mkdir -p /etc/shimos && systemctl daemon-reload")
    return machine


def describe(machine: Machine, name: str, more: str = "") -> None:
    """Write the file that the unit reads."""
    text = f'cpuset = "2-3"\nmemory = "{MEMORY}"\nkernel = "{machine.vmlinuz("6.1")}"\ninitrd = "{LAB_INITRD}"\n{more}'
    machine.put(f"/etc/shimos/{name}.toml", text.encode())


def active(machine: Machine, name: str) -> str:
    """Return what systemd says of the partition's unit."""
    return machine.run(f"systemctl is-active shimos@{name} || :").output.strip()


def test_start_restart_stop(installed: Machine) -> None:
    """A partition starts and stops with its unit; a restart makes it anew."""
    machine = installed
    describe(machine, "web")
    machine.run("systemctl start shimos@web", timeout=180)
    assert active(machine, "web") == "active"
    first = show(machine)
    assert (first["state"], first["cpus"]) == ("running", [2, 3])

    machine.run("systemctl restart shimos@web", timeout=240)
    assert active(machine, "web") == "active"
    second = show(machine)
    assert second["state"] == "running"
    assert second["id"] > first["id"]

    machine.run("systemctl stop shimos@web", timeout=120)
    assert active(machine, "web") == "inactive"
    assert json.loads(machine.run("shimos ls --json").output)["partitions"] == []
    assert machine.run("cat /sys/devices/system/cpu/online").output.strip() == "0-3"
    # In order, both times.
    assert machine.run("dmesg | grep -c 'shimos: web: stopped (poweroff)'").output.strip() == "2"
    journal = machine.run("journalctl --no-pager -u shimos@web --output cat").output
    assert journal.count("web: running, Linux") == 2


def test_bad_file(installed: Machine) -> None:
    """The unit fails, and its journal says why."""
    machine = installed
    describe(machine, "bad", 'memroy = "1G"\n')
    assert machine.run("systemctl start shimos@bad", check=False).status == 1
    assert active(machine, "bad") == "failed"
    assert "did you mean 'memory'?" in machine.run("journalctl --no-pager -u shimos@bad --output cat").output
    # Without a file there is nothing to do.
    machine.run("systemctl start shimos@none")
    assert active(machine, "none") == "inactive"
