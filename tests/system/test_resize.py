"""Partitions that get and lose CPUs while they run."""

from __future__ import annotations

import random

import pytest

from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.partitions import Resources, refused, remove, run_command, show, start
from tests.support.tiers import REPETITION, rounds

ONLINE = "/sys/devices/system/cpu"


def online(web: PartitionConsole) -> str:
    """Return the CPUs that a partition has online, as it numbers them."""
    return web.run(f"cat {ONLINE}/online").output.strip()


def grow(machine: Machine, by: str, has: str) -> None:
    """Give CPUs or take some back, and check what it has then, as the host numbers them."""
    said = machine.run(f"shimos resize web --cpus {by}", timeout=60).output
    assert said == f"web: has CPUs {has} now\n"


@pytest.mark.parametrize("flavour", ["6.12", pytest.param("6.1", marks=REPETITION)])
def test_it_grows_and_shrinks(machine: Machine, flavour: str) -> None:
    """By its own kernel's hot-plug; it cannot take what it was not given, and keeps what it has when it starts again."""
    before = Resources(machine)
    start(machine, flavour=flavour, cpus="3", more="--max-cpus 3")
    web = machine.partition("web")
    assert online(web) == "0"
    assert web.run(f"echo 1 >{ONLINE}/cpu1/online", check=False).status != 0
    assert "CPU 1 is not this partition's" in web.run("dmesg").output
    assert show(machine)["more_cpus"] == [2, 1]
    grow(machine, "+2", "1-3")
    assert (online(web), machine.online_cpus()) == ("0-2", [0])
    for cpu in range(3):
        assert web.run(f"taskset -c {cpu} sh -c 'echo $((6 * 7))'").output == "42\n"
    grow(machine, "-1", "2-3")
    assert (online(web), machine.online_cpus()) == ("0-1", [0, 1])
    web.close()
    machine.run("shimos ping -c 3 -i 0 web")
    machine.run("shimos restart web", timeout=60)
    web = machine.partition("web")
    assert online(web) == "0-1"
    # one that is off by its own user's wish is given back all the same
    web.run(f"echo 0 >{ONLINE}/cpu1/online")
    grow(machine, "-1", "3")
    assert (online(web), machine.online_cpus()) == ("0", [0, 1, 2])
    web.close()
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_rounds_under_load(machine: Machine) -> None:
    """CPUs come and go while all of them are busy, and packets with them; nothing is lost."""
    start(machine, cpus="2-3", more="--max-cpus 3")
    remove(machine)
    before = Resources(machine)
    start(machine, flavour="6.12", cpus="3", more="--max-cpus 3")
    web = machine.partition("web")
    web.run(
        "for i in 1 2 3 4; do while :; do cat /proc/stat /proc/interrupts >/dev/null; done & done </dev/null >/dev/null 2>&1"
    )
    for _ in range(rounds(200, 4)):
        grow(machine, "+2", "1-3")
        machine.run("shimos ping -c 10 -i 0 web")
        grow(machine, "-2", "3")
    assert web.run("dmesg | grep -c 'WARNING\\|BUG'", check=False).output.strip() == "0"
    web.close()
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_killed_in_each_step(machine: Machine) -> None:
    """Its end, at any moment of it, leaves no CPU behind, and its next life has what it counts as its own."""
    before = Resources(machine)
    start(machine, flavour="6.12", cpus="3", more="--max-cpus 3")
    moments = random.Random(18)
    for round_number in range(rounds(50, 4)):
        way = "+" if len(show(machine)["cpus"]) < 3 else "-"
        machine.run(
            f"shimos resize web --cpus {way}1 >/tmp/resize 2>&1 & sleep {moments.uniform(0, 0.6):.3f};"
            " shimos kill web; wait",
            timeout=90,
        )
        its = show(machine)["cpus"]
        assert sorted([*its, *machine.online_cpus()]) == [0, 1, 2, 3], machine.run("cat /tmp/resize").output
        machine.run("shimos restart web", timeout=60)
        assert machine.partition("web").run("nproc").output.strip() == str(len(its)), round_number
        machine.release_consoles()
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


#: By the options of `shimos resize`, what the refusal must say.
REFUSED = {
    "--cpus +3": ("can get 2 CPUs now", "--max-cpus"),
    "--cpus -1": ("keeps the one that booted it",),
    "--cpus 1": ("+ for more or - for fewer",),
    "--cpus +0": ("no difference",),
    "--cpuset +0": ("CPU 0 is none of those", "--max-cpus"),
    "--cpuset +3": ("its own already",),
    "--cpuset -2": ("has no CPU 2",),
    "--cpuset -3": ("has booted 'web'",),
    "--cpuset +x": ("x",),
    "": ("--cpus", "--cpuset"),
}


def test_refusals(machine: Machine) -> None:
    """What cannot be is refused with the reason, and nothing changes."""
    refused(machine, "shimos resize web --cpus +1", "no partition 'web'")
    for options, why in (
        ("--max-cpus 5", "3 CPUs at most"),
        ("--max-cpus 1", "begins with 2 CPUs"),
        ("--max-cpus 3 --guarded", "cannot be used with"),
    ):
        refused(machine, run_command(machine, cpus="2-3", more=options), why)
    start(machine, cpus="3", more="--max-cpus 3")
    for options, words in REFUSED.items():
        refused(machine, f"shimos resize web {options}", *words)
        assert show(machine)["cpus"] == [3]
    start(machine, "db", cpus="2")
    refused(machine, "shimos resize web --cpuset +2", "CPU 2 belongs to another partition")
    refused(machine, "shimos resize db --cpus +1", "can get 0 CPUs now", "--max-cpus")
    remove(machine, "db")
    # both or none: one of them is the host's last
    machine.run("echo 0 >/sys/devices/system/cpu/cpu1/online")
    refused(machine, "shimos resize web --cpuset +2,1", "CPU 1 is offline")
    assert show(machine)["cpus"] == [3]
    machine.run("echo 1 >/sys/devices/system/cpu/cpu1/online; shimos stop web", timeout=60)
    refused(machine, "shimos resize web --cpus +1", "'web' is stopped")
    remove(machine)
    assert machine.online_cpus() == [0, 1, 2, 3]
    machine.assert_dmesg_clean()
