"""Partitions that own devices: disks and networks for the host and for each other.

The machine's RAM has more ranges than IKC's table, for owners map the host's memory by it.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab import faults
from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.disks import stock_module
from lab.stage.partitions import Resources, initrd_with, refused, remove, start, wait_state
from tests.support.tiers import REPETITION, late, rare, rounds
from tests.support.timing import soon

_HOLES = " ".join(f"memmap=4K$0x{0x110000000 + n * 0x100000:x}" for n in range(20))
pytestmark = [
    pytest.mark.machine(cmdline=_HOLES),
    late("partitions that share their devices; test_disks.py and test_networks.py have the host's"),
]

MEMORY = "384M"
#: Ends of an owner in the middle of I/O; each costs a boot.
DEATHS = rounds(6, 2)
#: Seconds that a request may take which its owner's end makes fail.
SOON = 1.0
#: Waits for the disk that the kernel gets next.
_APPEARS = "until [ -b /dev/{0} ]; do sleep 0.1; done"
#: Which a user has no disk of any more.
_VANISHES = "while [ -e /sys/block/{0} ]; do sleep 0.1; done"
_VERIFY = "/usr/lib/shimos-test/verify_io"


def owner_initrd(machine: Machine, flavour: str, more: dict[str, str] | None = None) -> str:
    """Make an initrd with all that an owner and a user need; returns its path."""
    files = {"/bin/shimos": "/usr/bin/shimos", "/bin/verify_io": "verify_io"}
    for module in ("shimos_virtio", "shimos_backend", "brd"):
        files[f"/{module}.ko"] = stock_module(machine, flavour, module)
    return initrd_with(machine, flavour, files | (more or {}))


def start_kernel(machine: Machine, name: str, cpu: str, initrd: str) -> PartitionConsole:
    flavour = initrd.partition("-")[2]
    start(machine, name, flavour, cpu, MEMORY, f"--initrd {initrd}")
    return machine.partition(name)


def make_owner(console: PartitionConsole) -> None:
    """Load the back ends and two RAM disks of 16 MiB."""
    console.run("insmod /shimos_backend.ko && insmod /brd.ko rd_nr=2 rd_size=16384")


@contextmanager
def two(machine: Machine, flavours: tuple[str, str] = ("6.12", "6.1")) -> Iterator[list[PartitionConsole]]:
    """Yield ``web``, an owner, and ``db``; the host can use devices, too."""
    machine.run("modprobe shimos_virtio && modprobe virtio_blk && modprobe shimos_backend")
    initrds = [owner_initrd(machine, flavour) for flavour in flavours]
    before = Resources(machine)
    found = [start_kernel(machine, n, c, i) for n, c, i in zip(("web", "db"), "23", initrds, strict=True)]
    make_owner(found[0])
    yield found
    machine.release_consoles()
    for name in ("web", "db"):
        machine.run(f"[ ! -e /sys/class/shimos/{name} ] || shimos rm --force {name}", timeout=60)
    assert host_disks(machine) == []
    before.assert_back()
    machine.assert_dmesg_clean()


def assert_clean(console: PartitionConsole) -> None:
    bad = faults.unclean(console.run("dmesg").output)
    assert not bad, f"the log of {console.name} is not clean:\n" + "\n".join(bad)


def host_disks(machine: Machine) -> list[str]:
    """Return the host's disks that partitions own."""
    found = machine.run("readlink /sys/block/vd* | grep shimos-virtio || :").output.split()
    return [path.rpartition("/")[2] for path in found]


def host_disk(machine: Machine) -> str:
    """Return the one such disk, as soon as it is there."""
    machine.run("until readlink /sys/block/vd* | grep -q shimos-virtio; do sleep 0.1; done")
    (disk,) = host_disks(machine)
    machine.run(_APPEARS.format(disk))
    return disk


