"""Shared networks when partitions die or hang, devices come and go, and modules are unloaded under traffic."""

from __future__ import annotations

from time import sleep

import pytest

from lab.devices import Nic
from lab.machine import Machine
from lab.stage.devices import device, devices
from lab.stage.lan import CHECK, PING, PORT, Lan, bridge, ip4, net_initrd
from lab.stage.partitions import PROGRAMS, Resources, remove, wait_state
from tests.support.tiers import rare, rounds

pytestmark = [pytest.mark.x2apic, pytest.mark.machine(nics=[Nic()])]

MIB = 1 << 20
KILLS = rounds(10, 2)
#: More than there is time for.
ENDLESS = 1 << 40


def flood(lan: Lan, source: str, target: str) -> None:
    """Send as much as goes in both directions, in the background, until somebody dies."""
    lan.shell(source).run(f"{CHECK} tcp {ip4(target)} {PORT} {ENDLESS} >/dev/null 2>&1 &")


def until_bytes(lan: Lan, name: str, count: int) -> None:
    """Wait until a partition has received and sent so much more."""
    start = device(lan.machine, name)
    while True:
        now = device(lan.machine, name)
        if all(now[way] - start[way] > count for way in ("read_bytes", "write_bytes")):
            return
        sleep(0.1)


@rare("a stress test: test_hung_partition has one such end")
def test_kills_in_traffic(fresh_machine: Machine) -> None:
    """web dies again and again under traffic in both directions with host and db; these go on, memory and netdevs come back."""
    links = fresh_machine.run("ls /sys/class/net").output
    for flavour in ("6.1", "6.12"):
        net_initrd(fresh_machine, flavour)  # takes memory of the host's, in /tmp
    before = Resources(fresh_machine)
    with bridge(fresh_machine) as lan:
        lan.start("db", "6.1", "3", memory="256M")
        lan.start("web", "6.12", "2", memory="256M")
        for number in range(KILLS):
            flood(lan, "web", "host")
            flood(lan, "web", "db")
            until_bytes(lan, "web", 4 * MIB)
            fresh_machine.release_consoles()
            fresh_machine.run("shimos kill web")
            lan.exchange("db", "host", 4 * MIB)
            if number < KILLS - 1:
                fresh_machine.run("shimos restart web", timeout=90)
                lan.address("web")
                assert device(fresh_machine, "web")["state"] == "running"
        lan.remove("web")
        assert [d["user_name"] for d in devices(fresh_machine)] == ["db"]
        fresh_machine.run("test ! -e /sys/class/net/shm-web0")
        lan.exchange("host", "db", 4 * MIB)
    assert fresh_machine.run("ls /sys/class/net").output == links
    before.assert_back()
    fresh_machine.assert_dmesg_clean()


def test_back_end_unloaded(machine: Machine) -> None:
    """rmmod of the back end under traffic: web's device vanishes, web lives and gets another one later."""
    with bridge(machine) as lan:
        web = lan.start("web", "6.12", "2")
        flood(lan, "web", "host")
        until_bytes(lan, "web", 4 * MIB)
        machine.run("rmmod shimos_backend", timeout=60)
        web.run("while ip link show eth0 2>/dev/null; do usleep 50000; done")
        machine.run("test ! -e /sys/class/net/shm-web0")
        machine.run("modprobe shimos_backend && shimos attach web --net br0")
        web.run("until ip link show eth0 2>/dev/null; do usleep 50000; done; killall net_check iperf3", check=False)
        lan.address("web")
        lan.exchange("web", "host", 4 * MIB)
    machine.assert_dmesg_clean()


def test_forced_detach(machine: Machine) -> None:
    """detach under traffic, asked for and forced: the netdev is gone on both sides, a new one works."""
    with bridge(machine) as lan:
        web = lan.start("web", "6.1", "2")
        for force in ("", "--force"):
            flood(lan, "web", "host")
            until_bytes(lan, "web", 4 * MIB)
            machine.run(f"shimos detach web --net shm-web0 {force}")
            machine.run("test ! -e /sys/class/net/shm-web0")
            web.run("! ip link show eth0 2>/dev/null")
            machine.run("shimos attach web --net br0")
            web.run("until ip link show eth0 2>/dev/null; do usleep 50000; done; killall net_check iperf3", check=False)
            lan.address("web")
            lan.exchange("web", "host", 4 * MIB)
    machine.assert_dmesg_clean()


