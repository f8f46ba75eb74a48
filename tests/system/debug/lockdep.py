"""The life of partitions, IKC, shared devices and trusted programs under lockdep and its like: `lab/debug/run`."""

from __future__ import annotations

import pytest

from lab import faults
from lab.devices import Disk, Nic
from lab.machine import Machine
from lab.stage import kml, kml_load
from lab.stage.devices import device
from lab.stage.disks import inside
from lab.stage.kml import TRUSTED
from lab.stage.lan import PING, bridge, ip4
from lab.stage.partitions import WAIT_FOR, initrd_with, remove, start, wait_state
from lab.stage.traffic import assert_correct, kernels, send_all

DEBUG = {"kernel": "debug", "partitions": ("debug",)}
PARTITIONS = (("web", "debug", "2-3"), ("db", "debug", "1"))
PROGRAM = "/usr/lib/shimos-test/ikc_user"


def assert_clean(machine: Machine, *partitions: str) -> None:
    """Check that no checker has anything to say, on either side, and that they are on."""
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
        fresh_machine.run("shimos ping -c 20 -i 0 web && shimos perf --time 1 db && shimos ikc", timeout=60)
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


#: Writes what it reads again, past all caches, and looks whether it is the same.
COPY = (
    "dd if=/dev/urandom of=/random bs=64k count=64 2>/dev/null && dd if=/random of={0} bs=64k oflag=direct 2>/dev/null"
)
COMPARE = "dd if={0} bs=64k count=64 iflag=direct 2>/dev/null | cmp - /random"


@pytest.mark.machine(**DEBUG, memory="6G", disks=[Disk("data", "64M"), Disk("more", "64M")], nics=[Nic()])
def test_devices(fresh_machine: Machine) -> None:
    """Disks and networks of two partitions: traffic, devices that come and go, removal, death and restart in the work."""
    data, more = fresh_machine.disk("data"), fresh_machine.disk("more")
    fresh_machine.run("modprobe shimos_backend")
    with bridge(fresh_machine) as lan:
        web = lan.start("web", "debug", "2-3", more=f" --disk {data}")
        lan.start("db", "debug", "1")
        raw = inside(web, data)
        web.run(f"{COPY.format(raw)} && {COMPARE.format(raw)}", timeout=120)
        for source, target in (("web", "db"), ("host", "web"), ("db", "host")):
            lan.exchange(source, target, 2 << 20)
        lan.datagrams("web", ip4("db"), 200, 9000)
        for _ in range(3):
            fresh_machine.run(f"shimos attach web --disk {more}")
            other = inside(web, more)
            web.run(f"dd if={other} of=/dev/null bs=64k count=64 2>/dev/null")
            fresh_machine.run(f"shimos detach web --disk {more}")
        assert device(fresh_machine, data)["errors"] == 0
        assert_clean(fresh_machine, "web", "db")
        # web dies while its disk and its network are busy.
        web.send(
            f"while :; do dd if=/random of={raw} bs=64k 2>/dev/null; sync; done & {PING} -f {ip4('host')} >/dev/null\n".encode()
        )
        arrived = "cat /sys/class/net/br0/statistics/rx_packets"
        fresh_machine.run(f"before=$({arrived}); until [ $(($({arrived}) - before)) -gt 500 ]; do sleep 0.1; done")
        fresh_machine.run("shimos kill web")
        web.close()
        assert_clean(fresh_machine, "web", "db")
        fresh_machine.run("shimos restart web", timeout=120)
        web = lan.address("web")
        lan.exchange("db", "web", 1 << 20)
        web.run(f"dd if={inside(web, data)} of=/dev/null bs=64k count=64 2>/dev/null")
        assert_clean(fresh_machine, "web", "db")
    fresh_machine.run("rmmod shimos_backend shimos_kloader shimos_ikc && modprobe shimos_kloader")
    assert_clean(fresh_machine)


@pytest.mark.machine(**DEBUG)
def test_trusted_programs_of_a_partition(fresh_machine: Machine) -> None:
    """Faults, traps and lost rights in kernel mode, where the kernel has no firmware and few devices."""
    module = f"/usr/lib/modules/{fresh_machine.versions['debug']}/updates/dkms/shimos_kml.ko"
    programs = {f"{TRUSTED}/{name}": name for name in ("kml_basic", "kml_call", "kml_faults", "kml_rights")}
    files = {"/shimos_kml.ko": module, **programs}
    start(fresh_machine, "web", "debug", more=f"--initrd {initrd_with(fresh_machine, 'debug', files)}")
    web = fresh_machine.partition("web")
    web.run("insmod /shimos_kml.ko")
    for _ in range(2):
        assert web.run(f"{TRUSTED}/kml_basic").lines[0] == "cpl 0"
        assert web.run(f"{TRUSTED}/kml_call check").lines == ["direct yes", "same"]
        assert web.run(f"{TRUSTED}/kml_faults 4").lines == ["fine faults"]
        web.run(f"{TRUSTED}/kml_rights threads && {TRUSTED}/kml_rights setuid")
    assert_clean(fresh_machine, "web")
    web.run("rmmod shimos_kml")
    web.close()
    fresh_machine.run("shimos kill web")
    remove(fresh_machine)
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
