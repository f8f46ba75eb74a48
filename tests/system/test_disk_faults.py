"""Shared disks when something is wrong: bad input, back ends and disks that go, kernels that die in the middle."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.devices import Disk
from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.devices import device
from lab.stage.disks import CHROOT_TOOLS, TOOLS, inside, start_with
from lab.stage.partitions import Resources, refused, remove, start
from tests.support.tiers import rounds
from tests.support.timing import soon

MACHINE = pytest.mark.machine(
    partitions=["6.12"], disks=[TOOLS, Disk("data", "64M"), Disk("more", "32M"), Disk("pulled", "32M")]
)
pytestmark = [pytest.mark.x2apic, MACHINE]

#: Goes on until the disk fails, with requests under way all the time.
LOAD = (
    "fio --name=x --ioengine=libaio --direct=1 --rw=randrw --bs=4k --iodepth=16 --numjobs=2 --time_based --runtime=600"
)


def start_load(shell: PartitionConsole, own: str) -> None:
    """Start fio in the background; /failed gets the uptime when it has failed, /fio what it said."""
    shell.run(
        f"read before x </sys/block/{own[5:]}/stat; rm -f /failed;"
        f" ({CHROOT_TOOLS} {LOAD} --filename={own} >/fio 2>&1; cut -d ' ' -f 1 /proc/uptime >/failed) </dev/null &"
        f" n=$before; until [ $((n - before)) -gt 200 ]; do usleep 10000; read n x </sys/block/{own[5:]}/stat; done",
    )


def seconds_to_end(machine: Machine, shell: PartitionConsole, command: str, own_command: str = "true") -> float:
    """Return the seconds from the start of the host's and the partition's commands to fio's end, by the partition."""
    # The watch in the partition is told to begin just before the host acts.
    begun = float(shell.run("cut -d ' ' -f 1 /proc/uptime").output)
    machine.run(command)
    shell.run(f"{own_command}; until [ -s /failed ]; do usleep 10000; done", timeout=60)
    return float(shell.run("cat /failed").output) - begun


def assert_fails_soon(machine: Machine, shell: PartitionConsole, own: str, command: str, seconds: float) -> None:
    """Check that fio fails within so many seconds of the command; more if fio takes long to end when told to."""
    start_load(shell, own)
    usual = seconds_to_end(machine, shell, "true", "killall fio")
    start_load(shell, own)
    took = seconds_to_end(machine, shell, command)
    assert re.search("Input/output error|error=5|err= 5", shell.run("cat /fio").output)
    assert took < soon(seconds, usual), (
        f"fio saw the error after {took:.1f} s; it ends within {usual:.1f} s when killed"
    )


def is_free(machine: Machine, disk: str) -> bool:
    """Return whether nobody has claimed one of the host's disks."""
    program = f"import os; os.open('{disk}', os.O_RDONLY | os.O_EXCL)"
    result = machine.run(f'python3 -c "{program}"', check=False)
    assert result.status == 0 or "Device or resource busy" in result.output, result.output
    return result.status == 0


def assert_alive_without(shell: PartitionConsole, own: str) -> None:
    """Check that the partition works, the disk is no more, and nothing hangs."""
    shell.run(f"until [ ! -e /sys/block/{own[5:]} ]; do usleep 10000; done")
    shell.run(f"{CHROOT_TOOLS} true && ! ps -o stat,comm | grep '^D.*fio'")


@contextmanager
def mapped(machine: Machine, table: str, name: str = "mapped") -> Iterator[str]:
    """Yield a device of the device mapper."""
    machine.run(f"modprobe dm-mod && dmsetup create {name} --table '{table}' && dmsetup mknodes {name}")
    try:
        yield f"/dev/mapper/{name}"
    finally:
        machine.run(f"dmsetup remove --retry {name}")


