"""Real-time programs take part in inter-kernel communication: with programs on the host."""

from __future__ import annotations

import json
import re

import pytest

from lab import faults
from lab.machine import Machine
from lab.stage.partitions import PROGRAMS, WAIT_FOR, Resources, refused, remove
from lab.stage.rt import rt_command, spin, vcpus
from lab.stage.traffic import PROC, area, ikc, kernels, load
from tests.support.tiers import late, rounds

pytestmark = [
    pytest.mark.machine(one_thread=True),
    late("channels of real-time programs; test_ikc.py has those of kernels"),
]

USER = f"{PROGRAMS}/ikc_user"
#: What flood.elf was built for.
FLOOD = 1_000_000
#: Doorbells for each message, at most.
DOORBELLS = 0.05


def ping(machine: Machine, name: str = "ctl", count: int = 20) -> None:
    """Get an answer to each message."""
    found = json.loads(machine.run(f"shimos ping --json -c {count} -i 0 {name}").output)
    assert (found["sent"], found["answered"]) == (count, count), found


def test_echo(machine: Machine) -> None:
    """Ping and perf reach it like any kernel, one program after the other, in each of its lives."""
    before = Resources(machine)
    used = area(machine)["used"]
    machine.run(rt_command("echo"))
    assert [k["name"] for k in ikc(machine)["kernels"]] == ["host", "ctl"]
    for _ in range(3):
        ping(machine)
    perf = json.loads(machine.run("shimos perf --json --time 1 ctl", timeout=120).output)
    assert perf["arrived"] == perf["messages"] > 1000, perf
    machine.run("shimos kill ctl && shimos restart ctl")
    ping(machine)
    # one that asks while another has it
    machine.run(f"(shimos ping -c 1000000 -i 0 ctl) >/tmp/ping 2>&1 & {WAIT_FOR} text pinging /tmp/ping")
    refused(machine, "shimos ping -c 1 ctl", "in use", "one at a time")
    machine.run("shimos kill ctl")
    remove(machine, "ctl")
    assert area(machine)["used"] == used
    before.assert_back()
    machine.assert_dmesg_clean()


def test_a_million_messages_each_way(machine: Machine) -> None:
    """All arrive, in order; hardly any needs a doorbell."""
    used = area(machine)["used"]
    machine.run(rt_command("flood"))
    for _ in range(rounds(3, 1)):
        output = machine.run(f"{USER} flood ctl 1 {FLOOD}", timeout=300).output
        told = re.search(rf"ok {FLOOD}, doorbells (\d+)", output)
        assert told, output
        text = machine.run("until shimos logs --console ctl | grep doorbells; do sleep 0.1; done").output
        back = re.search(rf"flood: {FLOOD} messages each way, (\d+) doorbells", text)
        assert back, text
        for rung in (told, back):
            assert int(rung.group(1)) < DOORBELLS * FLOOD, (output, text)
    machine.run("shimos stop ctl")
    remove(machine, "ctl")
    assert area(machine)["used"] == used


def test_programs_that_leave(machine: Machine) -> None:
    """A program on the host that is killed in the midst of it leaves room for the next one."""
    machine.run(rt_command("flood"))
    used = area(machine)["used"]
    for _ in range(rounds(20, 4)):
        machine.run(f"{USER} flood ctl 1 {FLOOD} >/tmp/flood 2>&1 & {WAIT_FOR} text connected /tmp/flood; kill -9 $!")
    assert f"ok {FLOOD}" in machine.run(f"{USER} flood ctl 1 {FLOOD}", timeout=300).output
    machine.run("until shimos logs --console ctl | grep -c 'flood: left' | grep -q .; do sleep 0.1; done")
    assert area(machine)["used"] == used
    # and when the program dies, the one on the host hears it at once
    machine.run(f"{USER} flood ctl 1 {FLOOD} >/tmp/flood 2>&1 & {WAIT_FOR} text connected /tmp/flood")
    machine.run("shimos kill ctl")
    assert re.search("closed|died", machine.run(f"{WAIT_FOR} exit $(pidof ikc_user); cat /tmp/flood").output)
    remove(machine, "ctl")
    machine.assert_dmesg_clean()


def test_the_area_grows(fresh_machine: Machine) -> None:
    """What the host adds while a program runs is in use when that has it, too, and be it in tables that are protected."""
    fresh_machine.run(rt_command("flood", more="--protected"))
    before = area(fresh_machine)
    load(fresh_machine)
    # more than there is in a chunk; blocks of the same size are the last channel's rings
    fresh_machine.run(f"echo hoard 40 65536 >{PROC}")
    after = area(fresh_machine)
    assert after["bytes"] > before["bytes"] and after["used"] >= before["used"] + 40 * 65536
    assert f"ok {FLOOD}" in fresh_machine.run(f"{USER} flood ctl 1 {FLOOD}", timeout=300).output
    fresh_machine.run("rmmod shimos_ikc_test")
    remove(fresh_machine, "ctl")
    fresh_machine.assert_dmesg_clean()


def test_beside_a_partition(machine: Machine) -> None:
    """The host talks with both kinds, whichever came first, and they know of each other."""
    with kernels(machine, (("web", "6.1", "2-3"),), modules=(), programs=()):
        machine.run(rt_command("echo"))
        for name in ("web", "ctl", "web"):
            ping(machine, name)
        # the partition has seen the program come, and rung it
        machine.run("shimos kill ctl && shimos restart ctl")
        for name in ("ctl", "web"):
            ping(machine, name)
        assert not faults.unclean(machine.run("shimos logs web").output)
        remove(machine, "ctl")
    machine.assert_dmesg_clean()


@pytest.mark.machine(cpus=1, icount=True)
def test_control(fresh_machine: Machine) -> None:
    """A pendulum stands while Linux keeps interrupts off, and falls as a program of Linux's.

    Time goes by instructions.
    """
    load(fresh_machine, "shimos_layer_test")
    spin(fresh_machine)
    fresh_machine.run(rt_command("control", cpu="0"))
    # what means nothing is not obeyed
    fresh_machine.run(f"{USER} talk ctl 1 3 >/dev/null", check=False)
    mask = "(echo mask 0 600000 {times} >/proc/layer) >/dev/null 2>&1 &"
    # without the bell the panel would look again after 5 s
    panel = f"timeout 4 {PROGRAMS}/pendulum_panel ctl 1"
    fresh_machine.run(panel, timeout=300)
    output = fresh_machine.run(f"{mask.format(times=2)} {panel}", timeout=300).output
    assert "standing after" in output
    late = [int(us) for us in re.findall(r"at most (\d+) us late", output)]
    assert late and max(late) < 100, output
    assert vcpus(fresh_machine)["ctl:0"]["masked"] > 500
    remove(fresh_machine, "ctl")
    alone = fresh_machine.run(f"{mask.format(times=4)} {PROGRAMS}/pendulum_linux 0 3", timeout=300, check=False)
    assert "fallen after" in alone.output
    fresh_machine.assert_dmesg_clean()
