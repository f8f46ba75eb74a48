"""The life of partitions, all of IKC and trusted programs under lockdep and its like: `lab/debug/run`."""

from __future__ import annotations

import pytest

from lab import faults
from lab.machine import Machine
from lab.stage import kml, kml_load
from lab.stage.partitions import WAIT_FOR, remove, start, wait_state
from lab.stage.traffic import assert_correct, kernels, send_all

DEBUG = {"kernel": "debug", "partitions": ("debug",)}
PARTITIONS = (("web", "debug", "2-3"), ("db", "debug", "1"))
PROGRAM = "/usr/lib/shimos-test/ikc_user"


def assert_clean(machine: Machine, *partitions: str) -> None:
    """No checker has anything to say, on either side, and they are on."""
    machine.run("grep -q 'debug_locks: *1' /proc/lockdep_stats")  # it turns itself off when it reports
    machine.assert_dmesg_clean()
    for name in partitions:
        log = machine.run(f"shimos logs {name}").output
        assert not faults.unclean(log), log


@pytest.mark.machine(**DEBUG)
def test_life(fresh_machine: Machine) -> None:
    """Start, power-off, restart, panic, kill, removal, unloading."""
    start(fresh_machine, "web", "debug")
    console = fresh_machine.partition("web")
    console.send(b"echo c >/proc/sysrq-trigger\n")
    wait_state(fresh_machine, "web", "crashed")
    console.close()
    fresh_machine.run("shimos restart web", timeout=120)
    assert_clean(fresh_machine, "web")
    fresh_machine.run("shimos stop web", timeout=60)
    fresh_machine.run("shimos restart web", timeout=120)
    fresh_machine.run("shimos kill web")
    assert_clean(fresh_machine, "web")
    remove(fresh_machine)
    fresh_machine.run("rmmod shimos_kloader shimos_ikc && modprobe shimos_kloader")
    assert_clean(fresh_machine)


@pytest.mark.machine(**DEBUG)
def test_communication(fresh_machine: Machine) -> None:
    """Packets, blocks, pages, programs, growth, CPUs that go and come, misuse, death."""
    with kernels(fresh_machine, PARTITIONS, programs=("ikc_user",)) as found:
        host, web, db = found
        for kind, count in (("plain", 20_000), ("shared", 5_000), ("page", 500)):
            send_all(found, count, kind)
        assert_correct(found, 25_500)
        fresh_machine.run("shimos ping -c 20 -i 0 web && shimos perf -t 1 db && shimos ikc", timeout=60)
        web.shell.run("ikc_user echo host 5 2000 >/tmp/log 2>&1 &")
        fresh_machine.run(f"{PROGRAM} events web 5 2000", timeout=60)
        web.shell.run("ikc_user echo db 7 2000 >/tmp/log 2>&1 &")
        db.shell.run("ikc_user talk web 7 2000", timeout=60)
        fresh_machine.run(f"{PROGRAM} errors web")
        web.command("hoard 40 65536")
        web.command("send 0 100000 shared")
        for value in "01":
            web.shell.run(f"echo {value} >/sys/devices/system/cpu/cpu1/online")
        web.command("spoil 2")
        # web dies while it talks to both, a program of the host with it.
        db.command("send 1 100000000 shared")
        web.shell.run("ikc_user echo host 5 100000000 >/tmp/log 2>&1 &")
        fresh_machine.run(f"{PROGRAM} hold web 5 >/tmp/hold 2>&1 & {WAIT_FOR} text connected /tmp/hold")
        assert_clean(fresh_machine, "web", "db")
        fresh_machine.partition("web").close()
        fresh_machine.run(f"shimos kill web && {WAIT_FOR} text 'written on' /tmp/hold")
        fresh_machine.run("shimos restart web", timeout=120)
        host.command("misuse 2")
        assert_clean(fresh_machine, "web", "db")
    fresh_machine.run("rmmod shimos_kloader shimos_ikc && modprobe shimos_kloader")
    assert_clean(fresh_machine)


def test_trusted_programs() -> None:
    """Faults, forks, threads and signals in kernel mode, NMIs, CPUs that go, lack of memory, lost rights, unloading."""
    with kml.make(**DEBUG) as machine:
        kml.prepare(machine)
        for event in (kml_load.move_cpus, kml_load.eat_memory, kml_load.give_up, kml_load.try_unload):
            kml_load.begin(machine, 20)
            event(machine)
            kml_load.end(machine, timeout=300)
        kml_load.storm(machine, 8)
        kml.assert_nothing_left(machine)
        assert_clean(machine)
        machine.run("rmmod shimos_kml && modprobe shimos_kml")
        assert_clean(machine)
