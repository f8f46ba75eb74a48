"""The life of partitions: starting, every way of ending, giving back."""

from __future__ import annotations

import random

import pytest
from support import Resources, refused, remove, run_command, show, start, wait_state

from lab.machine import Machine

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


def test_two_kernels(machine: Machine) -> None:
    """A stock 6.1 beside a stock 6.12: its own version, CPUs, memory, boot id."""
    before = Resources(machine)
    result = start(machine, flavour="6.1", memory="1G")
    assert "running" in result.output
    web = machine.partition("web")
    assert web.run("uname -r").output.strip() == machine.versions["6.1"]
    assert machine.run("uname -r").output.strip() == machine.versions["6.12"]
    assert web.run("nproc").output.strip() == "2"
    assert machine.online_cpus() == [0, 1]
    boot_id = web.run("cat /proc/sys/kernel/random/boot_id").output.strip()
    assert boot_id and boot_id != machine.boot_id()
    total = int(web.run("awk '/MemTotal/ {print $2}' /proc/meminfo").output)
    assert 850 << 10 < total < 1 << 20
    assert web.run("echo one two | wc -w").output.strip() == "2"
    web.close()
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


@pytest.mark.parametrize("how", ENDS)
def test_ends_are_contained(shared_machine: Machine, how: str) -> None:
    """However a partition ends, the host knows why and can start it again."""
    machine = shared_machine
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


def test_stop_asks_first(shared_machine: Machine) -> None:
    machine = shared_machine
    start(machine)
    machine.run("shimos stop web", timeout=60)
    now = show(machine)
    assert (now["state"], now["cause"]) == ("stopped", "poweroff")
    remove(machine)


def test_thirty_rounds(machine: Machine) -> None:
    """Start, use, end in turn each way, start again: nothing is lost."""
    start(machine, flavour="6.1", cpus="2-3")
    remove(machine)
    before = Resources(machine)
    start(machine, flavour="6.1", cpus="2-3")
    ways = ["stop", "kill", *ENDS]
    for round_number in range(30):
        web = machine.partition("web")
        assert web.run("echo $((6 * 7))").output.strip() == "42"
        web.close()
        way = ways[round_number % len(ways)]
        if way in ENDS:
            end_by_itself(machine, "web", way)
        else:
            machine.run(f"shimos {way} web", timeout=60)
        machine.run("shimos restart web", timeout=60)
        assert show(machine)["starts"] == round_number + 2
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_killed_while_booting(machine: Machine) -> None:
    """Killed at 50 random moments of its own boot: nothing lost, CPUs answer."""
    before = Resources(machine)
    start(machine, memory="256M")
    machine.run("shimos kill web")
    moments = random.Random(2009)
    killed = 0
    for _ in range(150):
        # The moments are the test's subject, not a wait for an event.
        delay = moments.uniform(0.05, 2.5)
        command = f"shimos restart --force web >/tmp/restart 2>&1 & sleep {delay:.3f}; shimos kill web; echo =$?; wait"
        killed += machine.run(command, check=False).output.strip().endswith("=0")
        # a kill that came before the start finds nothing to kill
        machine.run("shimos kill web", check=False)
        assert show(machine)["state"] == "stopped"
        if killed == 50:
            break
    assert killed == 50
    machine.run("shimos restart web", timeout=60)
    assert machine.partition("web").run("nproc").output.strip() == "2"
    machine.partition("web").close()
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_three_kernels(machine: Machine) -> None:
    """The host and two partitions of different versions, KASLR on in all."""
    before = Resources(machine)
    start(machine, "old", "6.1", cpus="2")
    start(machine, "new", "6.12", cpus="3")
    for name, flavour in (("old", "6.1"), ("new", "6.12")):
        assert machine.partition(name).run("uname -r").output.strip() == machine.versions[flavour]
        assert "nokaslr" not in machine.partition(name).run("cat /proc/cmdline").output
    # one's end leaves the other alone
    uptime = float(machine.partition("new").run("cut -d' ' -f1 /proc/uptime").output)
    end_by_itself(machine, "old", "panic")
    assert float(machine.partition("new").run("cut -d' ' -f1 /proc/uptime").output) >= uptime
    machine.partition("new").close()
    remove(machine, "old")
    remove(machine, "new")
    before.assert_back()
    machine.assert_dmesg_clean()


def test_kaslr_moves_the_kernel(shared_machine: Machine) -> None:
    """Each start puts the partition's kernel somewhere else."""
    machine = shared_machine
    start(machine, flavour="6.12")
    places = set()
    for _ in range(3):
        web = machine.partition("web")
        places.add(web.run("grep -w _text /proc/kallsyms").output.split()[0])
        web.close()
        machine.run("shimos restart --force web", timeout=60)
    remove(machine)
    assert len(places) == 3, places


def test_host_cannot_take_a_lent_cpu(shared_machine: Machine) -> None:
    machine = shared_machine
    start(machine)
    refused(machine, "echo 1 > /sys/devices/system/cpu/cpu2/online")
    assert machine.online_cpus() == [0, 1]
    assert machine.partition("web").run("nproc").output.strip() == "2"
    machine.partition("web").close()
    remove(machine)


def test_module_stays_while_partitions_exist(machine: Machine) -> None:
    start(machine)
    refused(machine, "rmmod shimos_kloader", "in use")
    machine.run("shimos kill web")
    refused(machine, "rmmod shimos_kloader", "in use")
    machine.run("shimos rm web")
    machine.run("rmmod shimos_kloader shimos_ikc")
    machine.run("modprobe shimos_kloader")
    start(machine)
    remove(machine)
    machine.assert_dmesg_clean()


def test_killed_tool_leaves_nothing(shared_machine: Machine) -> None:
    """A tool that dies before the start takes its partition with it."""
    machine = shared_machine
    before = Resources(machine)
    command = run_command(machine)
    for delay in (0.05, 0.3, 0.6, 1.0):
        # not timeout(1): it would kill itself too and not wait for the end
        machine.run(f"{command} & sleep {delay}; kill -KILL $!; wait $!", check=False, timeout=60)
        # what had been started before the kill runs on, as it should
        machine.run("shimos rm --force web", check=False, timeout=60)
        before.assert_back()
    machine.assert_dmesg_clean()


def test_reboot_restarts_when_asked(shared_machine: Machine) -> None:
    machine = shared_machine
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
