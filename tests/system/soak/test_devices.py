"""A long mixed load on shared disks and networks: `./test tests/system/soak/test_devices.py`, not part of `./test`.

SHIMOS_SOAK_MINUTES says how long, 30 unless told.
"""

from __future__ import annotations

import os
import random
from time import monotonic

import pytest

from lab.devices import Disk
from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.devices import device
from lab.stage.disks import CHROOT_TOOLS, TOOLS, inside, start_with
from lab.stage.lan import ip4, make_bridge
from lab.stage.partitions import Resources, remove, show, wait_state

MINUTES = float(os.environ.get("SHIMOS_SOAK_MINUTES", "30"))
#: Seconds of load in a round.
ROUND = 20
FIO = (
    f"fio --ioengine=libaio --direct=1 --iodepth=16 --bssplit=512/30:4k/40:12k/10:64k/10:256k/8:1M/2 --blockalign=512"
    f" --verify=crc32c --verify_fatal=1 --numjobs=2 --offset_increment=32M --size=24M --rw=randrw --name=mixed"
    f" --time_based --runtime={ROUND} --output=/tmp/fio.log"
)
SEED = 2611


def load_all(shell: PartitionConsole, raw: str, number: int) -> None:
    """Load disk, file system and network at the same time; all of them check what they get."""
    jobs = (
        f"{CHROOT_TOOLS} {FIO} --randseed={number} --filename={raw}",
        f"{CHROOT_TOOLS} stress-ng --iomix 1 --iomix-bytes 8M --verify --temp-path /mnt/disk --timeout {ROUND} --quiet",
        f"{CHROOT_TOOLS} iperf3 -c {ip4('host')} --bidir -t {ROUND} >/tmp/iperf.log",
    )
    started = " ".join(f'{job} & pids="$pids $!";' for job in jobs)
    shell.run(f"pids=; {started} for pid in $pids; do wait $pid || exit 1; done", timeout=ROUND * 10)


def networked(shell: PartitionConsole, name: str) -> PartitionConsole:
    shell.run(f"ip link set lo up && ip address add {ip4(name)}/24 dev eth0 && ip link set eth0 up")
    return shell


@pytest.mark.machine(
    partitions=["6.12", "6.1"],
    memory="6G",
    disks=[TOOLS, Disk("data", "128M"), Disk("files", "256M"), Disk("victim", "256M"), Disk("guest", "64M")],
)
def test_soak(fresh_machine: Machine) -> None:
    """web works without an error while db is killed in its work again and again, and disks come and go."""
    moments = random.Random(SEED)
    fresh_machine.run("modprobe shimos_backend")
    lan = make_bridge(fresh_machine)
    before = Resources(fresh_machine)
    data, files, victim, guest = (fresh_machine.disk(name) for name in ("data", "files", "victim", "guest"))
    fresh_machine.run(f"mkfs.ext4 -q -F {files} && mkfs.ext4 -q -F {victim}")
    web = networked(start_with(fresh_machine, data, files, cpus="2", more="--net br0"), "web")
    web.run(f"mkdir /t/mnt/disk && mount -t ext4 {inside(web, files)} /t/mnt/disk")
    raw = inside(web, data)
    rounds, end = 0, monotonic() + MINUTES * 60
    while monotonic() < end:
        rounds += 1
        db = networked(start_with(fresh_machine, victim, name="db", cpus="3", flavour="6.1", more="--net br0"), "db")
        db.run(f"mkdir /t/mnt/disk && mount -t ext4 {inside(db, victim)} /t/mnt/disk")
        db.send(
            f"{CHROOT_TOOLS} stress-ng --iomix 2 --iomix-bytes 16M --temp-path /mnt/disk --timeout 600 --quiet\n".encode()
        )
        kill = f"sleep {moments.uniform(1, ROUND):.2f}; shimos kill db"
        comes = f"shimos attach web --disk {guest} && shimos detach web --disk {guest}"
        fresh_machine.run(
            f"({kill}) >/tmp/kill.log 2>&1 & (for n in 1 2 3; do {comes} || break; done) >/tmp/comes.log 2>&1 &"
        )
        load_all(web, raw, rounds)
        wait_state(fresh_machine, "db", "stopped", ROUND * 3)
        db.close()
        remove(fresh_machine, "db")
        # the journal is replayed, and then nothing is found
        fresh_machine.run(f"e2fsck -p {victim} && e2fsck -fn {victim}", timeout=120)
        assert "cannot" not in fresh_machine.run("cat /tmp/kill.log /tmp/comes.log").output
        assert device(fresh_machine, data)["errors"] == device(fresh_machine, files)["errors"] == 0
        fresh_machine.assert_dmesg_clean()
    known = device(fresh_machine, data)
    print(f"{rounds} rounds, {known['read_bytes'] >> 20} MiB read, {known['write_bytes'] >> 20} MiB written raw")
    assert known["copied_bytes"] == 0 and show(fresh_machine)["state"] == "running"
    web.run("umount /t/mnt/disk")
    web.close()
    remove(fresh_machine)
    fresh_machine.run(f"e2fsck -fn {files}")
    lan.machine.run("pkill -x iperf3; pkill -x net_check; ip link delete br0", check=False)
    before.assert_back()
    fresh_machine.assert_dmesg_clean()
