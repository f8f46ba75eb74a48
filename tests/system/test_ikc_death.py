"""Kernels that die or go mad while others talk to them."""

from __future__ import annotations

import random
import re

import pytest

from lab import faults
from lab.machine import Machine
from lab.stage.partitions import Resources, initrd_with, remove, start, wait_state
from lab.stage.traffic import Kernel, area, assert_correct, ikc, kernels, load, send_all, two_kernels
from tests.support.tiers import rare, rounds

pytestmark = pytest.mark.x2apic

#: Of a partition in the middle of its traffic.
KILLS = rounds(50, 4)


def sender_initrd(machine: Machine) -> str:
    """Make an initrd that sends to its peers as soon as it is up; returns its path."""
    files = {"/init": "ikc-sender-init", "/shimos_ikc_test.ko": "shimos_ikc_test.ko"}
    return initrd_with(machine, "6.1", files)


@rare("a stress test: unit tests kill ring and allocator in each step")
def test_kills_in_traffic(fresh_machine: Machine) -> None:
    """web is killed again and again while it exchanges blocks with both others; these go on, memory comes back."""
    before = Resources(fresh_machine)
    steady = 200_000_000
    with kernels(fresh_machine, ()) as found:
        host = found[0]
        initrd = initrd_with(fresh_machine, "6.12", {"/shimos_ikc_test.ko": "shimos_ikc_test.ko"})
        start(fresh_machine, "db", "6.12", "2", more=f"--initrd {initrd}")
        db = Kernel("db", 1, fresh_machine.partition("db"))
        db.shell.run("insmod /shimos_ikc_test.ko")
        start(fresh_machine, "web", "6.1", "3", "256M", more=f"--initrd {sender_initrd(fresh_machine)}")
        # Beside all that host and db talk to each other the whole time.
        host.command(f"send 1 {steady} plain 64")
        db.command(f"send 0 {steady} plain 64")

        chance = random.Random(1)
        for _ in range(KILLS):
            for kernel in (host, db):
                kernel.command(f"until 2 {chance.randrange(1, 3000)}")
                kernel.command(f"send 2 {steady} shared 64")
            host.command(f"until 2 {chance.randrange(3000, 6000)}")
            fresh_machine.run("shimos kill web")
            for kernel in (host, db):
                kernel.shell.run("until ! grep -q 'ready.2 ' /proc/ikc_test; do sleep 0.05; done")
            fresh_machine.run("shimos restart web", timeout=60)

        for kernel, peer in ((host, 1), (db, 0)):
            results = kernel.results()
            assert results[f"error.{peer}"] == 0, results
            assert results[f"wrong.{peer}"] == 0 and results[f"data_wrong.{peer}"] == 0, results
            # Of a dead kernel packets may be missing, but none is wrong.
            assert results["wrong.2"] == 0 and results["data_wrong.2"] == 0, results
            assert results["received.2"] >= KILLS, results
        fresh_machine.run("shimos kill web")
        host.command("stop")
        db.command("stop")
        send_all([host, db], 1_000, "shared")
        fresh_machine.release_consoles()
        remove(fresh_machine, "db")
        remove(fresh_machine, "web")
    # All rings and blocks are back but for the echo service's none.
    assert area(fresh_machine)["blocks"] == 0, ikc(fresh_machine)
    before.assert_back()
    fresh_machine.assert_dmesg_clean()


@pytest.mark.machine(stage=two_kernels)
def test_who_waits_for_room(fresh_machine: Machine) -> None:
    """A kernel dies that has read nothing: whoever waits for room in its ring gets an error."""
    with kernels(fresh_machine) as found:
        host, web, db = found
        web.command("deaf")
        for kernel in (host, db):
            kernel.command("send 1 1000000 plain")
            kernel.shell.run("until grep -q 'waits.1 [1-9]' /proc/ikc_test; do :; done")
        fresh_machine.partition("web").close()
        fresh_machine.run("shimos kill web")
        for kernel in (host, db):
            kernel.command("sent", timeout=20)
            assert kernel.results()["error.1"] < 0
        send_all([host, db], 1_000, "plain")
    fresh_machine.assert_dmesg_clean()


