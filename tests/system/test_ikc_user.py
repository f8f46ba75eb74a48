"""User programs in different kernels, through /dev/ikc and the shimos tool."""

from __future__ import annotations

import errno
import json

import pytest

from lab.machine import Machine
from lab.stage.partitions import WAIT_FOR, refused
from lab.stage.traffic import area, ikc, kernels
from tests.support.tiers import rounds
from tests.support.timing import soon

pytestmark = pytest.mark.x2apic

PROGRAM = "/usr/lib/shimos-test/ikc_user"
#: Messages between two programs.
MESSAGES = rounds(200_000, 50_000)


def test_programs_talk(machine: Machine) -> None:
    """Numbered messages there and back, rings full and empty, polling, sleeping and by eventfd."""
    with kernels(machine, modules=(), programs=("ikc_user",)) as found:
        used = area(machine)
        for kernel in found[1:]:
            kernel.shell.run(f"ikc_user echo host 5 {MESSAGES} >/tmp/log 2>&1 &")
            assert f"ok {MESSAGES}" in machine.run(f"{PROGRAM} talk {kernel.name} 5 {MESSAGES}", timeout=120).output
            # Else the next program may still meet this one.
            kernel.shell.run("while pidof ikc_user; do usleep 50000; done; ikc_user echo host 5 2000 >/tmp/log 2>&1 &")
            output = machine.run(f"{PROGRAM} events {kernel.name} 5 2000", timeout=120).output
            assert "ok 2000, slept yes" in output
            kernel.shell.run("while pidof ikc_user; do usleep 50000; done")
        # And between two partitions, the host having no part in it.
        web, db = found[1:]
        web.shell.run(f"ikc_user echo db 7 {MESSAGES // 4} >/tmp/log 2>&1 &")
        assert f"ok {MESSAGES // 4}" in db.shell.run(f"ikc_user talk web 7 {MESSAGES // 4}", timeout=120).output
        web.shell.run("while pidof ikc_user; do usleep 50000; done")
        machine.run("until [ $(shimos ikc --json | grep -c '\"channel\": [57]') = 0 ]; do sleep 0.1; done")
        assert area(machine)["blocks"] == used["blocks"]
    machine.assert_dmesg_clean()


def test_peer_dies(machine: Machine) -> None:
    """The other program is killed, then its whole kernel: an error at once, no signal."""
    with kernels(machine, (("web", "6.1", "2-3"),), modules=(), programs=("ikc_user",)) as found:
        web = found[1]
        for how in ("program", "kernel"):
            web.shell.run("ikc_user echo host 5 100000000 >/tmp/log 2>&1 &")
            machine.run(f"{PROGRAM} hold web 5 >/tmp/hold 2>&1 & {WAIT_FOR} text connected /tmp/hold")
            if how == "program":
                killing = web.shell.run("killall -9 ikc_user").seconds
            else:
                machine.partition("web").close()
                killing = machine.run("shimos kill web").seconds
            limit = soon(1, killing)
            wait = f"timeout {limit:.1f} sh -c 'until grep -q \"written on\" /tmp/hold; do :; done'"
            assert machine.run(wait, check=False).status == 0, f"no error {limit:.1f} s after the end of the {how}"
            assert "send: Broken pipe" in machine.run("cat /tmp/hold").output
            assert "hung up" in machine.run("cat /tmp/hold").output
        assert all(q["sender"] != "web" and q["receiver"] != "web" for q in ikc(machine)["queues"])
    machine.assert_dmesg_clean()


def test_errors(machine: Machine) -> None:
    """Whatever is wrong has its own error, and the next call works."""
    with kernels(machine, (("web", "6.1", "2-3"),), modules=(), programs=()):
        output = machine.run(f"{PROGRAM} errors web").output
        results = {name: int(value) for name, value in (line.split() for line in output.splitlines())}
        assert results == {
            "version": errno.EPROTO,
            "right_version": 1,
            "size": errno.EPROTO,
            "right_size": 1,
            "unknown_call": errno.ENOTTY,
            "notify_closed": errno.ENOTCONN,
            "map_closed": errno.ENOTCONN,
            "connect_closed": errno.ENOTCONN,
            "unknown_peer": errno.EINVAL,
            "absent_peer": errno.ENXIO,
            "self": errno.EINVAL,
            "unknown_channel": errno.EINVAL,
            "no_slots": errno.EINVAL,
            "odd_slot_size": errno.EINVAL,
            "huge_slot_size": errno.EINVAL,
            "ring_too_large": errno.ENOSPC,
            "open": 0,
            "open_twice": errno.EBUSY,
            "channel_taken": errno.EBUSY,
            "connect_nobody": errno.ETIME,
            "map_send_unconnected": errno.ENOTCONN,
            "map": 0,
            "map_private": errno.EINVAL,
            "map_beyond": errno.EINVAL,
            "map_elsewhere": errno.EINVAL,
            "map_nowhere": errno.EINVAL,
        }
        as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups"
        refused(machine, f"{as_nobody} {PROGRAM} errors web", "only root")
        refused(machine, f"{as_nobody} shimos ping -c 1 web", "root")
    machine.assert_dmesg_clean()


def test_ping_and_perf(machine: Machine) -> None:
    """The tool finds the echo service of every kernel, also from inside a partition."""
    with kernels(machine, modules=(), programs=("/usr/bin/shimos",)) as found:
        ping = json.loads(machine.run("shimos ping -c 200 -i 0.001 --json web", timeout=120).output)
        assert ping["answered"] == 200, ping
        assert "p99" in machine.run("shimos ping -c 50 -i 0 --poll db", timeout=120).output
        perf = json.loads(machine.run("shimos perf --time 2 --json web", timeout=120).output)
        assert perf["messages_per_second"] > 0 and perf["arrived"] == perf["messages"], perf
        web = found[1].shell
        for peer in ("host", "db"):
            assert "p99" in web.run(f"/bin/shimos ping -c 50 -i 0 {peer}", timeout=120).output
        refused(machine, "shimos ping -c 1 -s 100000 web", "1016")
    machine.assert_dmesg_clean()