def test_attach_and_detach(machine: Machine) -> None:
    """Two at a time, with and without a bridge, by force and not, while another device is busy."""
    with bridge(machine) as lan:
        web = lan.start("web", "6.12", "2")
        flood(lan, "web", "host")
        free = machine.mem_free()
        for number in range(rounds(20, 6)):
            machine.run(f"shimos attach web --net {'br0' if number % 2 else 'p2p'} --net p2p")
            web.run("until ip link set eth1 up && ip link set eth2 up; do usleep 50000; done 2>/dev/null")
            for device_id in [d["id"] for d in devices(machine)][1:]:
                machine.run(f"shimos detach web --id {device_id} {'--force' if number % 3 else ''}")
            assert len(devices(machine)) == 1
        until_bytes(lan, "web", 4 * MIB)
        assert machine.run("ls /sys/class/net | grep shm").lines == ["shm-web0"]
        assert web.run("ls -1 /sys/class/net").lines == ["eth0", "lo"]
        assert machine.mem_free() > free - Resources.SLACK
    machine.assert_dmesg_clean()


def test_start_while_network_is_locked(machine: Machine) -> None:
    """A driver gets its answer although the owner's RTNL is held: its own kernel's is, and the owner may wait for that."""
    with bridge(machine) as lan:
        web = lan.start("web", "6.12", "2")
        machine.run(f"insmod {PROGRAMS}/{machine.versions[machine.flavour]}/shimos_rtnl_hold.ko")
        driver = "/sys/bus/virtio/drivers/virtio_net"
        net = web.run(f"ls {driver} | grep virtio").output.strip()
        web.run(f"echo {net} >{driver}/unbind")
        assert device(machine, "web")["state"] == "offered"
        machine.run("echo 1 >/proc/rtnl_hold")
        try:
            web.run(f"echo {net} >{driver}/bind", timeout=60)
            state = device(machine, "web")["state"]
        finally:
            machine.run("echo 0 >/proc/rtnl_hold && rmmod shimos_rtnl_hold")
        assert state == "running", state
        web.run(f"ip link set eth0 up && ip addr add {ip4('web')}/24 dev eth0")
        lan.exchange("web", "host", 4 * MIB)
        lan.exchange("host", "web", 4 * MIB)
    machine.assert_dmesg_clean()


def test_hung_partition(machine: Machine) -> None:
    """web's only CPU stands still with interrupts off: what others send it does not hold anybody up."""
    with bridge(machine) as lan:
        lan.start("db", "6.1", "3")
        web = lan.start("web", "6.12", "2")
        for source in ("db", "host"):
            flood(lan, source, "web")
            flood(lan, "web", source)
        until_bytes(lan, "web", 4 * MIB)
        web.send(b"insmod /shimos_test.ko do=hang\n")
        # Whoever sends to it on and on is served a second later at the latest, others at once.
        dropped = device(machine, "web")["errors"]
        lan.shell("db").run(f"{PING} -i 0.002 -c 500 -q {ip4('web')} >/dev/null 2>&1 &")
        for _ in range(3):
            lan.exchange("db", "host", 4 * MIB)
            lan.exchange("host", "db", 4 * MIB)
        machine.run(f"{PING} -i 0.002 -c 200 -W 1 -q {ip4('web')}", check=False)
        lan.exchange("db", "host", 4 * MIB)
        assert device(machine, "web")["errors"] > dropped
        machine.release_consoles()
        machine.run("shimos kill web")
        wait_state(machine, "web", "stopped|crashed")
        machine.run("shimos restart web", timeout=90)
        lan.address("web")
        lan.exchange("web", "db", 4 * MIB)
        remove(machine, "web")
        lan.partitions.remove("web")
    machine.assert_dmesg_clean()
