"""Networks between two kernels and to the outside."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.compare.results import Clock
from bench.compare.system import System
from bench.compare.workload import Group, Workload
from lab.devices import OUTSIDE

_PORT = 5300
_BOTH: tuple[Clock, ...] = ("times", "instructions")


def ping(system: System) -> float:
    """Return the median round trip in microseconds, from the second kernel to the first."""
    count = system.count(200)
    with system.jobs(1):
        text = system.pair[1].run(f"ping -n -c {count} -i 0.01 {system.peer_address}")
    times = [float(t) for t in re.findall(r"time=([0-9.]+) ms", text)]
    if len(times) < count:
        raise RuntimeError(f"{count - len(times)} of {count} pings were lost")
    return statistics.median(times) * 1000


def _received(text: str) -> float:
    """Return Mbit/s of iperf3's report."""
    report: dict[str, Any] = json.loads(text)
    if "error" in report:
        raise RuntimeError(f"iperf3: {report['error']}")
    rate = float(report["end"]["sum_received"]["bits_per_second"]) / 1e6
    if not rate:
        raise RuntimeError("iperf3: nothing arrived")
    return rate


@contextmanager
def _offload(system: System, wanted: bool) -> Iterator[None]:
    """Let whoever sends cut large packets up, or not."""
    link = "lo" if system.name == "native" else "eth0"
    client = system.pair[1]
    if not wanted:
        client.run(f"ethtool -K {link} tso off gso off gro off")
    try:
        yield
    finally:
        if not wanted:
            client.run(f"ethtool -K {link} tso on gso on gro on")


def tcp(offload: bool) -> Callable[[System], float]:
    """Measure TCP from the second kernel to the first."""

    def run(system: System) -> float:
        server, client = system.pair
        with system.jobs(2), _offload(system, offload):
            server.run(f"rm -f /tmp/iperf.log; (iperf3 -s -1 -p {_PORT} --forceflush >/tmp/iperf.log 2>&1 &)")
            server.run("until grep -q listening /tmp/iperf.log; do sleep 0.02; done")
            return _received(client.run(f"iperf3 -J -p {_PORT} -t {_seconds(system)} -c {system.peer_address}"))

    return run


def _seconds(system: System) -> int:
    return max(2, system.count(8))


def outside(system: System) -> float:
    """Measure TCP through the card to a server outside of the machine."""
    server = subprocess.Popen(
        ["iperf3", "-s", "-1", "-p", str(_PORT), "-B", "127.0.0.1", "--forceflush"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout
        next(line for line in server.stdout if "listening" in line)
        with system.jobs(1):
            text = system.pair[1].run(f"iperf3 -J -p {_PORT} -t {_seconds(system)} -c {OUTSIDE}")
        return _received(text)
    finally:
        server.kill()
        server.wait()


GROUP = Group(
    "network",
    "Networks",
    (
        Workload(
            "ping",
            "ping round trip between two kernels; native: loopback",
            "us",
            ping,
            clocks=_BOTH,
            paper={"shimos": "0.50", "kvm": "0.001", "xen": "0.08"},
            why="Loopback calls the receiver's code on the same CPU; between kernels each way is a doorbell and an interrupt.",
        ),
        Workload(
            "tcp",
            "TCP between two kernels; native: loopback",
            "Mbit/s",
            tcp(True),
            better="higher",
            paper={"shimos": "no TSO", "xen": "> SHIMOS"},
            why="Loopback hands the sender's pages to the receiver; between kernels the packet is copied once more.",
        ),
        Workload(
            "tcp-cut",
            "the same without segmentation offload (TSO, GSO, GRO)",
            "Mbit/s",
            tcp(False),
            better="higher",
            paper={"shimos": "1.67 x Xen"},
            why="A packet of 1500 bytes passes a virtqueue and a bridge; loopback's has 64 KiB even so.",
        ),
        Workload(
            "outside",
            "TCP through the shared card to the outside; native: its own card",
            "Mbit/s",
            outside,
            better="higher",
            around=True,
            paper={"shimos": "1.00", "kvm": "0.94", "xen": "1.00"},
            why="Two kernels and a bridge work on a packet instead of one.",
        ),
    ),
    (
        "As in the papers: SHIMOS from the partition to the host that owns the card, KVM and Xen between two guests over"
        " the host's bridge, native Linux over loopback, which has no device at all and packets of 64 KiB.",
        "Between two guests each packet goes through the host twice; that is the price of the system, not of the"
        " measurement.",
    ),
    "A guest's doorbell is a VM exit and its interrupt another one. The wire to the outside is the emulator's own user"
    " network, one thread of a program, and bounds everybody.",
)
