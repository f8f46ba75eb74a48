"""The life of partitions: starting, every way of ending, giving back."""

from __future__ import annotations

import random

import pytest

from lab.machine import Machine
from lab.stage.partitions import Resources, refused, remove, run_command, show, start, wait_state
from tests.support.tiers import REPETITION, everything, rounds

pytestmark = pytest.mark.x2apic

#: How a partition can end by itself: what to type, state and cause after it.
ENDS = {
    "poweroff": ("poweroff -f", "stopped", "poweroff"),
    "reboot": ("reboot -f", "stopped", "reboot"),
    "halt": ("halt -f", "stopped", "halt"),
    "sysrq-b": ("echo b >/proc/sysrq-trigger", "stopped", "reboot"),
    "sysrq-o": ("echo o >/proc/sysrq-trigger", "stopped", "poweroff"),
    "panic": ("echo c >/proc/sysrq-trigger", "crashed", "panic"),
}


def end_by_itself(machine: Machine, name: str, how: str) -> None:
    """Type what ends the partition and wait until KLoader has noticed."""
    command, state, cause = ENDS[how]
    console = machine.partition(name)
    console.send(f"{command}\n".encode())
    wait_state(machine, name, "stopped|crashed")
    console.close()
    now = show(machine, name)
    assert (now["state"], now["cause"]) == (state, cause)


def test_two_kernels(fresh_machine: Machine) -> None:
    """A stock 6.1 beside a stock 6.12: its own version, CPUs, memory, boot id."""
    before = Resources(fresh_machine)
    result = start(fresh_machine, flavour="6.1", memory="1G", packed=True)
    assert "running" in result.output
    web = fresh_machine.partition("web")
    assert web.run("uname -r").output.strip() == fresh_machine.versions["6.1"]
    assert fresh_machine.run("uname -r").output.strip() == fresh_machine.versions["6.12"]
    assert web.run("nproc").output.strip() == "2"
    assert fresh_machine.online_cpus() == [0, 1]
    boot_id = web.run("cat /proc/sys/kernel/random/boot_id").output.strip()
    assert boot_id and boot_id != fresh_machine.boot_id()
    total = int(web.run("awk '/MemTotal/ {print $2}' /proc/meminfo").output)
    assert 850 << 10 < total < 1 << 20
    assert web.run("echo one two | wc -w").output.strip() == "2"
    web.close()
    remove(fresh_machine)
    before.assert_back()
    fresh_machine.assert_dmesg_clean()


#: Ends that differ least from others; test_rounds_of_every_end goes through them anyway.
ALIKE = ("poweroff", "halt", "sysrq-b")
#: Delays after which a tool is killed: before, during and after what it does.
MOMENTS = (0.05, 0.3, 0.6, 1.0)


@pytest.mark.parametrize("how", [pytest.param(how, marks=REPETITION) if how in ALIKE else how for how in ENDS])
def test_ends_are_contained(machine: Machine, how: str) -> None:
    """However a partition ends, the host knows why and can start it again."""
    before = Resources(machine)
    start(machine)
    end_by_itself(machine, "web", how)
    if how == "panic":
        assert "sysrq triggered crash" in show(machine)["message"]
        assert "sysrq triggered crash" in machine.run("shimos logs web").output
    machine.run("shimos restart web", timeout=60)
    assert show(machine)["state"] == "running"
    assert machine.partition("web").run("nproc").output.strip() == "2"
    machine.partition("web").close()
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_stop_asks_first(machine: Machine) -> None:
    """It powers itself off, which it would not do in its sleep: so it does not sleep."""
    start(machine)
    web = machine.partition("web")
    assert web.run("echo freeze >/sys/power/state", check=False).status != 0
    assert "a partition cannot sleep" in web.run("dmesg").output
    web.close()
    machine.run("shimos stop web", timeout=60)
    now = show(machine)
    assert (now["state"], now["cause"]) == ("stopped", "poweroff")
    remove(machine)


def test_rounds_of_every_end(fresh_machine: Machine) -> None:
    """Start, use, end in turn each way, start again: nothing is lost."""
    start(fresh_machine, flavour="6.1", cpus="2-3")
    remove(fresh_machine)
    before = Resources(fresh_machine)
    start(fresh_machine, flavour="6.1", cpus="2-3")
    ways = ["stop", "kill", *ENDS]
    # each of them alone is another test's
    for round_number in range(rounds(30, 3)):
        web = fresh_machine.partition("web")
        assert web.run("echo $((6 * 7))").output.strip() == "42"
        web.close()
        way = ways[round_number % len(ways)]
        if way in ENDS:
            end_by_itself(fresh_machine, "web", way)
        else:
            fresh_machine.run(f"shimos {way} web", timeout=60)
        fresh_machine.run("shimos restart web", timeout=60)
        assert show(fresh_machine)["starts"] == round_number + 2
    remove(fresh_machine)
    before.assert_back()
    fresh_machine.assert_dmesg_clean()