def test_bad_input(machine: Machine) -> None:
    """Each has a text of its own, and nothing stays."""
    data, more = machine.disk("data"), machine.disk("more")
    machine.run(f"mkfs.ext4 -q -F {more} && mount {more} /mnt")
    machine.run("truncate -s 0 /tmp/empty; truncate -s 100 /tmp/small; truncate -s 4M /tmp/ro && chmod a-w /tmp/ro")
    before = Resources(machine)
    start(machine, "web", "6.12", "2")
    start(machine, "db", "6.12", "3")
    machine.run(f"shimos attach db --disk {data}")
    for spec, *words in (
        ("/dev/nothing", "No such file", "lsblk"),
        (more, "in use", "mounted on /mnt"),
        (data, "in use", "'db'"),
        (f"{data},ro", "in use", "'db'"),
        ("/tmp/empty", "empty", "truncate"),
        ("/tmp/small", "less than a sector"),
        ("/tmp", "directory"),
        ("/dev/null", "character device"),
        ("/tmp/ro", "read-only", ",ro"),
        ("/tmp/ro,ro,size=8M", "more than the file has"),
        (f"{more},rw", "no option of a disk"),
        (f"{more},queues=99", "1 to 8"),
        (f"{more},size=1M", "for files"),
    ):
        refused(machine, f"shimos attach web --disk {spec}", *words)
    refused(machine, "shimos attach web --disk /tmp/ro,ro --disk /tmp/ro,ro", "given twice")
    refused(machine, "ln -sf ro /tmp/link; shimos attach web --disk /tmp/ro,ro --disk /tmp/link,ro", "the same disk")
    refused(machine, f"shimos attach nobody --disk {more}", "nobody")
    refused(machine, f"shimos detach web --disk {data}", "no disk")
    refused(machine, "shimos detach web --id 99", "99")
    refused(machine, f"shimos run third --cpuset 1 --memory 256M --disk {data}", "in use", "'db'")
    machine.run("umount /mnt")
    assert [d["user_name"] for d in json.loads(machine.run("shimos devices --json").output)["devices"]] == ["db"]
    remove(machine)
    remove(machine, "db")
    machine.run('test -z "$(losetup -n)"')
    before.assert_back()


def test_too_many(machine: Machine) -> None:
    """32 disks work, one more is refused, also when one command brings it: then none is added."""
    before = Resources(machine)
    machine.run("for n in $(seq 0 33); do truncate -s 1M /tmp/d$n; done")
    start(machine, "web", "6.12", "2-3", more="--disk /tmp/d0,queues=1")
    many = " ".join(f"--disk /tmp/d{n},queues=1" for n in range(1, 31))
    machine.run(f"shimos attach web {many}", timeout=120)
    refused(machine, "shimos attach web --disk /tmp/d31,queues=1 --disk /tmp/d32,queues=1", "32 devices")
    machine.run("shimos attach web --disk /tmp/d31,queues=1")
    shell = machine.partition("web")
    shell.run("until [ $(ls -d /sys/block/vd* | wc -l) = 32 ]; do usleep 10000; done")
    shell.run("for d in /sys/block/vd*; do dd if=/dev/${d##*/} of=/dev/null bs=4k count=1 2>/dev/null || exit 1; done")
    shell.close()
    remove(machine)
    machine.run('rm /tmp/d*; test -z "$(losetup -n)"')
    before.assert_back()
    machine.assert_dmesg_clean()


def test_detach_by_force(machine: Machine) -> None:
    """A mounted disk stays unless forced; then its users see errors within a second."""
    disk = machine.disk("data")
    machine.run(f"mkfs.ext4 -q -F {disk}")
    before = Resources(machine)
    shell = start_with(machine, disk)
    own = inside(shell, disk)
    shell.run(f"mount {own} /m && dd if=/dev/zero of=/m/x bs=1M count=8 && sync")
    refused(machine, f"shimos detach web --disk {disk}", "in use in web", "--force")
    shell.run("umount /m")
    start_load(shell, own)
    refused(machine, f"shimos detach web --disk {disk}", "in use in web", "--force")
    shell.run("killall fio; until [ -s /failed ]; do usleep 10000; done")
    assert_fails_soon(machine, shell, own, f"shimos detach web --disk {disk} --force", 2)
    assert_alive_without(shell, own)
    machine.run(f"shimos attach web --disk {disk}")
    start_load(shell, inside(shell, disk))
    shell.run("killall fio; until [ -s /failed ]; do usleep 10000; done")
    shell.close()
    remove(machine)
    machine.run(f"mkfs.ext4 -q -F {disk}")
    before.assert_back()
    machine.assert_dmesg_clean()


