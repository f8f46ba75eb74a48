"""Networks that partitions share with the host: stock virtio_net over our transport, our device in a bridge."""

from __future__ import annotations

import hashlib
import json
import random
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import pytest

from lab import outside
from lab.devices import OUTSIDE, Nic
from lab.machine import Machine
from lab.stage.devices import device, devices
from lab.stage.lan import LOOPS, PING, Lan, bridge, ip4, ip6, statistics
from lab.stage.partitions import refused
from lab.stage.traffic import Shell
from tests.support.tiers import REPETITION, rare, rounds

# The first card can do nothing but send, the second one knows checksums and TSO.
MACHINE = pytest.mark.machine(nics=[Nic(), Nic("vmxnet3")])
pytestmark = [pytest.mark.x2apic, MACHINE]

MIB = 1 << 20
#: The test's process on the second card's network.
OUTSIDE_2 = "10.0.3.2"
#: All ways between them.
WAYS = [
    *(("web", "host"), ("host", "web"), ("web", "db")),
    *(pytest.param("db", target, marks=REPETITION) for target in ("web", "host")),
]


def test_interface(shared_lan: Lan) -> None:
    """run --net: a stock virtio_net with the address and the MTU that the host knows of."""
    for name in ("web", "db"):
        known = device(shared_lan.machine, name)
        assert (known["state"], known["type"], known["mtu"]) == ("running", "net", 1500), known
        console = shared_lan.shell(name)
        shown = console.run("cat /sys/class/net/eth0/address /sys/class/net/eth0/mtu /sys/class/net/eth0/carrier")
        assert shown.lines == [known["mac"], "1500", "1"]
        assert "driver: virtio_net" in console.run("ethtool -i eth0").output
        assert known["name"] == f"shm-{name}0"
        shared_lan.machine.run(f"test -e /sys/class/net/br0/brif/shm-{name}0")
        assert "shimos_backend" in shared_lan.machine.run(f"ethtool -i shm-{name}0").output


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_data(shared_lan: Lan, source: str, target: str) -> None:
    """TCP in both directions at once and datagrams of all sizes, IPv4 and IPv6: every byte arrives."""
    for size in (1, 1447, rounds(64, 16) * MIB + 3):
        shared_lan.exchange(source, target, size)
    shared_lan.exchange(source, target, 8 * MIB, address=ip6(target))
    shared_lan.datagrams(source, ip4(target), 200, 65507)
    shared_lan.datagrams(source, ip6(target), 200, 1452)


@pytest.mark.parametrize("server", [OUTSIDE, OUTSIDE_2])
def test_outside(shared_lan: Lan, server: str) -> None:
    """Through the host's cards, one of which cannot cut up large packets and one that can."""
    web, body = shared_lan.shell("web"), random.Random(1).randbytes(4 * MIB)
    web.run("ip address add 10.0.3.16/24 dev eth0", check=False)
    with outside.http(body) as port:
        down = web.run(f"wget -q -O - http://{server}:{port}/ | tee /tmp/body | sha256sum")
        assert hashlib.sha256(body).hexdigest() in down.output
    with outside.echo() as port:
        # Its input stays open until all has come back.
        talk = f"nc {server} {port} </tmp/body | head -c {len(body)} | cmp - /tmp/body"
        web.run(talk)


def test_from_outside(shared_lan: Lan) -> None:
    """A partition serves the world: a web server in it, its client beyond the host's card."""
    body = random.Random(2).randbytes(4 * MIB)
    web = shared_lan.shell("web")
    with outside.http(body) as port:
        web.run(f"mkdir -p /www && wget -q -O /www/body http://{OUTSIDE}:{port}/ && httpd -p 80 -h /www")
    url = f"http://127.0.0.1:{shared_lan.machine.forward(80, ip4('web'))}/body"
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310
        assert answer.read() == body
    web.run("killall httpd")


# Addresses and settings --------------------------------------------------