def test_killed_while_booting(fresh_machine: Machine) -> None:
    """Killed at random moments of its own boot: nothing lost, CPUs answer, and each start puts its kernel elsewhere."""
    kills = rounds(50, 3)
    before = Resources(fresh_machine)
    start(fresh_machine, memory="256M", packed=True)
    fresh_machine.run("shimos kill web")
    moments = random.Random(2009)
    killed = 0
    for _ in range(3 * kills):
        # The moments are the test's subject, not a wait for an event.
        delay = moments.uniform(0.05, 2.5)
        command = f"shimos restart --force web >/tmp/restart 2>&1 & sleep {delay:.3f}; shimos kill web; echo =$?; wait"
        killed += fresh_machine.run(command, check=False).output.strip().endswith("=0")
        # a kill that came before the start finds nothing to kill
        fresh_machine.run("shimos kill web", check=False)
        assert show(fresh_machine)["state"] == "stopped"
        if killed == kills:
            break
    assert killed == kills
    places = set()
    for _ in range(3):
        fresh_machine.run("shimos restart --force web", timeout=60)
        web = fresh_machine.partition("web")
        assert web.run("nproc").output.strip() == "2"
        places.add(web.run("grep -m 1 -w _stext /proc/kallsyms").output.split()[0])
        web.close()
    # There are some 480 places: two of three starts may well draw the same, all three once in 200,000 times.
    assert len(places) > 1, places
    remove(fresh_machine)
    before.assert_back()
    fresh_machine.assert_dmesg_clean()


def test_three_kernels(fresh_machine: Machine) -> None:
    """The host and two partitions of different versions, KASLR on in all."""
    before = Resources(fresh_machine)
    start(fresh_machine, "old", "6.1", cpus="2", packed=True)
    start(fresh_machine, "new", "6.12", cpus="3", packed=True)
    for name, flavour in (("old", "6.1"), ("new", "6.12")):
        assert fresh_machine.partition(name).run("uname -r").output.strip() == fresh_machine.versions[flavour]
        assert "nokaslr" not in fresh_machine.partition(name).run("cat /proc/cmdline").output
    # one's end leaves the other alone
    uptime = float(fresh_machine.partition("new").run("cut -d' ' -f1 /proc/uptime").output)
    end_by_itself(fresh_machine, "old", "panic")
    assert float(fresh_machine.partition("new").run("cut -d' ' -f1 /proc/uptime").output) >= uptime
    fresh_machine.partition("new").close()
    remove(fresh_machine, "old")
    remove(fresh_machine, "new")
    before.assert_back()
    fresh_machine.assert_dmesg_clean()


def test_host_cannot_take_a_lent_cpu(machine: Machine) -> None:
    start(machine)
    refused(machine, "echo 1 > /sys/devices/system/cpu/cpu2/online")
    assert machine.online_cpus() == [0, 1]
    assert machine.partition("web").run("nproc").output.strip() == "2"
    machine.partition("web").close()
    remove(machine)


def test_module_stays_while_partitions_exist(fresh_machine: Machine) -> None:
    start(fresh_machine)
    refused(fresh_machine, "rmmod shimos_kloader", "in use")
    fresh_machine.run("shimos kill web")
    refused(fresh_machine, "rmmod shimos_kloader", "in use")
    fresh_machine.run("shimos rm web")
    fresh_machine.run("rmmod shimos_kloader shimos_ikc")
    fresh_machine.run("modprobe shimos_kloader")
    start(fresh_machine)
    remove(fresh_machine)
    fresh_machine.assert_dmesg_clean()


def test_killed_tool_leaves_nothing(machine: Machine) -> None:
    """A tool that dies before the start takes its partition with it."""
    before = Resources(machine)
    command = run_command(machine)
    for delay in MOMENTS if everything() else MOMENTS[::2]:
        # not timeout(1): it would kill itself too and not wait for the end
        machine.run(f"{command} & sleep {delay}; kill -KILL $!; wait $!", check=False, timeout=60)
        # what had been started before the kill runs on, as it should
        machine.run("shimos rm --force web", check=False, timeout=60)
        before.assert_back()
    machine.assert_dmesg_clean()


def test_reboot_restarts_when_asked(machine: Machine) -> None:
    start(machine, more="--on-reboot restart")
    console = machine.partition("web")
    first = console.run("cat /proc/sys/kernel/random/boot_id").output
    console.send(b"reboot -f\n")
    wait_state(machine, "web", "starting")
    wait_state(machine, "web", "running")
    console.close()
    assert machine.partition("web").run("cat /proc/sys/kernel/random/boot_id").output != first
    machine.partition("web").close()
    assert show(machine)["starts"] == 2
    remove(machine)
