"""Shared disks: a partition's stock virtio_blk on block devices and files of the host."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.devices import Disk
from lab.machine import Machine
from lab.stage.devices import device
from lab.stage.disks import CHROOT_TOOLS, TOOLS, inside, start_with
from lab.stage.partitions import Resources, refused, remove, show, wait_state, wait_value
from tests.support.tiers import rounds

MACHINE = pytest.mark.machine(
    partitions=["6.12"],
    disks=[
        TOOLS,
        Disk("data", "128M"),
        Disk("four", "64M", device="logical_block_size=4096,physical_block_size=4096"),
    ],
)
pytestmark = [pytest.mark.x2apic, MACHINE]

#: Every size of request, from both CPUs.
FIO = (
    "fio --ioengine=libaio --direct=1 --iodepth=32 --bssplit=512/40:4k/40:12k/5:64k/10:256k/4:1M/1"
    " --blockalign=512 --verify=crc32c --verify_fatal=1 --randseed=7 --numjobs=4 --offset_increment=16M --size=10M"
    " --group_reporting"
)


@contextmanager
def watched_bios(machine: Machine, disk: str, name: str = "web") -> Iterator[dict[str, int]]:
    """Yield counts of a module of our own that looks at the pages of every bio for the disk; filled at the end."""
    machine.run(f"insmod /usr/lib/shimos-test/{machine.versions[machine.flavour]}/shimos_bio_watch.ko")
    found: dict[str, int] = {}
    try:
        for part in show(machine, name)["ranges"]:
            machine.run(f"echo range {part['start']:x} {part['size']:x} >/proc/bio_watch")
        machine.run(f"echo disk $(cat /sys/block/{disk.split('/')[-1]}/dev) >/proc/bio_watch")
        yield found
        found.update({k: int(v) for k, v in (x.split() for x in machine.run("cat /proc/bio_watch").lines)})
    finally:
        machine.run("rmmod shimos_bio_watch")


def test_data(machine: Machine) -> None:
    """fio verifies in the partition, then the host what the partition wrote; nothing was copied on the way."""
    disk = machine.disk("data")
    before = Resources(machine)
    shell = start_with(machine, disk)
    own, scan = inside(shell, disk), device(machine, disk)["direct_bytes"]
    with watched_bios(machine, disk) as bios:
        shell.run(f"{CHROOT_TOOLS} {FIO} --name=mixed --rw=randrw --filename={own}", timeout=300)
        shell.run(f"{CHROOT_TOOLS} {FIO} --name=left --rw=randwrite --do_verify=0 --filename={own}", timeout=300)
    known = device(machine, disk)
    assert known["direct_bytes"] == known["read_bytes"] + known["write_bytes"] > 80 << 20
    assert known["copied_bytes"] == known["errors"] == 0
    assert bios["inside"] == known["direct_bytes"] - scan and bios["outside"] == 0, (bios, known)
    assert bios["throttled"] == 0, "writes of the partition count as writeback of the host's"
    assert shell.run(f"ls /sys/block/{own[5:]}/mq").output.split() == ["0", "1"]
    shell.close()
    remove(machine)
    machine.run(f"{FIO} --name=left --rw=randwrite --verify_only --filename={disk}", timeout=300)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_file_system(machine: Machine) -> None:
    """stress-ng works on an ext4 in the partition, which the host then finds in order."""
    disk = machine.disk("data")
    machine.run(f"mkfs.ext4 -q -F {disk}")
    shell = start_with(machine, disk)
    shell.run(f"mkdir /t/mnt/disk && mount -t ext4 {inside(shell, disk)} /t/mnt/disk")
    load = f"stress-ng --iomix 2 --iomix-bytes 16M --verify --temp-path /mnt/disk --timeout {rounds(8, 3)}"
    shell.run(f"{CHROOT_TOOLS} {load}", timeout=200)
    sums = "find {0} -type f | sort | xargs cat | md5sum"
    shell.run("cp -r /t/usr/lib/python3* /t/mnt/disk/ && cd / && umount /t/mnt/disk", timeout=120)
    there = shell.run(sums.format("/t/usr/lib/python3*")).output
    shell.close()
    machine.run(f"shimos detach web --disk {disk} && e2fsck -fn {disk} && mount -o ro {disk} /mnt")
    here = machine.run(sums.format("/mnt/python3*") + "; umount /mnt").output
    assert here == there
    remove(machine)
    machine.assert_dmesg_clean()


def test_flush(machine: Machine) -> None:
    """What the partition wants on stable storage becomes a flush of the owner's disk, and only that."""
    disk = machine.disk("data")
    assert machine.run(f"cat /sys/block/{disk[5:]}/queue/write_cache").output == "write back\n"
    shell = start_with(machine, disk)
    own = inside(shell, disk)
    # The kernel flushes once for FUA and once for the sync after each O_DSYNC write.
    for how, flushes in (("oflag=direct", 0), ("oflag=direct conv=fsync", 1), ("oflag=direct,dsync", 16)):
        counted = device(machine, disk)["others"]
        stat = int(machine.run(f"awk '{{print $16}}' /sys/block/{disk[5:]}/stat").output)
        with watched_bios(machine, disk) as bios:
            shell.run(f"{CHROOT_TOOLS} dd if=/dev/zero of={own} bs=64k count=8 {how} status=none")
        assert bios["flushes"] == device(machine, disk)["others"] - counted, how
        assert flushes <= bios["flushes"] <= flushes + 1, (how, bios)
        assert int(machine.run(f"awk '{{print $16}}' /sys/block/{disk[5:]}/stat").output) >= stat + flushes
    shell.close()
    remove(machine)


