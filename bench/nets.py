"""The network tables of `bench/devices`: round trips and throughput, beside loopback and a veth pair."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

#: The issue's aims: a round trip at most twice loopback's, TCP at least a veth pair's.
RTT_AIM, TCP_AIM = 2.0, 1.0
#: Packets of a size that every network takes whole.
UDP = "-u -l 1400"
#: More than an emulated machine can, in Mbit/s.
UDP_MOST = 1000.0
#: What may be lost at a throughput that counts, and how often the search for it halves its range.
LOSS, SEARCH = 0.01, 6
VETH = "veth pair"
NETNS, NETNS_ADDRESS, VETH_ADDRESS = "other", "10.8.0.2", "10.8.0.1"


class Kernel(Protocol):
    """Where programs run, and its address."""

    name: str
    address: str

    def run(self, command: str, timeout: float = 300) -> str:
        """Run a command; returns its output."""


def make_veth(host: Kernel) -> None:
    """Make a second network namespace of the host, behind a veth pair."""
    host.run(
        f"modprobe veth && ip netns add {NETNS} && ip link add v0 type veth peer name v1 netns {NETNS}"
        f" && ip address add {VETH_ADDRESS}/24 dev v0 && ip link set v0 up && ip -n {NETNS} link set lo up"
        f" && ip -n {NETNS} address add {NETNS_ADDRESS}/24 dev v1 && ip -n {NETNS} link set v1 up"
    )


def ping(kernel: Kernel, address: str, count: int, prefix: str = "") -> float:
    """Return the median round trip in microseconds."""
    text = kernel.run(f"{prefix}ping -n -c {count} -i 0.02 {address}", timeout=300)
    times = [float(t) for t in re.findall(r"time=([0-9.]+) ms", text)]
    if len(times) < count:
        raise RuntimeError(f"{count - len(times)} of {count} pings to {address} were lost")
    return statistics.median(times) * 1000


@dataclass(frozen=True)
class Stream:
    """What arrived of a stream: megabits per second, and the part that was lost."""

    mbits: float
    lost: float


def iperf(server: Kernel, client: Kernel, address: str, options: str, wrap: tuple[str, str] = ("", "")) -> Stream:
    """Run one stream; ``wrap`` are prefixes there and here."""
    server.run(f"rm -f /tmp/iperf.log; ({wrap[0]}iperf3 -s -1 -p 5300 --forceflush >/tmp/iperf.log 2>&1 &)")
    server.run("until grep -q listening /tmp/iperf.log; do :; done")
    result = json.loads(client.run(f"{wrap[1]}iperf3 -J -p 5300 -c {address} {options}", timeout=300))
    if "error" in result:
        raise RuntimeError(f"iperf3 {options}: {result['error']}")
    end = result["end"]
    if "sum" not in end:  # TCP
        return Stream(end["sum_received"]["bits_per_second"] / 1e6, 0.0)
    lost = end["sum"]["lost_percent"] / 100
    return Stream(end["sum"]["bits_per_second"] / 1e6 * (1 - lost), lost)


def without_loss(run: Callable[[str], Stream], most: float) -> float:
    """Return the most Mbit/s of UDP of which at most LOSS is lost, up to ``most`` (RFC 2544, section 26.1)."""
    low, high, best = 0.0, most, 0.0
    for _ in range(SEARCH):
        rate = (low + high) / 2
        found = run(f"{UDP} -b {rate:.1f}M -t 2")
        if found.lost <= LOSS:
            low, best = rate, max(best, found.mbits)
        else:
            high = rate
    return best


def instructions(host: Kernel, web: Kernel, scale: float) -> bool:
    """Print what a round trip costs all kernels together; the emulator's clock counts instructions."""
    make_veth(host)
    count = max(20, int(100 * scale))
    for address in ("127.0.0.1", NETNS_ADDRESS, web.address):
        ping(host, address, 20)
    rows = {
        "loopback": ping(host, "127.0.0.1", count),
        VETH: ping(host, NETNS_ADDRESS, count),
        "host and partition": ping(host, web.address, count),
    }
    print_streams(host, web, scale)
    return print_round_trips(rows, "instructions", 1000)


def print_streams(host: Kernel, web: Kernel, scale: float) -> None:
    """Print what TCP costs all kernels together, whoever could work at the same time."""
    seconds = f"-t {max(1, round(4 * scale))}"  # of a thousand million instructions each
    rows = {name: run(seconds).mbits for name, run in streams(host, web).items()}
    print("\n| TCP | instructions per 64 KiB | times veth |\n| --- | --- | --- |")
    for name, mbits in rows.items():
        print(f"| {name} | {(65536 * 8) * 1000 / mbits:.0f} | {rows[VETH] / mbits:.2f} |", flush=True)


def streams(host: Kernel, web: Kernel) -> dict[str, Callable[[str], Stream]]:
    """Return how iperf3 is run between which two, with its options; one CPU on each side everywhere."""
    pinned = ("taskset -c 0 ", "taskset -c 1 ")
    inside = (f"ip netns exec {NETNS} {pinned[0]}", pinned[1])
    return {
        VETH: lambda o: iperf(host, host, NETNS_ADDRESS, o, inside),
        "loopback": lambda o: iperf(host, host, "127.0.0.1", o, pinned),
        "partition to host": lambda o: iperf(host, web, host.address, o, (pinned[0], "")),
        "host to partition": lambda o: iperf(web, host, web.address, o, ("", pinned[1])),
    }


def print_round_trips(rows: dict[str, float], unit: str, factor: float) -> bool:
    """Print one table; the aim is for everything that is a partition's. True if it is met."""
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
    """Print round trips and throughput by the clock; one CPU on each side everywhere."""
    make_veth(host)
    count = max(50, int(200 * scale))
    rows = {
        "loopback": ping(host, "127.0.0.1", count),
        VETH: ping(host, NETNS_ADDRESS, count),
        "host and partition": ping(host, web.address, count),
        "two partitions": ping(web, db.address, count),
    }
    met = print_round_trips(rows, "us", 1)
    return throughput(host, web, db, max(2, int(8 * scale))) and met


def throughput(host: Kernel, web: Kernel, db: Kernel, seconds: int) -> bool:
    """Print TCP and UDP; True if TCP is at least a veth pair's."""
    kinds = streams(host, web) | {"partition to partition": lambda o: iperf(web, db, web.address, o)}
    print(
        f"\n| throughput, Mbit/s | TCP | times veth | aim | UDP, at most {LOSS:.0%} lost | times veth | UDP, unpaced |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    veth: tuple[float, float] | None = None
    met = True
    for name, run in kinds.items():
        tcp, flood = run(f"-t {seconds}").mbits, run(f"{UDP} -b 0 -t {seconds}").mbits
        udp = without_loss(run, UDP_MOST)
        veth = veth or (tcp, udp)
        aim = ""
        if "partition" in name:
            met &= tcp >= TCP_AIM * veth[0]
            aim = f">= {TCP_AIM} {'met' if tcp >= TCP_AIM * veth[0] else 'MISSED'}"
        ratios = (f"{tcp / veth[0]:.2f}", f"{udp / veth[1]:.2f}")
        print(f"| {name} | {tcp:.0f} | {ratios[0]} | {aim} | {udp:.0f} | {ratios[1]} | {flood:.0f} |", flush=True)
    return met
