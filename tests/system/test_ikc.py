"""Packets, blocks and pages between the stock kernels of one machine."""

from __future__ import annotations

import errno

import pytest

from lab import faults
from lab.machine import Machine
from lab.stage.partitions import PROGRAMS, WAIT_FOR, Resources, refused, show, start
from lab.stage.traffic import area, assert_correct, ikc, kernels, send_all, two_kernels
from tests.support.tiers import REPETITION, rounds

pytestmark = pytest.mark.x2apic

#: Of the area and the interface, in kernel/include/uapi/shimos_ikc_limits.h.
VERSION = 4
#: Packets from each kernel to each other.
PACKETS = rounds(1_000_000, 100_000)


def test_packets_each_way(machine: Machine) -> None:
    """Three kernels, all to all at once, under load: none lost, none reordered."""
    before = Resources(machine)
    used = area(machine)["used"]
    with kernels(machine) as found:
        load = machine.run("nice -n 19 sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!").output.strip()
        send_all(found, PACKETS, "plain")
        machine.run(f"kill {load}")
        assert_correct(found, PACKETS)
        queues = [q for q in ikc(machine)["queues"] if q["queue"] == 1]
        assert len(queues) == 6
        for queue in queues:
            assert queue["packets"] >= PACKETS
            assert queue["doorbells"] + queue["doorbells_saved"] <= queue["packets"]
            assert not queue["broken"]
        shown = machine.run("shimos show web").output
        assert "DOORBELLS" in shown.upper() and "FULL" in shown.upper(), shown
        assert {q["queue"] for q in show(machine)["queues"]} >= {1}
    assert area(machine)["used"] == used, "the dead kernels' blocks came back"
    before.assert_back()
    machine.assert_dmesg_clean()


@pytest.mark.machine(stage=two_kernels)
def test_blocks_and_pages(fresh_machine: Machine) -> None:
    """Shared-memory transfer and page transfer, each with its data checked."""
    with kernels(fresh_machine) as found:
        used = area(fresh_machine)["used"]
        blocks, pages = rounds(100_000, 20_000), rounds(5_000, 1_000)
        send_all(found, blocks, "shared")
        assert_correct(found, blocks)
        assert area(fresh_machine)["used"] == used, "every block was freed by its receiver"
        send_all(found, pages, "page")
        assert_correct(found, blocks + pages)
    fresh_machine.assert_dmesg_clean()


@pytest.mark.parametrize(
    ("host", "partitions"),
    [
        ("6.1", (("web", "6.12", "2-3"),)),
        pytest.param("6.12", (("web", "6.1-rt", "2-3"), ("db", "6.12-rt", "1")), marks=REPETITION),
    ],
    ids=["older host", "real-time partitions"],
)
def test_other_kernels(host: str, partitions: tuple[tuple[str, str, str], ...]) -> None:
    """A 6.1 host with a 6.12 partition; both real-time flavours as partitions."""
    with (
        Machine(kernel=host, partitions=[flavour for _, flavour, _ in partitions]) as machine,
        kernels(machine, partitions) as found,
    ):
        for kind in ("plain", "shared", "page"):
            send_all(found, 2_000, kind)
        assert_correct(found, 6_000)
        machine.run(f"shimos ping -c 10 -i 0 {found[1].name}")
        for kernel in found[1:]:
            assert not faults.unclean(machine.run(f"shimos logs {kernel.name}").output)
        machine.assert_dmesg_clean()


@pytest.mark.machine(stage=two_kernels)
def test_misuse(fresh_machine: Machine) -> None:
    """Each wrong call is refused with its own error, counted, and does no harm."""
    with kernels(fresh_machine) as found:
        host, web, db = found
        before = area(fresh_machine)
        host.command("misuse 1")
        results = host.results()
        expected = {
            "alloc": 1,
            "alloc_zero": 1,
            "alloc_too_large": 1,
            "write_unknown_kernel": -errno.EINVAL,
            "write_absent_kernel": -errno.ENXIO,
            "write_self": -errno.EINVAL,
            "write_unknown_queue": -errno.EINVAL,
            "write_closed_queue": -errno.ENOTCONN,
            "read_closed_queue": -errno.EINVAL,
            "open_twice": -errno.EBUSY,
            "open_unknown_queue": -errno.EINVAL,
            "open_too_many_slots": -errno.EINVAL,
            "write_bad_flags": -errno.EINVAL,
            "write_no_block": -errno.EFAULT,
            "write_freed_block": -errno.EALREADY,
            "write_block": 0,
            "map_own": 0,
            "map_nowhere": 0,
        }
        assert {name: results.get(name) for name in expected} == expected
        after = area(fresh_machine)
        assert after["too_large"] - before["too_large"] == 2
        assert after["double_frees"] - before["double_frees"] == 1
        assert after["foreign_frees"] - before["foreign_frees"] == 3
        log = fresh_machine.dmesg()
        for words in (
            "a block has 1 to 65536",
            "the block is free already",
            "belongs to another kernel",
            "no block of the shared area",
        ):
            assert words in log
        # A kernel that is down: an error at once, and everybody else goes on.
        fresh_machine.partition("db").close()
        fresh_machine.run("shimos kill db")
        host.command("send 2 10 plain")
        host.command("sent", timeout=5)
        assert host.results()["error.2"] == -errno.EHOSTDOWN
        refused(fresh_machine, "shimos ping -c 1 db", "down")
        refused(fresh_machine, "shimos ping -c 1 nobody", "nobody", "web")
        send_all([host, web], 1_000, "plain")
        assert db.number == 2
    fresh_machine.assert_dmesg_clean()