def test_discard(machine: Machine) -> None:
    """Discarding in the partition makes a sparse file smaller; write-zeroes leaves zeroes."""
    image = "/var/tmp/sparse.img"
    machine.run(f"rm -f {image} && truncate -s 64M {image}")

    def allocated() -> int:
        return int(machine.run(f"sync {image}; stat -c %b {image}").output) * 512

    shell = start_with(machine, image)
    own = inside(shell, image)
    shell.run(f"{CHROOT_TOOLS} dd if=/dev/urandom of={own} bs=1M count=32 oflag=direct status=none")
    assert allocated() >= 32 << 20
    shell.run(f"{CHROOT_TOOLS} blkdiscard --length 16M {own}")
    assert 16 << 20 <= allocated() < 17 << 20
    assert shell.run(f"cmp -n {16 << 20} {own} /dev/zero").output == ""
    shell.run(f"{CHROOT_TOOLS} blkdiscard --zeroout --offset 16M --length 8M {own}")
    assert shell.run(f"cmp -n {24 << 20} {own} /dev/zero").output == ""
    assert shell.run(f"cmp -s -n {25 << 20} {own} /dev/zero", check=False).status == 1
    shell.run(f"{CHROOT_TOOLS} mkfs.ext4 -q -F {own} && mkdir /m/disk && mount {own} /m/disk")
    shell.run("dd if=/dev/urandom of=/m/disk/x bs=1M count=30 && sync && rm /m/disk/x && sync")
    full = allocated()
    shell.run(f"mount --bind /m/disk /t/mnt && {CHROOT_TOOLS} fstrim /mnt && umount /t/mnt && umount /m/disk")
    assert allocated() < full - (20 << 20), (allocated(), full)
    shell.close()
    remove(machine)
    machine.run(f'e2fsck -fn {image} && rm {image} && test -z "$(losetup -n)"')
    machine.assert_dmesg_clean()


def test_read_only(machine: Machine) -> None:
    """Two partitions read one disk and cannot write to it; a third use that writes is refused."""
    disk = machine.disk("data")
    sums = machine.run(f"md5sum <{disk}").output
    shells = [start_with(machine, f"{disk},ro", name=name, cpus=cpu) for name, cpu in (("web", "2"), ("db", "3"))]
    for shell in shells:
        own = inside(shell, disk)
        assert shell.run(f"blockdev --getro {own}").output == "1\n"
        assert "not permitted" in shell.run(f"dd if=/dev/zero of={own} count=1", check=False).output
        assert shell.run(f"md5sum <{own}").output == sums
    refused(machine, f"shimos attach db --disk {disk}", "in use", "'web'")
    refused(machine, f"mkfs.ext4 -q -F {disk}", "in use")
    machine.release_consoles()
    remove(machine)
    remove(machine, "db")
    machine.run(f"mkfs.ext4 -q -F {disk}")


def test_large_blocks(machine: Machine) -> None:
    """A disk with sectors of 4096 bytes is one in the partition, too."""
    disk = machine.disk("four")
    shell = start_with(machine, disk)
    own = inside(shell, disk)
    queue = f"/sys/block/{own[5:]}/queue"
    assert shell.run(f"cat {queue}/logical_block_size {queue}/physical_block_size").lines == ["4096", "4096"]
    assert shell.run(f"{CHROOT_TOOLS} dd if={own} of=/dev/null bs=512 count=1 iflag=direct", check=False).status
    fio = FIO.replace("512/40:4k/40", "4k/80").replace("blockalign=512", "blockalign=4k")
    shell.run(f"{CHROOT_TOOLS} {fio} --name=mixed --rw=randrw --filename={own}", timeout=200)
    shell.run(f"{CHROOT_TOOLS} mkfs.ext4 -q -F {own} && mount {own} /m && seq 100000 >/m/seq && umount /m")
    shell.close()
    remove(machine)
    machine.run(
        f"e2fsck -fn {disk} && mount -o ro {disk} /mnt && seq 100000 | cmp - /mnt/seq; e=$?; umount /mnt; exit $e"
    )