def appeared(user: PartitionConsole | Machine) -> str:
    """Return the one disk that another kernel owns, as soon as it is there."""
    if isinstance(user, Machine):
        return host_disk(user)
    user.run(_APPEARS.format("vda"))
    return "vda"


def load_until_failure(shell: PartitionConsole | Machine, disk: str) -> None:
    """Start checked I/O that goes on until the disk fails; it is under way. See load_ended."""
    program = "verify_io" if isinstance(shell, PartitionConsole) else _VERIFY
    done = f"$(awk '{{print $1 + $5}}' /sys/block/{disk}/stat)"
    shell.run(
        f"before={done}; rm -f /tmp/load; ({program} /dev/{disk} 2 0 >/tmp/load 2>&1; echo done >>/tmp/load) &"
        f" until [ {done} -gt $((before + 50)) ]; do sleep 0.05; done"
    )


def load_ended(shell: PartitionConsole | Machine) -> dict[str, str]:
    """Return what that said in the end, with an error."""
    shell.run("until grep -q done /tmp/load; do sleep 0.05; done", timeout=30)
    said = dict(line.split(maxsplit=1) for line in shell.run("cat /tmp/load").output.splitlines() if " " in line)
    # A write to a disk that is gone is told that it is full.
    assert said.get("error") in ("EIO", "ENOSPC"), said
    return said


@pytest.mark.parametrize("flavours", [("6.12", "6.1"), pytest.param(("6.1", "6.12"), marks=REPETITION)], ids="-".join)
def test_disk_of_a_partition(machine: Machine, flavours: tuple[str, str]) -> None:
    """A partition's disks in another one and in the host: data both ways, load, a file system, detaching."""
    with two(machine, flavours) as (web, db):
        web.run("dd if=/dev/urandom of=/dev/ram0 bs=1M count=16 && shimos attach db --disk /dev/ram0")
        db.run(_APPEARS.format("vda"))
        sums = [web.run("md5sum </dev/ram0").output, db.run("md5sum </dev/vda").output]
        assert sums[0] == sums[1]
        refused(machine, "shimos resize db --memory +128M", "'web' shares a device with 'db'", "detach it first")
        db.run("verify_io /dev/vda 4 300")
        db.run("mke2fs -F /dev/vda >/dev/null && mkdir -p /mnt && mount -t ext4 /dev/vda /mnt && cp /bin/shimos /mnt")
        assert "in use" in refused_in(web, "shimos detach db --disk /dev/ram0")
        db.run("umount /mnt && mount -t ext4 /dev/vda /mnt && cmp /bin/shimos /mnt/shimos && umount /mnt")
        sums = [db.run("md5sum </dev/vda").output]
        # Passing it on would have web find the host's pages in db's ring.
        db.run("insmod /shimos_backend.ko")
        assert "another kernel's: share it from there" in refused_in(db, "shimos attach host --disk /dev/vda")
        web.run("shimos detach db --disk /dev/ram0")
        db.run(_VANISHES.format("vda"))
        sums.append(web.run("md5sum </dev/ram0").output)
        assert sums[0] == sums[1]

        web.run("shimos attach host --disk /dev/ram1")
        disk = host_disk(machine)
        machine.run(f"{_VERIFY} /dev/{disk} 4 300")
        machine.run(f"mkfs.ext4 -q /dev/{disk} && mount /dev/{disk} /mnt && head -c 4M /dev/urandom >/mnt/file")
        sums = [machine.run("md5sum </mnt/file").output]
        assert "in use" in refused_in(web, "shimos detach host --disk /dev/ram1")
        machine.run(f"umount /mnt && fsck.ext4 -fn /dev/{disk} && mount /dev/{disk} /mnt")
        sums.append(machine.run("md5sum </mnt/file").output)
        machine.run("umount /mnt")
        assert sums[0] == sums[1]
        # Of the first MiBs: what is below 1 is never used for I/O, the next one has no mapping of its own in web.
        module = f"/usr/lib/shimos-test/{machine.versions[machine.flavour]}/shimos_low_io.ko"
        assert "canceled" in machine.run(f"insmod {module} disk=/dev/{disk}", check=False).output
        print(machine.run("dmesg | grep shimos_low_io: | tail -n 1").output)
        web.run("shimos detach host --disk /dev/ram1")
        machine.run(_VANISHES.format(disk))
        assert json.loads(web.run("shimos devices --json").output)["devices"] == []
        for console in (web, db):
            assert_clean(console)


