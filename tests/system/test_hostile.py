"""A partition's kernel gone bad: what the host must survive and report."""

from __future__ import annotations

from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.partitions import Resources, initrd_with, refused, remove, show, start, wait_state


def bad_partition(machine: Machine) -> PartitionConsole:
    """A partition whose initrd has the misbehaving module at /shimos_test.ko."""
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
    silent = """shimos show web --json | sed -n 's/.*"silent_ns": *\\([0-9]*\\).*/\\1/p'"""
    machine.run(f"until [ $({silent}) -ge 4000000000 ]; do sleep 0.2; done", timeout=60)
    assert "hang" in machine.run("shimos show web").output
    console.close()
    machine.run("shimos kill web")
    machine.run("shimos restart web", timeout=60)
    assert machine.partition("web").run("nproc").output.strip() == "2"
    machine.partition("web").close()
    finish(machine, before)


def test_scribbled_shared_area(machine: Machine) -> None:
    """Random bytes all over the shared area, twenty times: the host reads on."""
    before = Resources(machine)
    console = bad_partition(machine)
    console.send(b"for i in $(seq 20); do insmod /shimos_test.ko do=scribble; rmmod shimos_test; done\n")
    console.close()
    for _ in range(5):
        machine.run("shimos show web && shimos ls --json && shimos logs web >/dev/null", timeout=60)
        machine.run("echo | timeout 2 shimos console web --read-only >/dev/null", check=False)
    machine.run("shimos kill web")
    show(machine)
    finish(machine, before)


def test_unknown_cause(machine: Machine) -> None:
    before = Resources(machine)
    console = bad_partition(machine)
    console.send(b"insmod /shimos_test.ko do=cause; echo b >/proc/sysrq-trigger\n")
    wait_state(machine, "web", "stopped|crashed")
    console.close()
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