def test_queues(machine: Machine) -> None:
    """Each CPU of the partition has a queue, and each queue its thread here; queues= makes them fewer."""
    disk, four = machine.disk("data"), machine.disk("four")
    shell = start_with(machine, disk, f"{four},queues=1")
    assert shell.run(f"ls /sys/block/{inside(shell, four)[5:]}/mq").lines == ["0"]
    own, number = inside(shell, disk), device(machine, disk)["id"]
    for cpu in (0, 1):
        woken = 'for p in $(pgrep "shm-{0}/"); do echo $(cat /proc/$p/comm) $(awk "/^vol/ {{print \\$2}}" /proc/$p/status); done'
        before = dict(x.split() for x in machine.run(woken.format(number)).lines)
        shell.run(f"taskset -c {cpu} dd if={own} of=/dev/null bs=4k count=200 iflag=direct 2>/dev/null")
        after = dict(x.split() for x in machine.run(woken.format(number)).lines)
        grown = {name: int(after[name]) - int(before[name]) for name in after}
        assert grown[f"shm-{number}/{cpu}"] > 50 > grown[f"shm-{number}/{1 - cpu}"], grown
    shell.close()
    remove(machine)


def test_images(machine: Machine) -> None:
    """A file is a disk as it is, in part (size=), and for reading only."""
    with_text = "/var/tmp/text.img"
    machine.run(f"seq 1000000 | head -c 4M >{with_text} && cp {with_text} /var/tmp/part.img")
    shell = start_with(machine, f"{with_text},ro", "/var/tmp/part.img,size=1M")
    whole, part = inside(shell, with_text), inside(shell, "/var/tmp/part.img")
    assert [shell.run(f"blockdev --getsize64 {d}").output for d in (whole, part)] == ["4194304\n", "1048576\n"]
    assert shell.run(f"md5sum <{whole}").output == machine.run(f"md5sum <{with_text}").output
    assert shell.run(f"dd if=/dev/zero of={whole} count=1", check=False).status
    shell.run(f"{CHROOT_TOOLS} dd if=/dev/zero of={part} bs=64k count=16 oflag=direct")
    shell.close()
    remove(machine)
    machine.run(f"cmp -n {1 << 20} /var/tmp/part.img /dev/zero && cmp -i {1 << 20} /var/tmp/part.img {with_text}")
    machine.run(f'rm {with_text} /var/tmp/part.img && test -z "$(losetup -n)"')


def test_limits(machine: Machine) -> None:
    """iops= and bw= hold, and without them it is at least four times as fast."""
    disk = machine.disk("data")
    machine.run("mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup")
    fio = f"{CHROOT_TOOLS} fio --name=x --ioengine=libaio --direct=1 --time_based --runtime={rounds(4, 2)} --output-format=json"

    shell = start_with(machine)

    def measured(options: str, load: str) -> dict[str, float]:
        machine.run(f"shimos attach web --disk {disk}{options}")
        said = json.loads(shell.run(f"{fio} --filename={inside(shell, disk)} {load}", timeout=120).output)
        machine.run(f"shimos detach web --disk {disk}")
        read = said["jobs"][0]["read"]
        return {"iops": read["iops"], "bytes": read["bw_bytes"]}

    small, large = "--rw=randread --bs=4k --iodepth=8", "--rw=read --bs=64k --iodepth=4"
    # What a busy machine does without limits may be little: they are a quarter of that.
    free = measured("", small)["iops"], measured("", large)["bytes"]
    requests, kilobytes = min(50, int(free[0] / 4)), min(2048, int(free[1] / 4) >> 10)
    assert requests > 5 and kilobytes > 64, f"the disk is too slow to measure: {free}"
    limited = measured(f",iops={requests}", small)["iops"]
    assert 0.5 < limited / requests < 1.5, f"iops={requests} made it {limited:.0f}, without it {free[0]:.0f}"
    limited = measured(f",bw={kilobytes}K", large)["bytes"] / 1024
    assert 0.5 < limited / kilobytes < 1.5, f"bw={kilobytes}K made it {limited:.0f}, without it {free[1] / 1024:.0f}"
    shell.close()
    remove(machine)