def refused_in(console: PartitionConsole, command: str) -> str:
    """Check that the command fails in the partition; returns what it says."""
    result = console.run(command, check=False)
    assert result.status != 0, f"was not refused: {command}\n{result.output}"
    return result.output


@rare("test_user_ends_with_io_in_flight has the other side")
def test_owner_ends_in_io(machine: Machine) -> None:
    """The owner is killed or panics under load: its users get errors at once, go on, and get its disks again."""
    chance = random.Random(1)
    machine.run("modprobe shimos_virtio && modprobe virtio_blk")
    initrd = owner_initrd(machine, "6.1")
    sharer = owner_initrd(machine, "6.12", {"/init": "disk-owner-init"})
    before = Resources(machine)
    db = start_kernel(machine, "db", "3", initrd)
    start(machine, "web", "6.12", "2", MEMORY, f"--initrd {sharer}")
    slowest = usual = 0.0
    for death in range(DEATHS):
        disk = host_disk(machine)
        db.run(_APPEARS.format("vda"))
        for user, name in ((db, "vda"), (machine, disk)):
            load_until_failure(user, name)
        machine.run(
            f"until [ $(awk '{{print $1 + $5}}' /sys/block/{disk}/stat) -gt {chance.randrange(100, 600)} ]; do sleep 0.05; done"
        )
        if death % 2:
            web = machine.partition("web")
            web.send(b"echo c >/proc/sysrq-trigger\n")
            wait_state(machine, "web", "crashed")
        else:
            machine.run("shimos kill web")
        begin = time.monotonic()
        said = [load_ended(machine), load_ended(db)]
        machine.run(_VANISHES.format(disk))
        db.run(_VANISHES.format("vda"))
        took = time.monotonic() - begin
        slowest = max([slowest, *(int(s["slowest"].split()[0]) / 1000 for s in said)])
        usual = max([usual, *(int(s["usual"].split()[0]) / 1000 for s in said)])
        print(f"death {death}: {said}, {took:.1f} s until the disks were gone")
        if death % 2:
            web.close()
        machine.run("shimos restart web", timeout=90)
    assert slowest < soon(SOON, usual), f"a request failed after {slowest:.1f} s; none before took {usual:.1f} s"
    host_disk(machine)
    db.run(f"{_APPEARS.format('vda')}; verify_io /dev/vda 2 100")
    assert_clean(db)
    machine.release_consoles()
    for name in ("web", "db"):
        remove(machine, name)
    before.assert_back()
    machine.assert_dmesg_clean()


def read_that_hangs(web: PartitionConsole, db: PartitionConsole) -> None:
    """Let ``db`` read from web's disk, which is throttled to almost nothing; see go_on."""
    web.run("shimos attach db --disk /dev/ram0")
    db.run(_APPEARS.format("vda"))
    web.run(
        "cd /sys/fs/cgroup; [ -d slow ] || { mount -t cgroup2 none /sys/fs/cgroup; cd /sys/fs/cgroup;"
        " echo +io >cgroup.subtree_control; mkdir slow; }; echo 1:0 rbps=2 >slow/io.max;"
        " for p in $(grep -l ^shm- /proc/[0-9]*/comm); do basename ${p%/comm} >slow/cgroup.procs; done; cd /"
    )
    db.run("(dd if=/dev/vda of=/dev/null bs=64k count=1 iflag=direct 2>/dev/null &) ; :")
    db.run("until [ $(awk '{print $9}' /sys/block/vda/stat) = 1 ]; do sleep 0.1; done")


