"""A partition's kernel gone bad: what the host must survive and report."""

from __future__ import annotations

from lab.arch import ARM64
from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.partitions import Resources, initrd_with, refused, remove, show, start, wait_silent, wait_state


def bad_partition(machine: Machine) -> PartitionConsole:
    """Run a partition whose initrd has the misbehaving module at /shimos_test.ko."""
    initrd = initrd_with(machine, "6.1", {"/shimos_test.ko": "shimos_test.ko"})
    start(machine, more=f"--initrd {initrd}")
    return machine.partition("web")


def finish(machine: Machine, before: Resources) -> None:
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_hang_with_interrupts_off(machine: Machine) -> None:
    """All its CPUs spin with interrupts off: silent, killed, started again."""
    before = Resources(machine)
    console = bad_partition(machine)
    console.send(b"insmod /shimos_test.ko do=hang\n")
    wait_silent(machine, "web", 4_000_000_000)
    assert "hang" in machine.run("shimos show web").output
    console.close()
    machine.run("shimos kill web", timeout=60)
    assert (show(machine)["state"], show(machine)["cause"]) == ("stopped", "killed")
    # where no CPU can be stopped from outside
    overwritten = "web: its kernel does not hear: its code is overwritten to stop it" in machine.dmesg()
    assert overwritten == (machine.arch is ARM64)
    machine.run("shimos restart web", timeout=60)
    assert machine.partition("web").run("nproc").output.strip() == "2"
    machine.partition("web").close()
    finish(machine, before)


def test_scribbled_shared_area(machine: Machine) -> None:
    """Random bytes all over the shared area, twenty times: the host reads on."""
    before = Resources(machine)
    console = bad_partition(machine)
    # It tells by its kernel's log, for the console is scribbled on; what that brings as input must not end it.
    each = "insmod /shimos_test.ko do=scribble && rmmod shimos_test && echo scribbled-$i >/dev/kmsg"
    console.send(
        f"setsid sh -c 'for i in $(seq 20); do {each}; usleep 100000; done' </dev/null >/dev/null 2>&1 &\n".encode()
    )
    # Not when its shell says so, for that is scribbled on, too.
    while "scribbled-" not in machine.run("shimos logs web", timeout=60).output:
        pass
    console.close()
    seen = 0
    while "scribbled-20\n" not in machine.run("shimos logs web", timeout=60).output:
        machine.run("shimos show web && shimos ls --json", timeout=60)
        machine.run("echo | timeout 2 shimos console web --read-only >/tmp/seen", check=False)
        seen += int(machine.run("LC_ALL=C grep -caP '[\\x80-\\xff]' /tmp/seen || :").output)
    assert seen, "the host has not read a random byte: nothing was scribbled"
    machine.run("shimos kill web")
    show(machine)
    finish(machine, before)


def test_unknown_cause(machine: Machine) -> None:
    """A cause that does not exist counts as a reset: the host takes none that it does not know."""
    before = Resources(machine)
    console = bad_partition(machine)
    # The host looks when it is rung for output.  Nothing but the cause ends the partition.
    console.send(b"insmod /shimos_test.ko do=cause; while :; do echo still here; done\n")
    wait_state(machine, "web", "stopped|crashed")
    console.close()
    ended = show(machine)
    assert (ended["state"], ended["cause"]) == ("crashed", "reset"), f"the unknown cause was taken: {ended}"
    finish(machine, before)


def test_spoiled_stash(machine: Machine) -> None:
    """A partition that overwrote its stored image is not started from it."""
    before = Resources(machine)
    console = bad_partition(machine)
    console.run("insmod /shimos_test.ko do=spoil")
    console.close()
    machine.run("shimos kill web")
    refused(machine, "shimos restart web", "overwritten", "run it anew")
    finish(machine, before)


def test_reset_register(machine: Machine) -> None:
    """A reset without a word is noticed and contained."""
    before = Resources(machine)
    console = bad_partition(machine)
    console.send(b"insmod /shimos_test.ko do=reset\n")
    wait_state(machine, "web", "crashed")
    console.close()
    assert show(machine)["cause"] == "reset"
    finish(machine, before)