def test_zeroes_that_take_long(machine: Machine) -> None:
    """Writing zeroes keeps to the limit, lets others through, and ends with the partition."""
    disk = machine.disk("data")
    machine.run("mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup")
    written = f"$(awk '{{print $7}}' /sys/block/{disk[5:]}/stat)"
    shell = start_with(machine, f"{disk},bw=2M")
    own = inside(shell, disk)
    before = int(machine.run(f"echo {written}").output)
    # 128 MiB: a minute.
    shell.run(f"(taskset -c 0 {CHROOT_TOOLS} blkdiscard --zeroout {own}; echo done >/zeroed) & :")
    machine.run(f"until [ {written} -gt {before + (3 << 11)} ]; do sleep 0.05; done", timeout=60)
    # A request in the same ring: who reads the device itself would wait for a lock of the partition's.
    shell.run(f"for n in 1 2 3; do taskset -c 0 cat /sys/block/{own[5:]}/serial; done", timeout=30)
    assert device(machine, disk)["capacity"] == 128 << 20
    shell.run("test ! -e /zeroed")
    shell.close()
    machine.run("shimos kill web && shimos rm web", timeout=60)
    assert int(machine.run(f"echo {written}").output) - before < 64 << 11
    machine.assert_dmesg_clean()


def test_doorbells_of_a_cpu(machine: Machine) -> None:
    """What a CPU of the partition has asked for is announced to that CPU."""
    disk = machine.disk("data")
    shell = start_with(machine, disk)
    own = inside(shell, disk)

    def rang() -> list[int]:
        lines = shell.run("grep shimos-ikc /proc/interrupts").lines
        return [sum(int(line.split()[1 + cpu]) for line in lines) for cpu in (0, 1)]

    for cpu in (0, 1):
        before = rang()
        shell.run(f"taskset -c {cpu} dd if={own} of=/dev/null bs=4k count=200 iflag=direct 2>/dev/null")
        grown = [now - then for now, then in zip(rang(), before, strict=True)]
        assert grown[cpu] > 100 > grown[1 - cpu], (cpu, grown)
    shell.close()
    remove(machine)


def test_while_running(machine: Machine) -> None:
    """Disks come and go while the partition runs; one that is in use stays."""
    disk, four = machine.disk("data"), machine.disk("four")
    before = Resources(machine)
    shell = start_with(machine)
    for turn in range(rounds(3, 2)):
        machine.run(f"shimos attach web --disk {disk} --disk {four}")
        names = [inside(shell, d)[5:] for d in (disk, four)]
        shell.run(f"echo {turn} | dd of=/dev/{names[0]} conv=fsync 2>/dev/null")
        shell.run(f"(echo >/open; until [ -e /close ]; do usleep 50000; done) 3</dev/{names[1]} & echo $! >/reader")
        shell.run("until [ -e /open ]; do usleep 50000; done")
        machine.run(f"shimos detach web --disk {disk}")
        text = refused(machine, f"shimos detach web --disk {four}", "in use in web", "--force")
        assert "let go" in text
        shell.run("rm /open; touch /close; while [ -d /proc/$(cat /reader) ]; do usleep 50000; done; rm /close")
        machine.run(f"shimos detach web --disk {four}")
        assert machine.run(f"head -n 1 {disk}").output == f"{turn}\n"
        assert not [n for n in names if n in shell.run("ls /sys/block").output.split()]
    # whoever looks for partitions on a new disk is not its user
    again = f"shimos attach web --disk {four} && shimos detach web --disk {four}"
    machine.run(f"for n in $(seq {rounds(20, 5)}); do {again} || exit; done")
    shell.close()
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_restart(machine: Machine) -> None:
    """Devices stay through `shimos restart` and the partition's own reboot, and so does what is on them."""
    disk = machine.disk("data")
    shell = start_with(machine, f"{disk},queues=1", more="--on-reboot restart")
    tools = machine.disk("tools").split("/")[-1]
    number = device(machine, disk)["id"]
    for turn in range(3):
        own = inside(shell, disk)
        if turn:
            assert shell.run(f"head -n 1 {own}").output == f"{turn - 1}\n"
        shell.run(f"echo {turn} | dd of={own} conv=fsync 2>/dev/null")
        if turn == 0:
            shell.close()
            machine.run("shimos restart web", timeout=120)
            shell = machine.partition("web")
        elif turn == 1:
            starts = show(machine)["starts"]
            shell.send(b"reboot -f\n")
            wait_value(machine, "/sys/class/shimos/web/starts", f"{starts + 1}", 60)
            wait_state(machine, "web", "running")
            shell.close()
            shell = machine.partition("web")
    shell.run(f"/mount-tools {tools} && {CHROOT_TOOLS} true")
    assert device(machine, disk)["id"] == number and device(machine, disk)["queues"] == 1
    shell.close()
    remove(machine)
    machine.assert_dmesg_clean()