def test_dhcp(shared_lan: Lan) -> None:
    """dnsmasq on the host's bridge gives a partition its address."""
    web, run = shared_lan.shell("web"), shared_lan.machine.run
    run(
        "dnsmasq --port=0 --interface=br0 --except-interface=lo --bind-interfaces --dhcp-range=10.0.2.100,10.0.2.110"
        f" --dhcp-host={device(shared_lan.machine, 'web')['mac']},10.0.2.107 --pid-file=/run/dnsmasq.pid --user=root"
    )
    try:
        # The emulator's own network has a server, too: ask until ours was the first.
        script = '#!/bin/sh\n[ "$1" != bound ] || echo "$ip from $serverid"\n'
        web.run(f"printf '{script}' >/tmp/bound && chmod +x /tmp/bound")
        web.run(
            "until udhcpc -i eth0 -n -q -f -s /tmp/bound 2>/dev/null | grep '^10.0.2.107 from 10.0.2.15'; do usleep 50000; done"
        )
    finally:
        run("kill $(cat /run/dnsmasq.pid)")


@contextmanager
def attached(lan: Lan, name: str, spec: str) -> Iterator[dict[str, Any]]:
    """Attach one more network device to a partition, eth1 there."""
    lan.machine.run(f"shimos attach {name} --net {spec}")
    mine = max((d for d in devices(lan.machine) if d["user_name"] == name), key=lambda d: int(d["id"]))
    lan.shell(name).run("until ip link show eth1 2>/dev/null; do usleep 50000; done")
    try:
        yield mine
    finally:
        lan.machine.run(f"shimos detach {name} --id {mine['id']} --force")
        lan.shell(name).run("! ip link show eth1 2>/dev/null")


def test_point_to_point(shared_lan: Lan) -> None:
    """Without a bridge, with jumbo frames, an address and a name of one's choice."""
    machine, web = shared_lan.machine, shared_lan.shell("web")
    spec = "p2p,mtu=9000,mac=52:54:00:aa:bb:cc,name=cable%d"
    with attached(shared_lan, "web", spec) as mine:
        assert (mine["name"], mine["mac"], mine["mtu"]) == ("cable0", "52:54:00:aa:bb:cc", 9000), mine
        assert web.run("cat /sys/class/net/eth1/address /sys/class/net/eth1/mtu").lines == [mine["mac"], "9000"]
        machine.run(
            "ip link set cable0 up && ip address add 10.9.0.1/24 dev cable0 && test ! -e /sys/class/net/cable0/master"
        )
        web.run("ip link set eth1 up && ip address add 10.9.0.2/24 dev eth1")
        web.run(f"{PING} -c 3 -i 0.01 -M do -s 8972 10.9.0.1", timeout=20)
        assert web.run(f"{PING} -c 1 -M do -s 8973 10.9.0.1", check=False).status != 0
        shared_lan.exchange("web", "host", 16 * MIB, address="10.9.0.1")
        shared_lan.exchange("host", "web", 16 * MIB, address="10.9.0.2")
        shared_lan.datagrams("host", "10.9.0.2", 50, 8900)
    machine.run("test ! -e /sys/class/net/cable0")


def test_not_up_yet(shared_lan: Lan) -> None:
    """What is sent before the partition's interface is up is dropped at once and no error: nobody can expect it."""
    machine, web = shared_lan.machine, shared_lan.shell("web")
    with attached(shared_lan, "web", "p2p,name=early%d") as mine:
        machine.run(
            "ip link set early0 up && ip address add 10.9.0.1/24 dev early0"
            f" && ip neigh add 10.9.0.2 lladdr {mine['mac']} dev early0"
        )
        # Longer than the back end waits for a driver that has made no room.
        assert "100% packet loss" in machine.run(f"{PING} -c 200 -i 0.01 -q 10.9.0.2", check=False).output
        assert device(machine, "early0")["errors"] == 0
        assert statistics(machine, "early0", ["tx_dropped"])["tx_dropped"] >= 200
        web.run("ip link set eth1 up && ip address add 10.9.0.2/24 dev eth1")
        machine.run(f"{PING} -c 3 -i 0.01 10.9.0.2", timeout=20)
        assert device(machine, "early0")["errors"] == 0


