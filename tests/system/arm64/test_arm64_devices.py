"""Disks and networks that stock arm64 kernels share: data verified, and none of it copied for a disk."""

from __future__ import annotations

import pytest

from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.devices import device
from lab.stage.disks import inside, stock_module
from lab.stage.lan import bridge, ip4, ip6
from lab.stage.partitions import PROGRAMS, Resources, initrd_with, remove, start
from tests.support.machines import ON_ARM64
from tests.support.tiers import REPETITION, late, rounds

pytestmark = [pytest.mark.machine(**ON_ARM64), late("what tests of x86-64 say, on another architecture")]

MIB = 1 << 20
#: Of a disk: written by one side, read by the other.
BYTES = 4 * MIB


def with_verify(machine: Machine, flavour: str) -> str:
    """Make an initrd with the program that writes, reads and compares."""
    return initrd_with(machine, flavour, {"/bin/verify_io": "verify_io"})


def sum_of(shell: Machine | PartitionConsole, disk: str) -> str:
    """Return the sum of the first BYTES on it, read from the disk itself."""
    shell.run("echo 3 >/proc/sys/vm/drop_caches")
    return shell.run(f"head -c {BYTES} {disk} | md5sum", timeout=120).output


@pytest.mark.parametrize("flavour", [pytest.param("6.1", marks=REPETITION), "6.12"])
def test_disk(machine: Machine, flavour: str) -> None:
    """What one side writes the other reads, in both directions; then checked random I/O from both CPUs."""
    disk = machine.disk("data")
    before = Resources(machine)
    machine.run(f"head -c {BYTES} /dev/urandom >{disk} && sync {disk}", timeout=120)
    start(machine, "web", flavour, more=f"--initrd {with_verify(machine, flavour)} --disk {disk}")
    shell = machine.partition("web")
    own = inside(shell, disk)
    assert sum_of(shell, own) == sum_of(machine, disk)
    shell.run(f"head -c {BYTES} /dev/urandom >{own} && sync", timeout=120)
    theirs = sum_of(shell, own)
    shell.run(f"verify_io {own} 4 {rounds(300, 60)}", timeout=300)
    shell.run(f"head -c {BYTES} /dev/urandom >{own} && sync", timeout=120)
    theirs = sum_of(shell, own)
    known = device(machine, disk)
    assert known["copied_bytes"] == known["errors"] == 0, known
    assert known["direct_bytes"] == known["read_bytes"] + known["write_bytes"] > 4 * BYTES, known
    shell.close()
    remove(machine)
    assert sum_of(machine, disk) == theirs
    before.assert_back()
    machine.assert_dmesg_clean()


def test_disk_of_a_dead_user(machine: Machine) -> None:
    """A partition killed in the middle of I/O: its disk is free again, and its next life has it."""
    disk = machine.disk("data")
    before = Resources(machine)
    start(machine, "web", "6.1", more=f"--initrd {with_verify(machine, '6.1')} --disk {disk}")
    shell = machine.partition("web")
    own = inside(shell, disk)
    done = f"$(awk '{{print $1 + $5}}' /sys/block/{own[5:]}/stat)"
    shell.run(f"(verify_io {own} 2 0 >/dev/null 2>&1) & until [ {done} -gt 50 ]; do usleep 50000; done", timeout=120)
    shell.close()
    machine.run("shimos kill web", timeout=120)
    machine.run("shimos restart web", timeout=180)
    shell = machine.partition("web")
    shell.run(f"verify_io {inside(shell, disk)} 2 40", timeout=300)
    shell.close()
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_network(machine: Machine) -> None:
    """The host and two partitions on a bridge: every byte arrives, IPv4 and IPv6, TCP and UDP."""
    with bridge(machine) as lan:
        lan.start("web", "6.1", "2")
        lan.start("db", "6.12", "3")
        for source, target in (("web", "host"), ("host", "web"), ("web", "db")):
            for size in (1, 1447, 4 * MIB + 3):
                lan.exchange(source, target, size)
            lan.exchange(source, target, MIB, address=ip6(target))
        lan.datagrams("web", ip4("db"), 50, 65507)
        known = device(machine, "web")
        assert (known["state"], known["errors"]) == ("running", 0), known
        assert known["direct_bytes"] > 0, "between partitions packets go by without a copy of the sender's"
    machine.assert_dmesg_clean()


def owner(machine: Machine, flavour: str) -> PartitionConsole:
    """Start web with all that it needs to share a RAM disk of 16 MiB."""
    files = {"/bin/shimos": "/usr/bin/shimos", "/bin/verify_io": "verify_io"}
    for module in ("shimos_backend", "brd"):
        files[f"/{module}.ko"] = stock_module(machine, flavour, module)
    # its kernel describes the host's memory, too
    start(machine, "web", flavour, memory="384M", more=f"--initrd {initrd_with(machine, flavour, files)}")
    shell = machine.partition("web")
    shell.run("insmod /shimos_backend.ko && insmod /brd.ko rd_nr=1 rd_size=16384")
    return shell


#: Whose physical addresses have 44 bits: few enough for a kernel to move the start of its direct map.
SHORT_ADDRESSES = ["-cpu", "cortex-a57"]


@pytest.mark.machine(arch="arm64", extra=SHORT_ADDRESSES)
def test_partition_as_owner(fresh_machine: Machine) -> None:
    """A 6.12 partition's disk in the host: data verified; it is gone when its owner is."""
    machine = fresh_machine
    machine.run("modprobe shimos_virtio && modprobe virtio_blk")
    shell = owner(machine, "6.12")
    shell.run("head -c 16777216 /dev/urandom >/dev/ram0 && shimos attach host --disk /dev/ram0", timeout=120)
    find = "grep -lx shimos-ram0 /sys/block/vd*/serial"
    machine.run(f"until {find} 2>/dev/null; do sleep 0.1; done", timeout=60)
    disk = f"/dev/{machine.run(find).output.split('/')[3]}"
    assert sum_of(machine, disk) == sum_of(shell, "/dev/ram0")
    machine.run(f"{PROGRAMS}/verify_io {disk} 2 40", timeout=300)
    shell.close()
    machine.run("shimos kill web", timeout=120)
    machine.run(f"while [ -e /sys/block/{disk[5:]} ]; do sleep 0.1; done", timeout=60)
    remove(machine)
    machine.assert_dmesg_clean()


@pytest.mark.parametrize(
    ("flavour", "why"),
    [
        # Debian's for clouds has no pages for memory that is not its own.
        pytest.param("6.1", "CONFIG_ZONE_DEVICE", marks=REPETITION),
        # The host has RAM below all that is the partition's, where the direct map begins.
        ("6.12", "outside of what this kernel can map"),
    ],
)
def test_owner_that_cannot_reach_others(machine: Machine, flavour: str, why: str) -> None:
    """What cannot be is refused when it is asked for, with the reason."""
    shell = owner(machine, flavour)
    result = shell.run("shimos attach host --disk /dev/ram0", check=False)
    assert result.status != 0
    assert why in result.output and "from the host" in result.output, result.output
    shell.close()
    remove(machine)
    machine.assert_dmesg_clean()