def test_back_end_unloaded(machine: Machine) -> None:
    """rmmod in the middle of fio: errors at once, no hang; loaded again, it serves again."""
    disk = machine.disk("data")
    shell = start_with(machine, disk)
    own = inside(shell, disk)
    assert not is_free(machine, disk)
    assert_fails_soon(machine, shell, own, "rmmod shimos_backend", 2)
    shell.run(f"until [ ! -e /sys/block/{own[5:]} ]; do usleep 10000; done; ls / >/dev/null")
    assert is_free(machine, disk), "the disk is still claimed by a module that is gone"
    machine.run(f"mkfs.ext4 -q -F {disk}")
    machine.run(f"modprobe shimos_backend && shimos attach web --disk {disk}")
    shell.run(f"dd if={inside(shell, disk)} of=/dev/null bs=64k count=64")
    shell.close()
    remove(machine)
    machine.assert_dmesg_clean()


def test_killed(machine: Machine) -> None:
    """Killed or removed in the middle of fio, in turn: memory comes back, the disk is free at once."""
    disk = machine.disk("data")
    machine.run("modprobe shimos_backend")
    before = Resources(machine)
    for turn in range(rounds(10, 2)):
        shell = start_with(machine, disk)
        start_load(shell, inside(shell, disk))
        if turn % 2:
            machine.run("shimos rm --force web")
        else:
            machine.run("shimos kill web && shimos rm web")
        machine.run(f"mkfs.ext4 -q -F {disk} && mount {disk} /mnt && umount /mnt")
        shell.close()
    before.assert_back()
    assert json.loads(machine.run("shimos devices --json").output)["devices"] == []
    machine.assert_dmesg_clean()


def test_failing_disk(machine: Machine) -> None:
    """Errors of the owner's disk are errors of the partition's, and nothing else."""
    disk = machine.disk("data")
    size = int(machine.run(f"blockdev --getsz {disk}").output)
    table = f"0 2048 linear {disk} 0\n2048 1024 error\n3072 {size - 3072} linear {disk} 3072"
    with mapped(machine, table) as bad:
        shell = start_with(machine, bad)
        own = inside(shell, bad)
        read, write = (
            f"{CHROOT_TOOLS} dd if={own} of=/dev/null iflag=direct",
            f"{CHROOT_TOOLS} dd of={own} if=/dev/zero oflag=direct",
        )
        for command, good in ((f"{read} skip", 2047), (f"{write} seek", 2047), (f"{read} skip", 3072)):
            shell.run(f"{command}={good} count=1")
            wrong = shell.run(f"{command}=2500 count=1", check=False)
            assert wrong.status and "Input/output error" in wrong.output
        known = device(machine, bad)
        assert known["errors"] >= 3 and known["state"] == "running"
        machine.run(
            f"dmsetup suspend mapped && dmsetup load mapped --table '0 {size} linear {disk} 0' && dmsetup resume mapped"
        )
        shell.run(f"{read} skip=2500 count=1")
        shell.close()
        remove(machine)


def test_pulled_disk(machine: Machine) -> None:
    """The owner's disk is pulled out while it is used: errors, and all else goes on."""
    disk, other = machine.disk("pulled"), machine.disk("data")
    before = Resources(machine)
    shell = start_with(machine, disk, other)
    own = inside(shell, disk)
    assert_fails_soon(machine, shell, own, f"echo 1 >$(readlink -f /sys/block/{disk[5:]}/device/..)/remove", 5)
    shell.run(f"dd if={inside(shell, other)} of=/dev/null bs=64k count=64 && {CHROOT_TOOLS} true")
    machine.run(f"shimos detach web --disk {disk}")
    shell.close()
    remove(machine)
    machine.run("echo 1 >/sys/bus/pci/rescan")
    machine.run('until grep -qx "pulled *" /sys/block/*/serial; do sleep 0.05; done', timeout=20)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_hanging_disk(machine: Machine) -> None:
    """Memory is freed only after the last request that was under way has ended."""
    disk = machine.disk("data")
    size = int(machine.run(f"blockdev --getsz {disk}").output)
    with mapped(machine, f"0 {size} linear {disk} 0") as slow:
        before = Resources(machine)
        shell = start_with(machine, slow)
        start_load(shell, inside(shell, slow))
        machine.run("dmsetup suspend --nolockfs mapped")
        machine.run("shimos kill web", timeout=20)
        shell.close()
        taken = machine.mem_free()
        refused(machine, "shimos rm web", "has not come back", "host")
        refused(machine, "shimos restart web", "has not come back")
        assert machine.mem_free() < taken + (64 << 20)
        machine.run("dmsetup resume mapped")
        machine.run("shimos rm web")
        before.assert_back()
        assert json.loads(machine.run("shimos devices --json").output)["devices"] == []
    machine.run(f"mkfs.ext4 -q -F {disk}")
    machine.assert_dmesg_clean()