def test_jumbo_frames_between_partitions(shared_lan: Lan) -> None:
    """Two partitions on a bridge of 9000 bytes, which their devices take over."""
    machine = shared_lan.machine
    machine.run("ip link delete br9 2>/dev/null; ip link add br9 type bridge && ip link set br9 mtu 9000 up")
    with attached(shared_lan, "web", "br9") as mine, attached(shared_lan, "db", "br9") as other:
        assert (mine["mtu"], other["mtu"]) == (9000, 9000)
        for number, name in enumerate(("web", "db"), 1):
            shared_lan.shell(name).run(f"ip link set eth1 up && ip address add 10.9.0.{number}/24 dev eth1")
        shared_lan.shell("web").run(f"{PING} -c 3 -i 0.01 -M do -s 8972 10.9.0.2", timeout=20)
        shared_lan.exchange("web", "db", 16 * MIB, address="10.9.0.2")
        shared_lan.datagrams("db", "10.9.0.1", 50, 8900)
    machine.run("ip link delete br9")


def test_addresses_last(shared_lan: Lan) -> None:
    """A derived MAC is local, no group's, different per device, and the same each time."""
    seen = []
    for _ in range(2):
        with attached(shared_lan, "web", "p2p") as mine:
            seen.append(mine["mac"])
    first = int(seen[0][:2], 16)
    assert seen[0] == seen[1] and first & 3 == 2, seen
    assert len({d["mac"] for d in devices(shared_lan.machine)} | {seen[0]}) == 3


#: By specification, what the refusal must say.
WRONG_NETS = {
    "br7": ["no bridge 'br7'", "ip link add"],
    "eth0": ["'eth0' is no bridge"],
    "br0,mac=52:54:00:00:00:00": ["eth0 has the address 52:54:00:00:00:00"],
    "br0,mac=@web": ["shm-web0", "has the address"],
    "br0,mac=01:00:5e:00:00:01": ["group"],
    "br0,mtu=67": ["mtu=67", "68"],
    "br0,mtu=70000": ["mtu=70000", "65535"],
    "br0,queues=17": ["1 to 16"],
    "br0,name=abcdefghijklmnop": ["15 characters"],
    "br0,name=shm-web0": ["interface 'shm-web0' already"],
    "br0,name=a%s": ["'%'"],
    "br0,speed=1": ["'speed' is no option"],
}


@pytest.mark.parametrize(("spec", "words"), WRONG_NETS.items(), ids=WRONG_NETS)
def test_bad_input(shared_lan: Lan, spec: str, words: list[str]) -> None:
    """Each mistake has its text and leaves nothing behind."""
    machine = shared_lan.machine
    before = machine.run("ls /sys/class/net; shimos devices | cut -c 1-30").output
    spec = spec.replace("@web", device(machine, "web")["mac"])
    refused(machine, f"shimos attach db --net {spec}", *words)
    refused(machine, f"shimos attach db --net p2p --net {spec}", *words)
    assert machine.run("ls /sys/class/net; shimos devices | cut -c 1-30").output == before


# Offloads ----------------------------------------------------------------


def average_packets(lan: Lan, source: str, target: str, size: int = rounds(32, 16) * MIB) -> dict[str, float]:
    """Send; returns bytes per packet that left the partitions and that came in, by partition."""
    names = ("tx_packets", "tx_bytes", "rx_packets", "rx_bytes")
    partitions = [name for name in (source, target) if name != "host"]
    before = {name: statistics(lan.shell(name), "eth0", names) for name in partitions}
    lan.exchange(source, target, size, "send")
    sizes = {}
    for name in partitions:
        now = statistics(lan.shell(name), "eth0", names)
        way = "tx" if name == source else "rx"
        packets, total = (now[f"{way}_{what}"] - before[name][f"{way}_{what}"] for what in ("packets", "bytes"))
        assert total > size
        sizes[name] = total / packets
    return sizes


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_large_packets(shared_lan: Lan, source: str, target: str) -> None:
    """TCP's large packets pass in one piece, with a checksum that nobody has computed."""
    sizes = average_packets(shared_lan, source, target)
    assert all(size > 10_000 for size in sizes.values()), sizes


