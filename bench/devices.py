"""What shared disks and networks cost: `bench/devices`.

All rows of a table come from one run of one machine.  Disks: a RAM disk of the
host, read and written with O_DIRECT by the host itself, by a partition through the
shared disk, and by the partition through NBD over the virtual network.  Networks:
partition and host, two partitions, loopback and a veth pair.

Two machines: in the first one the emulator counts instructions as time, so that a
figure is what all kernels concerned spent on a request; in the second one time is
an emulator's, and only ratios mean something.

The paper's figures are from sections 5 and 6 of "Shared Devices" (SHIMOS 2009).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import nets
from lab import progress
from lab.devices import Disk
from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.partition_root import partition_root

#: The issue's aim for a 4 KiB read: the owner's own cost divided by the user's.
AIM = 0.7
PROGRAM = "/usr/lib/shimos-test/direct_io"
HOST, WEB, DB = "10.9.0.1", "10.9.0.2", "10.9.0.3"
SIZE = 64 << 20


@dataclass(frozen=True)
class Load:
    """One kind of request."""

    what: str
    mode: str
    size: int
    depth: int

    def count(self, scale: float) -> int:
        """Return how many are measured."""
        return max(int(scale * (4000 if self.size < 65536 else 800)), 4 * self.depth)


LOADS = [Load(f"{mode} 4 KiB, depth {depth}", mode, 4096, depth) for mode in ("read", "write") for depth in (1, 32)] + [
    Load(f"{mode} 128 KiB, sequential, depth 8", f"seq{mode}", 131072, 8) for mode in ("read", "write")
]


class Kernel:
    """Where a program can be run: the host, or a partition's console."""

    def __init__(self, name: str, shell: Machine | PartitionConsole, address: str):
        self.name = name
        self.shell = shell
        self.address = address

    def run(self, command: str, timeout: float = 300) -> str:
        """Run a command; returns its output."""
        return self.shell.run(command, timeout=timeout).output


def start(machine: Machine, name: str, cpus: str, disk: str, address: str) -> Kernel:
    """Start a partition with its root on a shared disk, and its network on the bridge."""
    command = (
        f"shimos run {name} --cpuset {cpus} --memory 768M --disk {disk} --net br0 --cmdline"
        f" 'root=/dev/vda net.ifnames=0 ip={address}::{HOST}:255.255.255.0::eth0:off'"
    )
    machine.run(command, timeout=300)
    console = machine.partition(name, timeout=900, login="root")
    console.run(f"curl -sS -o /root/direct_io http://{HOST}:8000/direct_io && chmod 755 /root/direct_io", timeout=300)
    return Kernel(name, console, address)


@contextmanager
def kernels(names: tuple[str, ...], icount: bool = False) -> Iterator[tuple[Machine, list[Kernel]]]:
    """Yield the host with two RAM disks and a bridge, and partitions of one CPU each."""
    roots = [Disk(name, partition_root) for name in names]
    with Machine(disks=roots, icount=icount, memory="6G") as machine:
        machine.run(
            f"modprobe brd rd_nr=2 rd_size={SIZE >> 10} && modprobe bridge && ip link add br0 type bridge"
            f" && ip address add {HOST}/24 dev br0 && ip link set br0 up"
        )
        # every page of the RAM disks is there before anything is measured
        machine.run(f"for d in 0 1; do dd if=/dev/zero of=/dev/ram$d bs=1M count={SIZE >> 20} status=none; done")
        machine.run(f"cd {PROGRAM.rsplit('/', 1)[0]} && (python3 -m http.server 8000 >/dev/null 2>&1 &)")
        machine.run("until curl -sS -o /dev/null http://127.0.0.1:8000/direct_io; do :; done")
        found = [Kernel("host", machine, HOST)]
        for number, name in enumerate(names):
            with progress.step(f"booting {name}"):
                found.append(start(machine, name, str(3 - number), machine.disk(name), (WEB, DB)[number]))
        yield machine, found


def measure(kernel: Kernel, program: str, device: str, load: Load, scale: float) -> float:
    """Return nanoseconds per request."""
    text = kernel.run(f"{program} {device} {load.mode} {load.size} {load.depth} {load.count(scale)}", timeout=900)
    return float(text.split()[0])


def attach_nbd(host: Kernel, web: Kernel) -> str:
    """Attach the second RAM disk through NBD over the bridge; returns its path."""
    host.run("printf '[generic]\\n[ram]\\nexportname = /dev/ram1\\n' >/tmp/nbd.conf && nbd-server -C /tmp/nbd.conf")
    web.run(f"modprobe nbd && nbd-client -N ram {HOST} /dev/nbd0", timeout=300)
    return "/dev/nbd0"


def disks(machine: Machine, host: Kernel, web: Kernel, scale: float, unit: str) -> bool:
    """Print the table of disks; True if the aim is met."""
    machine.run("shimos attach web --disk /dev/ram0")
    web.run("until [ -b /dev/vdb ]; do :; done")
    nbd = attach_nbd(host, web)
    print(f"\n| disk: {unit} per request | owner itself | shared disk | NBD | shared disk, ratio | NBD, ratio | aim |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    met = True
    for load in LOADS:
        own = measure(host, PROGRAM, "/dev/ram0", load, scale)
        shared = measure(web, "/root/direct_io", "/dev/vdb", load, scale)
        over_nbd = measure(web, "/root/direct_io", nbd, load, scale / 4)
        aim = ""
        if load.mode == "read" and load.size == 4096:
            aim = f"{AIM} {'met' if own / shared >= AIM else 'MISSED'}"
            met &= own / shared >= AIM
        print(
            f"| {load.what} | {own:.0f} | {shared:.0f} | {over_nbd:.0f}"
            f" | {own / shared:.2f} | {own / over_nbd:.2f} | {aim} |",
            flush=True,
        )
    show_counters(machine)
    return met


def show_counters(machine: Machine) -> None:
    """Print whether payload was copied, and doorbells."""
    print("\n" + machine.run("shimos devices").output)


def main() -> int:
    """Print all tables; status 1 if an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a short run of everything")
    parser.add_argument("--only", choices=("instructions", "times"), help="one of the two machines")
    args = parser.parse_args()
    scale = 0.25 if args.quick else 1.0
    met = True
    if args.only != "times":
        with kernels(("web",), icount=True) as (machine, (host, web)):
            print(f"\nInstructions of all kernels together, counted; host and partition {machine.versions['6.12']}")
            met &= disks(machine, host, web, scale, "instructions")
            met &= nets.instructions(host, web, scale)
            machine.assert_dmesg_clean()
    if args.only != "instructions":
        with kernels(("web", "db")) as (machine, (host, web, db)):
            print(f"\nTimes of an emulated machine ({machine.accelerator}); partitions have one CPU each")
            disks(machine, host, web, scale, "nanoseconds")
            met &= nets.times(host, web, db, scale)
            machine.assert_dmesg_clean()
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