def go_on(web: PartitionConsole) -> None:
    web.run("echo 1:0 rbps=max >/sys/fs/cgroup/slow/io.max")


def test_user_ends_with_io_in_flight(machine: Machine) -> None:
    """Memory that an owner still has I/O in is not given away before that is done, or the owner dead."""
    with two(machine) as (web, db):
        read_that_hangs(web, db)
        machine.run("shimos kill db")
        db.close()
        refused(machine, "shimos rm db", "devices of 'web' still use the memory of 'db'")
        go_on(web)
        machine.run("shimos restart db", timeout=90)
        again = machine.partition("db")
        again.run(f"{_APPEARS.format('vda')}; verify_io /dev/vda 2 100")
        assert_clean(web)

        web.run("shimos detach db --disk /dev/ram0")
        read_that_hangs(web, again)
        machine.run("shimos kill db")
        again.close()
        machine.run("(shimos rm db >/tmp/rm 2>&1; echo $? >>/tmp/rm) & :")
        machine.run("shimos kill web")
        machine.run("until grep -qx 0 /tmp/rm; do sleep 0.1; done", timeout=10)


def test_network_of_two_partitions(machine: Machine) -> None:
    """A network that the host knows nothing of: ping, TCP both ways; it vanishes with its owner."""
    with two(machine) as (web, db):
        (net,) = json.loads(web.run("shimos attach db --net p2p --json 2>/dev/null").output)["devices"]
        web.run(f"ip addr add 10.7.0.1/24 dev {net['name']} && ip link set {net['name']} up")
        db.run(
            "until [ -e /sys/class/net/eth0 ]; do sleep 0.1; done; ip addr add 10.7.0.2/24 dev eth0; ip link set eth0 up"
        )
        db.run("ping -c 3 -i 0.2 10.7.0.1")
        for here, there, address in ((web, db, "10.7.0.1"), (db, web, "10.7.0.2")):
            # It would take the end of its input for that of the connection.
            here.run("mkfifo /tmp/silent; (nc -l -p 5000 <>/tmp/silent | md5sum >/tmp/sum; echo done >>/tmp/sum) & :")
            there.run("dd if=/dev/urandom of=/tmp/data bs=1M count=8 2>/dev/null")
            there.run(f"until nc {address} 5000 </tmp/data 2>/dev/null; do sleep 0.1; done")
            here.run("until grep -q done /tmp/sum; do sleep 0.1; done")
            assert here.run("head -n 1 /tmp/sum").output == there.run("md5sum </tmp/data; rm /tmp/data").output
        assert "eth" not in machine.run("readlink /sys/class/net/* | grep shimos || :").output
        db.run("(ping -i 0.05 10.7.0.1 >/dev/null 2>&1 &) ; :")
        machine.run("shimos kill web")
        db.run("while [ -e /sys/class/net/eth0 ]; do sleep 0.1; done; killall ping; :")
        assert_clean(db)


@pytest.mark.parametrize("first", ["web", pytest.param("db", marks=REPETITION)])
def test_owners_of_each_other(machine: Machine, first: str) -> None:
    """web, db and the host use disks of each other; both partitions die under load, in either order."""
    machine.run("modprobe brd rd_nr=2 rd_size=16384")
    with two(machine) as (web, db):
        make_owner(db)
        machine.run("shimos attach web --disk /dev/ram0 && shimos attach db --disk /dev/ram1")
        for console in (web, db):
            console.run(_APPEARS.format("vda"))
        web.run("shimos attach db --disk /dev/ram0 && shimos attach host --disk /dev/ram1")
        db.run(f"{_APPEARS.format('vdb')}; shimos attach web --disk /dev/ram0")
        web.run(_APPEARS.format("vdb"))
        load_until_failure(machine, host_disk(machine))
        for console in (web, db):
            load_until_failure(console, "vdb")
        web.run("verify_io /dev/vda 2 200")
        db.run("verify_io /dev/vda 2 200")
        second, other = ("db", db) if first == "web" else ("web", web)
        machine.run(f"shimos kill {first}")
        load_ended(other)
        other.run(_VANISHES.format("vdb"))
        other.run("verify_io /dev/vda 2 200")
        assert_clean(other)
        machine.run(f"shimos kill {second}")
        load_ended(machine)
        machine.run("until ! readlink /sys/block/vd* | grep -q shimos-virtio; do sleep 0.1; done")
    machine.run("rmmod brd")