@pytest.mark.parametrize("off", ["web", "host"])
def test_without_offloads(shared_lan: Lan, off: str) -> None:
    """Switched off on either side, packets are small and everything still arrives."""
    link, shell = {"web": ("eth0", shared_lan.shell("web")), "host": ("shm-web0", shared_lan.shell("host"))}[off]
    source, target = ("web", "host") if off == "web" else ("host", "web")
    shell.run(f"ethtool -K {link} tso off gso off tx off sg off")
    try:
        assert average_packets(shared_lan, source, target, 8 * MIB)["web"] < 1515
        shared_lan.exchange("web", "db", 8 * MIB)
        shared_lan.exchange("web", "host", 8 * MIB, address=ip6("host"))
        shared_lan.datagrams("web", ip4("db"), 50, 65507)
    finally:
        shell.run(f"ethtool -K {link} tx on sg on tso on gso on")
    assert average_packets(shared_lan, source, target)["web"] > 10_000


# Zero copy ---------------------------------------------------------------


_WATCH = "/sys/module/shimos_skb_watch/parameters"


def settled(machine: Machine, before: dict[str, Any]) -> dict[str, int]:
    """Return how web's counters have grown when nobody has its pages any more: a card may say late that it is done."""
    names = ("direct_bytes", "copied_bytes", "write_bytes", "writes")
    deadline = monotonic() + 10
    while True:
        after = device(machine, "web")
        grown = {name: after[name] - before[name] for name in names}
        if grown["direct_bytes"] + grown["copied_bytes"] >= grown["write_bytes"]:
            return grown
        assert monotonic() < deadline, f"packets that are not let go of: {grown}"


@contextmanager
def watching(lan: Lan, link: str) -> Iterator[dict[str, int]]:
    """Yield where the packets lie that ``link`` is given to send, and web's counters: known at the end."""
    machine = lan.machine
    found: dict[str, int] = {}
    before = device(machine, "web")
    folder = f"/usr/lib/shimos-test/{machine.versions[machine.flavour]}"
    machine.run(f"insmod {folder}/shimos_skb_watch.ko device={link} user={before['user']}")
    try:
        yield found
        found |= settled(machine, before)
        names = ("packets", "theirs", "ours", "largest", "copies")
        values = machine.run(f"cat {' '.join(f'{_WATCH}/{name}' for name in names)}").lines
        found |= dict(zip(names, map(int, values), strict=True))
    finally:
        machine.run("rmmod shimos_skb_watch")


def test_no_copy_to_a_sibling(shared_lan: Lan) -> None:
    """From web to db: db's end is given web's own pages, all but headers; the one copy is into db's buffers."""
    size = 32 * MIB
    db = device(shared_lan.machine, "db")
    with watching(shared_lan, "shm-db0") as found:
        shared_lan.exchange("web", "db", size, "send")
    assert found["theirs"] >= size * 0.99 and found["copies"] == 0, found
    assert found["direct_bytes"] >= size * 0.99, found
    # Headers, and packets too small for it.
    assert found["copied_bytes"] < size * 0.01 and found["ours"] < size * 0.01, found
    copied = device(shared_lan.machine, "db")["copied_bytes"] - db["copied_bytes"]
    assert size <= copied < size * 1.02


def test_no_copy_to_a_card(shared_lan: Lan) -> None:
    """From web to the outside: the card's driver is given web's own pages."""
    shared_lan.shell("web").run("ip address add 10.0.3.16/24 dev eth0", check=False)
    size = 8 * MIB
    with outside.sink() as port, watching(shared_lan, "eth1") as found:
        shared_lan.shell("web").run(f"head -c {size} /dev/zero | nc {OUTSIDE_2} {port}")
    assert found["theirs"] == found["direct_bytes"] > size * 0.95 and found["copies"] == 0, found
    # Of each only the headers' 128 bytes are copied, or all of the shortest.
    assert found["ours"] < found["packets"] * 140, found
    # Cut up by the card, not before.  How many are large is up to TCP.
    assert found["largest"] > 3000, found