@pytest.mark.machine(stage=two_kernels)
def test_nonsense_breaks_one_queue(fresh_machine: Machine) -> None:
    """A packet or ring with nonsense in it: that queue is broken with a message, the others go on."""
    with kernels(fresh_machine) as found:
        host, web, db = found
        send_all(found, 1_000, "plain")
        web.command("spoil 0")
        host.command("until 2 1000")
        fresh_machine.run(
            "until dmesg | grep -q 'queue 1 is broken: kernel 1 sent memory that is not the sender'; do sleep 0.1; done"
        )
        broken = [(q["receiver"], q["sender"]) for q in ikc(fresh_machine)["queues"] if q["broken"]]
        assert broken == [("host", "web")]
        web.command("scribble 2")
        web.command("send 2 1000 plain")
        # Its doorbell is lost with the ring's wishes; db sees it when it looks for others' packets.
        send_all([host, db], 1_000, "shared")
        db.shell.run("until dmesg | grep -q 'queue 1 is broken: kernel 1 sent'; do sleep 0.1; done")
        assert_correct([host, db], 2_000)
    fresh_machine.assert_dmesg_clean()


@pytest.mark.machine(kernel="6.1", partitions=["6.1"])
def test_bells_at_vectors_of_others(fresh_machine: Machine) -> None:
    """A table that names vectors of the host's, or CPUs of another partition, for its bells: all go on."""
    boot = fresh_machine.boot_id()
    with kernels(fresh_machine, (("web", "6.1", "2"), ("db", "6.1", "3"))) as found:
        _, web, db = found
        web.command("bells 0 0")
        web.command("bells 0 3")
        web.command("bells 2 0")
        assert "No irq handler" not in db.shell.run("dmesg").output
        assert fresh_machine.boot_id() == boot
        assert not never_ended(fresh_machine)
        send_all(found, 1_000, "shared")
        assert_correct(found, 1_000)
    bad = [line for line in faults.unclean(fresh_machine.dmesg()) if "No irq handler for vector" not in line]
    assert not bad, bad


def never_ended(machine: Machine) -> set[tuple[int, str]]:
    """Return CPUs that have an interrupt in service at every look, and which: no handler will end it."""
    looks = []
    for _ in range(20):
        apics = [apic for _, apic in machine.diagnosis.cpu_states()]
        looks.append(
            {(cpu, v) for cpu, apic in enumerate(apics) for v in re.findall(r"^ISR[ \t]+(\d.*\d)", apic, re.MULTILINE)}
        )
        assert len(apics) == machine.spec.cpus
    return set.intersection(*looks)


def test_everything_shared_is_wrecked(fresh_machine: Machine) -> None:
    """Random bytes over the whole shared area: the host lives, and starts anew without a reboot."""
    before = Resources(fresh_machine)
    with kernels(fresh_machine) as found:
        host, web, db = found
        for kernel in found:
            for peer in found:
                if peer is not kernel:
                    kernel.command(f"send {peer.number} 100000000 shared")
        host.command("until 1 1000")
        for _ in range(rounds(10, 4)):
            web.command("wreck")
            fresh_machine.run("shimos ikc; shimos ikc --json; shimos show web; shimos ls", check=False)
        host.command("stop")
        fresh_machine.release_consoles()
        fresh_machine.run("shimos kill web; shimos kill db", check=False)
        wait_state(fresh_machine, "web", "stopped|crashed")
        assert (web.number, db.number) == (1, 2)
    fresh_machine.run("rmmod shimos_kloader && modprobe shimos_kloader")
    before.assert_back()
    load(fresh_machine)
    fresh_machine.run("rmmod shimos_ikc_test")
    with kernels(fresh_machine, (("web", "6.1", "2-3"),)) as found:
        send_all(found, 1_000, "shared")
        assert_correct(found, 1_000)
    fresh_machine.assert_dmesg_clean()