@rare("they stay where they are in use")
def test_modules_come_and_go(machine: Machine) -> None:
    """Transports and back ends are unloaded under load, here and there: errors, and all can be attached again."""
    machine.run("modprobe brd rd_nr=1 rd_size=16384")
    with two(machine) as (web, db):
        transport: dict[PartitionConsole | Machine, tuple[str, str]] = {
            db: ("rmmod shimos_virtio", "insmod /shimos_virtio.ko")
        }
        transport |= {machine: ("rmmod shimos_virtio", "modprobe shimos_virtio")}
        backend: dict[PartitionConsole | Machine, tuple[str, str]] = {
            web: ("rmmod shimos_backend", "insmod /shimos_backend.ko")
        }
        backend |= {machine: ("rmmod shimos_backend", "modprobe shimos_backend")}
        for owner, user, name, share in (
            (web, db, "db", "shimos attach db --disk /dev/ram0"),
            (web, machine, "host", "shimos attach host --disk /dev/ram1"),
            (machine, db, "db", "shimos attach db --disk /dev/ram0"),
        ):
            owner.run(share)
            disk = appeared(user)
            load_until_failure(user, disk)
            user.run(transport[user][0])
            load_ended(user)
            owner.run(f"until shimos devices | grep -q ' {name} .*waiting'; do sleep 0.1; done")
            user.run(transport[user][1])
            # It gets back what is shared; the back end, though, forgets.
            disk = appeared(user)
            load_until_failure(user, disk)
            owner.run(backend[owner][0])
            load_ended(user)
            user.run(_VANISHES.format(disk))
            owner.run(f"{backend[owner][1]}; {share}")
            disk = appeared(user)
            user.run(f"{_VERIFY if user is machine else 'verify_io'} /dev/{disk} 2 100")
            owner.run(share.replace("attach", "detach"))
            user.run(_VANISHES.format(disk))
        for console in (web, db):
            assert_clean(console)
    machine.run("rmmod brd")


def test_number_used_again(machine: Machine) -> None:
    """Whoever gets the number of a partition that was removed is offered nothing of what that had, however late the owner looks."""
    initrd = owner_initrd(machine, "6.1", {"/stall.ko": "shimos_ikc_stall.ko"})
    before = Resources(machine)
    web, db = (start_kernel(machine, name, cpu, initrd) for name, cpu in (("web", "2"), ("db", "3")))
    make_owner(web)
    web.run("insmod /stall.ko && shimos attach db --disk /dev/ram0")
    db.run(_APPEARS.format("vda"))
    db.close()
    web.run("echo 1 >/proc/ikc_stall")
    machine.run("shimos kill db")
    web.run("until grep -qx stalled /proc/ikc_stall; do usleep 20000; done")
    # It has the disk still, but hears no more of db.
    machine.run("shimos rm db", timeout=60)
    other = start_kernel(machine, "other", "3", initrd)
    web.run("echo 0 >/proc/ikc_stall")
    web.run("until shimos devices --json | grep -q 'devices.: \\[\\]\\|running'; do usleep 50000; done")
    assert json.loads(web.run("shimos devices --json").output)["devices"] == [], (
        "it offers the disk to whoever has the number now"
    )
    other.run("test ! -e /sys/block/vda")
    assert_clean(web)
    machine.release_consoles()
    for name in ("web", "other"):
        remove(machine, name)
    before.assert_back()
    machine.assert_dmesg_clean()