def test_one_copy_to_the_host_itself(shared_lan: Lan) -> None:
    """For a socket of the host's own: as it comes from web's pages, and Linux has none of these to copy."""
    size = 32 * MIB
    with watching(shared_lan, "none") as found:
        shared_lan.exchange("web", "host", size, "send")
    assert size <= found["copied_bytes"] < size * 1.02 and found["direct_bytes"] == 0, found
    assert found["copies"] == 0, found


# Programs in the path -----------------------------------------------------

_DROP_ALL = "/usr/lib/x86_64-linux-gnu/bpf/xdpfilt_dny_all.o"


@pytest.mark.parametrize(("link", "mode", "target"), [("shm-web0", "skb", "host"), ("eth0", "native", "outside")])
def test_xdp(shared_lan: Lan, link: str, mode: str, target: str) -> None:
    """An XDP program that drops everything stops the traffic, without it everything is back."""
    web, run = shared_lan.shell("web"), shared_lan.machine.run
    ping = f"{PING} -i 0.05 -w 5 -c 1 -q {OUTSIDE if target == 'outside' else ip4(target)}"
    web.run(ping)
    run(f"xdp-loader load -m {mode} {link} {_DROP_ALL}")
    try:
        assert "xdpfilt_dny_all" in run(f"xdp-loader status {link}").output
        silent = web.run(ping.replace("-w 5", "-w 1"), check=False)
        assert silent.status != 0 and " 0 received" in silent.output, silent.output
    finally:
        run(f"xdp-loader unload {link} --all")
    web.run(ping)
    shared_lan.exchange("web", "host", 8 * MIB)


# Load ---------------------------------------------------------------------


def iperf(shell: Shell, target: str, options: str, seconds: int = rounds(5, 3)) -> dict[str, Any]:
    """Run iperf3; returns the end of its report."""
    output = shell.run(f"iperf3 --json -t {seconds} -c {ip4(target)} {options}", timeout=seconds + 60).output
    report: dict[str, Any] = json.loads(output)
    assert "error" not in report, report
    end: dict[str, Any] = report["end"]
    return end


@pytest.mark.parametrize("way", [pytest.param("", marks=REPETITION), "--reverse", "--bidir"])
def test_tcp_under_load(shared_lan: Lan, way: str) -> None:
    """TCP for some seconds while the host's CPUs are busy."""
    shared_lan.machine.run("for n in 1 2; do timeout 60 yes >/dev/null 2>&1 & done")
    try:
        end = iperf(shared_lan.shell("web"), "host", way)
    finally:
        shared_lan.machine.run("pkill -x yes")
    print(f"TCP {way or 'forward'}: {end['sum_received']['bits_per_second'] / 1e6:.0f} Mbit/s")
    assert end["sum_received"]["bytes"] > MIB, end
    assert device(shared_lan.machine, "web")["state"] == "running"


@pytest.mark.parametrize("way", ["", "--reverse"])
def test_udp(shared_lan: Lan, way: str) -> None:
    """5 s of datagrams, slow enough that none may be lost between two kernels."""
    # not shorter: what is lost while both ends begin would weigh more
    end = iperf(shared_lan.shell("web"), "host", f"--udp --bitrate 5M {way}", 5)
    print(f"UDP {way or 'forward'}: {end['sum']['packets']} datagrams, {end['sum']['lost_packets']} lost")
    assert end["sum"]["packets"] > 1000 and end["sum"]["lost_packets"] <= end["sum"]["packets"] * 0.02, end["sum"]


#: Datagrams after which a flood has done what it can.
FLOODED = 300_000


