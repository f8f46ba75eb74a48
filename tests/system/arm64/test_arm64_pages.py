"""A stock kernel with pages of 16 KiB beside hosts of either size: no protocol depends on the size of a page."""

from __future__ import annotations

import pytest

from lab.devices import Disk
from lab.machine import Machine
from lab.stage.devices import device
from lab.stage.disks import inside
from lab.stage.lan import bridge, ip4, ip6
from lab.stage.partitions import Resources, initrd_with, remove, start
from lab.stage.traffic import Shell, area, assert_correct, ikc, kernels, send_all
from tests.support.machines import ON_ARM64
from tests.support.tiers import late, rare, rounds

LARGE = "6.12-16k"
KIB, MIB = 1 << 10, 1 << 20
#: Of a disk: written by one side, read by the other.
BYTES = 4 * MIB + 4 * KIB

pytestmark = [pytest.mark.machine(**ON_ARM64), late("the same again with pages of another size")]


def page_kib(shell: Shell) -> int:
    """Return how many KiB the pages of a kernel have, as it says itself."""
    return int(shell.run("grep -m1 KernelPageSize /proc/self/smaps").output.split()[1])


def test_traffic(machine: Machine) -> None:
    """Packets, blocks that change hands and pages, all to all between three kernels of two sizes."""
    before = Resources(machine)
    used = area(machine)["used"]
    count = rounds(20_000, 2_000)
    with kernels(machine, (("web", LARGE, "2-3"), ("db", "6.1", "1"))) as found:
        assert [page_kib(kernel.shell) for kernel in found] == [4, 16, 4]
        for kind in ("plain", "shared", "page"):
            send_all(found, count, kind)
        assert_correct(found, 3 * count)
        queues = [q for q in ikc(machine)["queues"] if q["queue"] == 1]
        assert len(queues) == 6 and not any(q["broken"] for q in queues)
        machine.run("shimos ping -c 10 -i 0 web")
    assert area(machine)["used"] == used, "the dead kernels' blocks came back"
    before.assert_back()
    machine.assert_dmesg_clean()


def check_disk(machine: Machine, flavour: str) -> None:
    """Check that what one side writes the other reads, in both directions, and that none of it is copied."""
    disk = machine.disk("data")
    before = Resources(machine)
    machine.run(f"head -c {BYTES} /dev/urandom >{disk} && sync {disk}", timeout=120)
    initrd = initrd_with(machine, flavour, {"/bin/verify_io": "verify_io"})
    start(machine, "web", flavour, more=f"--initrd {initrd} --disk {disk}")
    shell = machine.partition("web")
    own = inside(shell, disk)
    drop, sum_of = "echo 3 >/proc/sys/vm/drop_caches", f"head -c {BYTES} {{}} | md5sum"
    machine.run(drop)
    assert shell.run(sum_of.format(own)).output == machine.run(sum_of.format(disk)).output
    shell.run(f"verify_io {own} 4 {rounds(300, 60)}", timeout=300)
    shell.run(f"head -c {BYTES} /dev/urandom >{own} && sync && {drop}", timeout=120)
    theirs = shell.run(sum_of.format(own)).output
    known = device(machine, disk)
    assert known["copied_bytes"] == known["errors"] == 0, known
    assert known["direct_bytes"] == known["read_bytes"] + known["write_bytes"] > 2 * BYTES, known
    shell.close()
    remove(machine)
    machine.run(drop)
    assert machine.run(sum_of.format(disk)).output == theirs
    before.assert_back()
    machine.assert_dmesg_clean()


def test_disk(machine: Machine) -> None:
    check_disk(machine, LARGE)


@rare("test_disk has the same memory of kernels with other pages")
def test_network(machine: Machine) -> None:
    """The host and two partitions on a bridge, pages of both sizes: every byte arrives."""
    with bridge(machine) as lan:
        lan.start("web", LARGE, "2")
        lan.start("db", "6.1", "3")
        for source, target in (("web", "host"), ("host", "web"), ("web", "db"), ("db", "web")):
            for size in (1, 1447, MIB + 3):
                lan.exchange(source, target, size)
            lan.exchange(source, target, MIB, address=ip6(target))
        lan.datagrams("web", ip4("db"), 50, 65507)
        lan.datagrams("db", ip4("web"), 50, 65507)
        known = device(machine, "web")
        assert (known["state"], known["errors"]) == ("running", 0), known
    machine.assert_dmesg_clean()


#: Its pages that cannot move spoil 32 MiB each: too much of so small a machine, unless some of it is kept free of them.
MOVABLE = "movablecore=1G"


@pytest.mark.machine(arch="arm64", kernel=LARGE, partitions=("6.1",), cmdline=MOVABLE, disks=[Disk("data", "64M")])
def test_large_host(fresh_machine: Machine) -> None:
    """The other way round: a host with large pages, packets and a disk."""
    machine = fresh_machine
    assert page_kib(machine) == 16
    with kernels(machine, (("web", "6.1", "2-3"),)) as found:
        assert page_kib(found[1].shell) == 4
        for kind in ("plain", "shared", "page"):
            send_all(found, 1_000, kind)
        assert_correct(found, 3_000)
    check_disk(machine, "6.1")
