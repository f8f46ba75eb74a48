"""The network tables of `bench/devices`: round trips and throughput, beside loopback and a veth pair."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable
from typing import Protocol

#: The issue's aims: a round trip at most twice loopback's, TCP at least a veth pair's.
RTT_AIM, TCP_AIM = 2.0, 1.0
NETNS, NETNS_ADDRESS, VETH_ADDRESS = "other", "10.8.0.2", "10.8.0.1"


class Kernel(Protocol):
    """Where programs run, and its address."""

    name: str
    address: str

    def run(self, command: str, timeout: float = 300) -> str:
        """The output of a command."""


def make_veth(host: Kernel) -> None:
    """A second network namespace of the host, behind a veth pair."""
    host.run(
        f"modprobe veth && ip netns add {NETNS} && ip link add v0 type veth peer name v1 netns {NETNS}"
        f" && ip address add {VETH_ADDRESS}/24 dev v0 && ip link set v0 up && ip -n {NETNS} link set lo up"
        f" && ip -n {NETNS} address add {NETNS_ADDRESS}/24 dev v1 && ip -n {NETNS} link set v1 up"
    )


def ping(kernel: Kernel, address: str, count: int, prefix: str = "") -> float:
    """Median round trip in microseconds."""
    text = kernel.run(f"{prefix}ping -n -c {count} -i 0.02 {address}", timeout=300)
    times = [float(t) for t in re.findall(r"time=([0-9.]+) ms", text)]
    if len(times) < count:
        raise RuntimeError(f"{count - len(times)} of {count} pings to {address} were lost")
    return statistics.median(times) * 1000


def iperf(server: Kernel, client: Kernel, address: str, options: str, wrap: tuple[str, str] = ("", "")) -> float:
    """Megabits per second that arrive at the server; `wrap` are prefixes there and here."""
    server.run(f"rm -f /tmp/iperf.log; ({wrap[0]}iperf3 -s -1 -p 5300 --forceflush >/tmp/iperf.log 2>&1 &)")
    server.run("until grep -q listening /tmp/iperf.log; do :; done")
    result = json.loads(client.run(f"{wrap[1]}iperf3 -J -p 5300 -c {address} {options}", timeout=300))
    if "error" in result:
        raise RuntimeError(f"iperf3 {options}: {result['error']}")
    end = result["end"]
    received = end.get("sum_received") or end["sum"]
    lost = 1 - end["sum"].get("lost_percent", 0) / 100 if "udp" in options or "-u" in options else 1.0
    return float(received["bits_per_second"]) / 1e6 * (lost if "sum_received" not in end else 1.0)


def instructions(host: Kernel, web: Kernel, scale: float) -> bool:
    """What a round trip costs all kernels together; the emulator's clock counts instructions."""
    make_veth(host)
    count = max(20, int(100 * scale))
    for address in ("127.0.0.1", NETNS_ADDRESS, web.address):
        ping(host, address, 20)
    rows = {
        "loopback": ping(host, "127.0.0.1", count),
        "veth pair": ping(host, NETNS_ADDRESS, count),
        "host and partition": ping(host, web.address, count),
    }
    return print_round_trips(rows, "instructions", 1000)


def print_round_trips(rows: dict[str, float], unit: str, factor: float) -> bool:
    """One table; the aim is for everything that is a partition's."""
    print(f"\n| ping, median | {unit} | times loopback | aim |\n| --- | --- | --- | --- |")
    met = True
    for name, value in rows.items():
        ratio = value / rows["loopback"]
        aim = ""
        if "partition" in name:
            met &= ratio <= RTT_AIM
            aim = f"<= {RTT_AIM} {'met' if ratio <= RTT_AIM else 'MISSED'}"
        print(f"| {name} | {value * factor:.0f} | {ratio:.2f} | {aim} |")
    return met


def times(host: Kernel, web: Kernel, db: Kernel, scale: float) -> bool:
    """Round trips and throughput by the clock; one CPU on each side everywhere."""
    make_veth(host)
    count = max(50, int(200 * scale))
    rows = {
        "loopback": ping(host, "127.0.0.1", count),
        "veth pair": ping(host, NETNS_ADDRESS, count),
        "host and partition": ping(host, web.address, count),
        "two partitions": ping(web, db.address, count),
    }
    met = print_round_trips(rows, "us", 1)
    return throughput(host, web, db, max(2, int(8 * scale))) and met


def throughput(host: Kernel, web: Kernel, db: Kernel, seconds: int) -> bool:
    """TCP and UDP; True if TCP is at least a veth pair's."""
    pinned = ("taskset -c 0 ", "taskset -c 1 ")
    inside = (f"ip netns exec {NETNS} {pinned[0]}", pinned[1])
    kinds: dict[str, Callable[[str], float]] = {
        "loopback, one CPU each": lambda o: iperf(host, host, "127.0.0.1", o, pinned),
        "veth pair, one CPU each": lambda o: iperf(host, host, NETNS_ADDRESS, o, inside),
        "partition to host": lambda o: iperf(host, web, host.address, o, (pinned[0], "")),
        "host to partition": lambda o: iperf(web, host, web.address, o, ("", pinned[1])),
        "partition to partition": lambda o: iperf(web, db, web.address, o),
    }
    print("\n| throughput, Mbit/s | TCP | times veth | aim | UDP (1400 bytes) | times veth |")
    print("| --- | --- | --- | --- | --- | --- |")
    veth: dict[str, float] = {}
    met = True
    for name, run in kinds.items():
        tcp, udp = run(f"-t {seconds}"), run(f"-u -b 0 -l 1400 -t {seconds}")
        if name.startswith("veth"):
            veth = {"tcp": tcp, "udp": udp}
        aim, ratios = "", ("", "")
        if veth:
            ratios = (f"{tcp / veth['tcp']:.2f}", f"{udp / veth['udp']:.2f}")
        if "partition" in name:
            met &= tcp >= TCP_AIM * veth["tcp"]
            aim = f">= {TCP_AIM} {'met' if tcp >= TCP_AIM * veth['tcp'] else 'MISSED'}"
        print(f"| {name} | {tcp:.0f} | {ratios[0]} | {aim} | {udp:.0f} | {ratios[1]} |", flush=True)
    return met