@pytest.mark.parametrize("name", ["web", "db"])
def test_flood(shared_lan: Lan, name: str) -> None:
    """Datagrams as fast as the host sends them leave a kernel with one CPU time for its programs."""
    shell, threaded = shared_lan.shell(name), "/sys/class/net/eth0/threaded"
    assert shell.run(f"nproc; cat {threaded}").lines == ["1", "0"]
    alone = int(shell.run(f"{LOOPS} 1000").output)
    flood = f"iperf3 --udp --bitrate 0 --length 1400 --time 200 --client {ip4(name)}"
    shared_lan.machine.run(f"({flood} >/dev/null 2>&1 &)")
    try:
        # A busy computer's emulator may flood too little to starve anybody: then there is nothing to wait for.
        count = "/sys/class/net/eth0/statistics/rx_packets"
        shell.run(f"until [ $(cat {threaded}) = 1 -o $(cat {count}) -gt {FLOODED} ]; do :; done", timeout=100)
        beside = int(shell.run(f"{LOOPS} 3000", timeout=60).output) / 3
    finally:
        shared_lan.machine.run("pkill -x iperf3; iperf3 -s -D")
    print(f"{name}: {beside / alone:.2f} of its speed")
    assert beside >= alone / 10
    shell.run(f"until [ $(cat {threaded}) = 0 ]; do :; done", timeout=50)


def test_round_trips(shared_lan: Lan) -> None:
    """ping to everybody, none is lost."""
    for target in ("host", "db", "web"):
        result = shared_lan.shell("web").run(f"{PING} -c 200 -i 0.005 -q {ip4(target)}", timeout=60)
        print(f"ping {target}: {result.lines[-1]}")
        assert " 0% packet loss" in result.output


# Other shapes --------------------------------------------------------------


def queue_packets(shell: Shell, link: str) -> list[int]:
    """Return packets by queue, receiving and sending, of 6.1's virtio_net; later ones tell only by netlink."""
    return [int(line.split()[1]) for line in shell.run(f"ethtool -S {link} | grep 'queue_[0-9]*_packets:'").lines]


@pytest.mark.machine(nics=[Nic()])
def test_queues(fresh_machine: Machine) -> None:
    """Two pairs of queues both carry traffic; the driver may give one up and take it back."""
    with bridge(fresh_machine) as lan:
        web = lan.start("web", "6.1", "2-3", more=",queues=2")
        combined = "ethtool -l eth0 | awk '/Combined/ {print $2}'"
        assert web.run(combined).lines == ["2", "2"]
        before = queue_packets(web, "eth0")
        for way in ("", "--reverse"):
            iperf(web, "host", f"-P 8 {way}", 2)
        used = [now - then for now, then in zip(queue_packets(web, "eth0"), before, strict=True)]
        assert len(used) == 4 and min(used) > 100, used
        for pairs in (1, 2):
            web.run(f"ethtool -L eth0 combined {pairs}")
            assert web.run(combined).lines == ["2", str(pairs)]
            shown = fresh_machine.run("ethtool -l shm-web0 | awk '/Combined/ {print $2}'").lines
            assert shown == ["2", str(pairs)]
            lan.exchange("web", "host", 16 * MIB)
            iperf(web, "host", "-P 4 --bidir", 2)
    fresh_machine.assert_dmesg_clean()


@pytest.mark.machine(kernel="6.1", partitions=["6.1", "6.12"], nics=[Nic()])
@rare("the same networks on another kernel")
def test_older_host(fresh_machine: Machine) -> None:
    """Exchange data of all kinds with 6.1 on the host."""
    with bridge(fresh_machine) as lan:
        lan.start("web", "6.12", "2")
        lan.start("db", "6.1", "3")
        for source, target in (("web", "db"), ("db", "host"), ("host", "web")):
            lan.exchange(source, target, 16 * MIB)
            lan.datagrams(source, ip6(target), 50, 65507)
        before = device(fresh_machine, "web")
        lan.exchange("web", "db", 16 * MIB, "send")
        assert device(fresh_machine, "web")["direct_bytes"] - before["direct_bytes"] > 15 * MIB
    fresh_machine.assert_dmesg_clean()
