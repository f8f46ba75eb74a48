"""An owner that misbehaves towards its user, the host: devices that nobody wants, and answers that do not come."""

from __future__ import annotations

import errno

import pytest

from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.partitions import initrd_with, remove, start
from tests.support.tiers import late

CONSOLE, NET, DISK = 3, 1, 2
#: SHIMOS_VIRTIO_DEVICES
MOST = 32
_ACCEPT = "/sys/module/shimos_virtio/parameters/accept"
_OURS = "readlink /sys/bus/virtio/devices/* | grep shimos-virtio"


def prepare(machine: Machine) -> None:
    """Stage: web runs with a bad owner, the host can be its user."""
    machine.run("modprobe shimos_virtio answer_seconds=1; modprobe virtio_net")
    initrd = initrd_with(machine, "6.1", {"/hostile.ko": "shimos_hostile_owner.ko"})
    start(machine, "web", cpus="2", memory="256M", more=f"--initrd {initrd}")
    machine.partition("web").run("insmod /hostile.ko")


pytestmark = [pytest.mark.machine(stage=prepare), late("what is rare at a device")]


def said(web: PartitionConsole) -> dict[str, int]:
    """Return what the owner has counted."""
    return {k: int(v) for k, v in (line.split() for line in web.run("cat /proc/hostile_owner").lines)}


def tell(web: PartitionConsole, command: str) -> None:
    web.run(f"echo '{command}' >/proc/hostile_owner")


def until(web: PartitionConsole, line: str) -> None:
    """Wait until the owner has counted so many of something."""
    web.run(f"until grep -qx '{line}' /proc/hostile_owner; do usleep 20000; done", timeout=60)


def count(machine: Machine) -> int:
    return int(machine.run(f"{_OURS} | wc -l").output)


def test_unwanted_devices(fresh_machine: Machine) -> None:
    """No kind but disks and networks, from nobody but those named, and no more than an owner may share."""
    machine = fresh_machine
    web = machine.partition("web")
    tell(web, f"push {CONSOLE} 1")
    tell(web, f"push {NET} 1")
    # They are looked at in this order.
    until(web, "starts 1")
    assert said(web)["refused"] == 1, "a console was accepted"
    assert said(web)["reason"] == errno.EINVAL
    for rules in ("", "host", "web:disk", "db,web:disk", "webb,we"):
        before = said(web)["refused"]
        machine.run(f"echo '{rules}' >{_ACCEPT}")
        tell(web, f"push {NET} 1")
        until(web, f"refused {before + 1}")
        assert said(web)["reason"] == errno.EPERM, rules
    assert count(machine) == 1
    machine.run(f"echo 'db, web:net' >{_ACCEPT}")
    before = said(web)["refused"]
    tell(web, f"push {NET} {MOST - 1 + 3}")
    until(web, f"refused {before + 3}")
    assert said(web)["reason"] == errno.ENOSPC
    until(web, f"starts {MOST}")
    assert count(machine) == MOST
    web.close()
    remove(machine)
    machine.run(f"while {_OURS}; do sleep 0.1; done >/dev/null", timeout=60)


def test_reset_that_is_not_answered(fresh_machine: Machine) -> None:
    """What the owner may still write to is not freed before it has stopped."""
    machine = fresh_machine
    web = machine.partition("web")
    tell(web, f"push {NET} 1")
    until(web, "starts 1")
    device = machine.run(_OURS).output.split("/")[-1].strip()
    tell(web, "hold 1")
    driver = "/sys/bus/virtio/drivers/virtio_net"
    machine.run(f"(echo {device} >{driver}/unbind; echo done >/tmp/unbound) & :")
    machine.run("until dmesg | grep -q 'has not stopped it: waiting'; do sleep 0.1; done", timeout=60)
    # It has asked again.
    until(web, "resets 3")
    machine.run("test ! -e /tmp/unbound")
    tell(web, "hold 0")
    machine.run("until [ -e /tmp/unbound ]; do sleep 0.05; done", timeout=10)
    # So does the end of the owner.
    machine.run(f"echo {device} >{driver}/bind; rm /tmp/unbound")
    until(web, "starts 2")
    tell(web, "hold 1")
    before = said(web)["resets"]
    machine.run(f"(echo {device} >{driver}/unbind; echo done >/tmp/unbound) & :")
    until(web, f"resets {before + 2}")
    machine.run("test ! -e /tmp/unbound")
    web.close()
    machine.run("shimos kill web")
    machine.run("until [ -e /tmp/unbound ]; do sleep 0.05; done", timeout=10)
    remove(machine)
    machine.run(f"while {_OURS}; do sleep 0.1; done >/dev/null", timeout=60)