@pytest.mark.machine(stage=two_kernels)
def test_area_grows(fresh_machine: Machine) -> None:
    """When the shared area is full the host adds to it; all kernels can follow."""
    with kernels(fresh_machine) as found:
        _, web, db = found
        before = area(fresh_machine)
        web.command("hoard 100 65536")
        db.command("hoard 100 4096")
        after = area(fresh_machine)
        assert after["bytes"] >= before["bytes"] + (4 << 20)
        assert after["used"] - before["used"] >= 100 * 65536 + 100 * 4096
        send_all(found, 5_000, "shared")
        assert_correct(found, 5_000)
        fresh_machine.partition("web").close()
        fresh_machine.run("shimos kill web")
        assert area(fresh_machine)["used"] < after["used"] - 100 * 65536
    fresh_machine.assert_dmesg_clean()


def test_bells_follow_their_cpus(machine: Machine) -> None:
    """CPUs of receivers go offline and come back under traffic; no wake-up is lost."""
    with kernels(machine, (("web", "6.12", "2-3"),)) as found:
        host, web = found
        assert machine.run("grep -c shimos-ikc /proc/interrupts").output.strip() == "4"
        assert web.shell.run("grep -c shimos-ikc /proc/interrupts").output.strip() == "2"
        # traffic for as long as CPUs come and go
        count, times = rounds(300_000, 120_000), rounds(8, 3)
        host.command(f"send 1 {count} plain")
        web.command(f"send 0 {count} plain")
        toggle = (
            f"for i in $(seq {times}); do for v in 0 1; do echo $v >/sys/devices/system/cpu/cpu1/online; done; done"
        )
        web.shell.run(toggle, timeout=120)
        machine.run(toggle, timeout=120)
        host.command(f"until 1 {count}")
        web.command(f"until 0 {count}")
        assert_correct(found, count)
        # The bells still ring when they are needed: nobody polls now.
        send_all(found, 100, "plain")
    machine.assert_dmesg_clean()


def test_kloader_stays_while_it_is_used(machine: Machine) -> None:
    """The area is not taken away from a module or a program that uses it."""
    with kernels(machine, (("web", "6.1", "2-3"),), programs=("ikc_user",)) as found:
        found[1].shell.run("ikc_user echo host 5 1000000 >/tmp/log 2>&1 &")
        machine.run(f"/usr/lib/shimos-test/ikc_user hold web 5 >/tmp/hold 2>&1 & {WAIT_FOR} text connected /tmp/hold")
        # One more program keeps its channel open, mapped, when all partitions are gone.
        holder = f"{PROGRAMS}/hold_channel.py >/tmp/python 2>&1 & echo $! >/tmp/pid"
        machine.run(f"{holder}; {WAIT_FOR} file /tmp/open")
        machine.partition("web").close()
        machine.run("shimos rm --force web")
        refused(machine, "rmmod shimos_kloader", "in use")
    refused(machine, "rmmod shimos_kloader", "in use")
    machine.run(f"kill -9 $(cat /tmp/pid); {WAIT_FOR} exit $(cat /tmp/pid)")
    machine.run("rmmod shimos_kloader && modprobe shimos_kloader")
    machine.assert_dmesg_clean()


def test_wrong_version(machine: Machine) -> None:
    """A partition whose modules know another version stays out, and says both."""
    with kernels(machine, ()) as found:
        found[0].command("version 77")
        try:
            start(machine, "web")
            log = machine.run("shimos logs web").output
            assert "IKC area has version 77" in log and f"knows version {VERSION}" in log, log
            assert "takes no part in inter-kernel communication" in log
            refused(machine, "shimos ping -c 1 web", "web")
        finally:
            found[0].command(f"version {VERSION}")
            machine.run("shimos rm --force web", check=False)
    machine.assert_dmesg_clean()
