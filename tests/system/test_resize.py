"""Partitions that get and lose CPUs and memory while they run."""

from __future__ import annotations

import random

import pytest

from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.partitions import (
    MEMORY_MIB,
    Resources,
    initrd_with,
    refused,
    remove,
    run_command,
    show,
    start,
    wait_silent,
)
from tests.support.tiers import REPETITION, late, rare, rounds

pytestmark = late("growing and shrinking; that CPUs and memory come and go all other tests say")

ONLINE = "/sys/devices/system/cpu"
#: A disk for a partition: a file of the host's.
DATA = "/root/data"


def online(web: PartitionConsole) -> str:
    """Return the CPUs that a partition has online, as it numbers them."""
    return web.run(f"cat {ONLINE}/online").output.strip()


def grow(machine: Machine, by: str, has: str) -> None:
    """Give CPUs or take some back, and check what it has then, as the host numbers them."""
    said = machine.run(f"shimos resize web --cpus {by}", timeout=60).output
    assert said == f"web: has CPUs {has} now\n"


def memory(web: PartitionConsole) -> int:
    """Return how much memory a partition's kernel counts, in MiB."""
    return int(web.run("awk '/^MemTotal/ {print $2}' /proc/meminfo").output) >> 10


def grow_memory(machine: Machine, by: str, has: str) -> None:
    """Give memory or take some back, and check what it has then."""
    said = machine.run(f"shimos resize web --memory {by}", timeout=90).output
    assert said == f"web: has {has} now\n"


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


@pytest.mark.parametrize("flavour", ["6.12", pytest.param("6.1", marks=REPETITION)])
def test_memory_comes_and_goes(machine: Machine, flavour: str) -> None:
    """What comes is used at once, by a shared disk's requests, too; what goes is the host's again."""
    machine.run(f"truncate -s 160M {DATA}")
    start(machine, flavour=flavour, cpus="3", memory="384M")
    remove(machine)
    before = Resources(machine)
    start(machine, flavour=flavour, cpus="3", memory="384M", more=f"--disk {DATA}")
    web = machine.partition("web")
    began = memory(web)
    grow_memory(machine, "+512M", "896 MiB")
    assert memory(web) == pytest.approx(began + 512, abs=16)
    # a process's pages can be moved and go there first: the disk reads and writes what has come
    web.run("dd if=/dev/urandom of=/dev/vda bs=1M count=128 oflag=direct", timeout=120)
    read = web.run("dd if=/dev/vda bs=1M count=128 iflag=direct 2>/dev/null | md5sum").output
    assert read == machine.run(f"head -c 128M {DATA} | md5sum").output
    web.run("mkdir -p /mnt && mount -t tmpfs -o size=90% none /mnt")
    web.run("dd if=/dev/zero of=/mnt/data bs=1M count=500", timeout=120)
    refused(machine, "shimos resize web --memory -512M", "'web' has not enough memory for that")
    web.run("rm /mnt/data && sync && echo 3 >/proc/sys/vm/drop_caches")
    grow_memory(machine, "-256M", "640 MiB")
    grow_memory(machine, "-256M", "384 MiB")
    assert memory(web) == pytest.approx(began, abs=16)
    refused(machine, "shimos resize web --memory -128M", "keeps the 384 MiB that it has started with")
    # and what it has when it starts again is its own from then on
    grow_memory(machine, "+128M", "512 MiB")
    web.close()
    machine.run("shimos restart --force web", timeout=60)
    web = machine.partition("web")
    assert memory(web) == pytest.approx(began + 128, abs=24)
    web.close()
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_rounds_under_load(machine: Machine) -> None:
    """CPUs and memory come and go while they are busy, and packets with them; nothing is lost."""
    start(machine, cpus="2-3", more="--max-cpus 3")
    remove(machine)
    before = Resources(machine)
    start(machine, flavour="6.12", cpus="3", memory="384M", more="--max-cpus 3")
    web = machine.partition("web")
    web.run(
        "for i in 1 2 3; do while :; do cat /proc/stat /proc/interrupts >/dev/null; done & done </dev/null >/dev/null 2>&1"
    )
    # files that fill what has come, and are moved when it goes
    web.run("mkdir -p /mnt && mount -t tmpfs -o size=100M none /mnt && dd if=/dev/urandom of=/mnt/data bs=1M count=32")
    copies = "while cp /mnt/data /mnt/copy && cmp /mnt/data /mnt/copy && rm /mnt/copy; do :; done; echo >/tmp/ended"
    web.run(f"({copies}) </dev/null >/dev/null 2>&1 &")
    for _ in range(rounds(200, 4)):
        grow_memory(machine, "+128M", "512 MiB")
        grow(machine, "+2", "1-3")
        machine.run("shimos ping -c 10 -i 0 web")
        grow_memory(machine, "-128M", "384 MiB")
        grow(machine, "-2", "3")
    assert web.run("[ -e /tmp/ended ]", check=False).status == 1
    assert web.run("dmesg | grep -c 'WARNING\\|BUG'", check=False).output.strip() == "0"
    web.close()
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


@rare("test_rounds_under_load goes through the same steps, and nobody is killed")
def test_killed_in_each_step(machine: Machine) -> None:
    """Its end, at any moment of it, leaves nothing behind, and its next life has what it counts as its own."""
    before = Resources(machine)
    start(machine, flavour="6.12", cpus="3", memory="256M", more="--max-cpus 3")
    less = 256 - memory(machine.partition("web"))
    machine.release_consoles()
    moments = random.Random(18)
    for round_number in range(rounds(50, 6)):
        has = show(machine)
        if round_number % 2:
            step = "--memory " + ("+128M" if has["memory"] >> 20 < 512 else "-128M")
        else:
            step = "--cpus " + ("+1" if len(has["cpus"]) < 3 else "-1")
        machine.run(
            f"shimos resize web {step} >/tmp/resize 2>&1 & sleep {moments.uniform(0, 0.6):.3f}; shimos kill web; wait",
            timeout=90,
        )
        its = show(machine)
        assert sorted([*its["cpus"], *machine.online_cpus()]) == [0, 1, 2, 3], machine.run("cat /tmp/resize").output
        machine.run("shimos restart web", timeout=60)
        web = machine.partition("web")
        assert web.run("nproc").output.strip() == str(len(its["cpus"])), round_number
        assert memory(web) == pytest.approx((its["memory"] >> 20) - less, abs=24), round_number
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
    "--memory 128M": ("+ for more or - for fewer",),
    "--memory +0": ("is zero",),
    "--memory +100M": ("in steps of 128 MiB",),
    "--memory -128M": ("keeps the 224 MiB that it has started with",),
    "--memory +64G": ("keeps 128 MiB for itself",),
    "": ("--cpus", "--cpuset", "--memory"),
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
    initrd = initrd_with(machine, "6.1", {"/shimos_test.ko": "shimos_test.ko"})
    start(machine, "db", cpus="2", more=f"--initrd {initrd}")
    refused(machine, "shimos resize web --cpuset +2", "CPU 2 belongs to another partition")
    refused(machine, "shimos resize db --cpus +1", "can get 0 CPUs now", "--max-cpus")
    # It would believe of web's memory what it knew before.
    machine.partition("db").send(b"insmod /shimos_test.ko do=hang\n")
    wait_silent(machine, "db", 3_000_000_000)
    refused(machine, "shimos resize web --memory +128M", "a partition has not taken notice for 2000 ms")
    assert show(machine)["memory"] == MEMORY_MIB << 20
    machine.release_consoles()
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
