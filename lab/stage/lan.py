"""A bridge on the host with partitions in it: what the tests of networks share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from lab.arch import ARCHES
from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.partitions import MEMORY, PROGRAMS, initrd_with, remove, start, with_libraries
from lab.stage.traffic import Shell

NET4, NET6 = "10.0.2", "fd00:2"
#: Addresses in NET4 and NET6; 15 is what the lab gives the host.
ADDRESSES = {"host": 15, "web": 16, "db": 17}
PORT = 7777
CHECK = f"{PROGRAMS}/net_check"
#: Counts what a program gets done.
LOOPS = f"{PROGRAMS}/loops"
#: Both servers can be reached when it returns; iperf3 listens on 5201, 1451 in hex, after that.
SERVE = f"{CHECK} serve {PORT} && iperf3 -s -D && until grep -q ':1451 .* 0A ' /proc/net/tcp6; do sleep 0.05; done"
#: Not busybox's.
PING = "/usr/bin/ping"
_PROGRAMS = ("/usr/bin/iperf3", "/usr/sbin/ethtool", PING)


def ip4(name: str) -> str:
    """Return a kernel's IPv4 address on the bridge."""
    return f"{NET4}.{ADDRESSES[name]}"


def ip6(name: str) -> str:
    """Return a kernel's IPv6 address on the bridge."""
    return f"{NET6}::{ADDRESSES[name]}"


def net_initrd(machine: Machine, flavour: str) -> str:
    """Make an initrd with what the tests need in a partition: net_check, loops, iperf3, ethtool, ping."""
    files = with_libraries(machine, *_PROGRAMS)
    # The first is dlopen()ed, the last for tests of faults.
    more = {path: path for path in (f"/lib/{ARCHES[machine.spec.arch].triple}/libgcc_s.so.1", CHECK, LOOPS)}
    return initrd_with(machine, flavour, files | more | {"/shimos_test.ko": "shimos_test.ko"})


@dataclass
class Lan:
    """The host and its partitions on br0, which has the host's own card in it."""

    machine: Machine
    partitions: list[str] = field(default_factory=list)

    def shell(self, name: str) -> Shell:
        """Return where commands of the host or a partition run."""
        return self.machine if name == "host" else self.machine.partition(name)

    def start(self, name: str, flavour: str, cpus: str, more: str = "", memory: str = MEMORY) -> PartitionConsole:
        """Start a partition on br0 with addresses of its own."""
        initrd = f"--initrd {net_initrd(self.machine, flavour)}"
        start(self.machine, name, flavour, cpus, memory, f"{initrd} --net br0{more}")
        self.partitions.append(name)
        return self.address(name)

    def address(self, name: str, link: str = "eth0") -> PartitionConsole:
        """Give a partition its addresses and a server for net_check."""
        console = self.machine.partition(name)
        console.run(
            # An address is there at once, not after a second of asking for others that have it.
            f"echo 0 >/proc/sys/net/ipv6/conf/{link}/accept_dad && ip link set lo up && ip link set {link} up"
            f" && ip addr add {ip4(name)}/24 dev {link} && ip addr add {ip6(name)}/64 dev {link}"
            f" && ip route add default via {NET4}.2"
        )
        console.run(SERVE)
        return console

    def remove(self, name: str) -> None:
        """Remove a partition; it need not be alive."""
        self.machine.release_consoles()
        remove(self.machine, name)
        self.partitions.remove(name)

    def exchange(self, source: str, target: str, size: int, kind: str = "tcp", address: str = "") -> None:
        """Send data between two of them, all of it checked on arrival."""
        what = f"{CHECK} {kind} {address or ip4(target)} {PORT} {size}"
        assert self.shell(source).run(what, timeout=120).output == f"ok {size}\n"

    def datagrams(self, source: str, address: str, count: int, size: int) -> None:
        """Send datagrams of up to so many bytes there and back."""
        answer = self.shell(source).run(f"{CHECK} udp {address} {PORT} {count} {size}", timeout=120)
        assert answer.output == f"ok {count}\n"


def make_bridge(machine: Machine) -> Lan:
    """Make br0 with the host's card (all its cards) and addresses."""
    cards = [f"eth{n}" for n in range(len(machine.spec.nics))]
    machine.run(
        "echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad && ip link add br0 type bridge && "
        + "".join(f"ip address flush dev {card} && ip link set {card} master br0 && " for card in cards)
        + f"ip link set br0 up && ip address add {ip4('host')}/24 dev br0"
        f" && ip address add {ip6('host')}/64 dev br0 && ip route add default via {NET4}.2"
    )
    machine.run(SERVE)
    return Lan(machine)


@contextmanager
def bridge(machine: Machine) -> Iterator[Lan]:
    """Make br0 for a moment; all that was started in it is removed at the end."""
    made = make_bridge(machine)
    try:
        yield made
    finally:
        machine.release_consoles()
        for name in list(made.partitions):
            made.remove(name)
        machine.run("pkill -x net_check; pkill -x iperf3; ip link delete br0", check=False)


def two_partitions(machine: Machine) -> Lan:
    """Start web and db on br0, with one CPU each and different kernels."""
    lan = make_bridge(machine)
    lan.start("web", "6.12", "2")
    lan.start("db", "6.1", "3")
    return lan


def statistics(shell: Shell, link: str, names: Sequence[str]) -> dict[str, int]:
    """Return counters of an interface."""
    files = " ".join(f"/sys/class/net/{link}/statistics/{name}" for name in names)
    values = shell.run(f"cat {files}").lines
    return dict(zip(names, map(int, values), strict=True))
