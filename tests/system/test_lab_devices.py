"""The lab's disks, networks and file systems for tests that share them."""

from __future__ import annotations

import urllib.request

import pytest

from lab import devices, outside
from lab.devices import OUTSIDE, Disk, Nic
from lab.machine import Machine
from lab.partition_root import partition_root
from lab.stage.partitions import scratch_disk
from tests.support.tiers import late

pytestmark = [
    pytest.mark.machine(
        partitions=["6.12"],
        load=False,
        disks=[Disk("data", "48M"), Disk("root", partition_root), Disk("fast", "32M", bus="nvme")],
        nics=[Nic()],
    ),
    late("the lab itself, which all other tests use"),
]

# Disks, networks and what stands for them.
MODULES = (
    *("brd", "loop", "null_blk", "nbd", "dm-mod", "dm-flakey", "dm-delay", "scsi_debug"),
    *("bridge", "veth", "tun", "macvlan", "virtio_net", "sch_netem", "sch_tbf"),
)


@pytest.mark.parametrize(("serial", "size"), [("data", "48M"), ("fast", "32M")])
def test_empty_disks(machine: Machine, serial: str, size: str) -> None:
    disk = machine.disk(serial)
    assert ("nvme" if serial == "fast" else "vd") in disk
    assert int(machine.run(f"blockdev --getsize64 {disk}").output) == devices.size(size)
    machine.run(f"cmp -n {devices.size(size)} {disk} /dev/zero")
    fio = "fio --name=x --rw=randrw --bs=4k --size=4M --direct=1 --verify=crc32c --ioengine=io_uring"
    machine.run(f"{fio} --filename={disk}")
    machine.run(f"blkdiscard {disk}")


def test_unknown_disk(machine: Machine) -> None:
    with pytest.raises(AssertionError, match="serial nothing"):
        machine.disk("nothing")


def test_partition_root(machine: Machine) -> None:
    disk = machine.disk("root")
    machine.run(f"mount {disk} /mnt")
    try:
        version = machine.versions["6.12"]
        machine.run(f"test -x /mnt/sbin/init && test -e /mnt/usr/lib/modules/{version}/modules.dep")
        assert machine.run("chroot /mnt sqlite3 :memory: 'select 6*7'").output == "42\n"
    finally:
        machine.run("umount /mnt")
    assert machine.run(f"blkid -s LABEL -o value {disk}").output == "partition\n"


def test_outside(machine: Machine) -> None:
    with outside.http(b"from outside\n") as port:
        assert machine.run(f"curl -sS http://{OUTSIDE}:{port}/").output == "from outside\n"
    with outside.echo() as port:
        talk = f"exec 3<>/dev/tcp/{OUTSIDE}/{port}; echo over and back >&3; head -n 1 <&3"
        assert machine.run(talk).output == "over and back\n"


def test_from_outside(machine: Machine) -> None:
    machine.run("echo hello >/var/www/html/hello && nginx")
    url = f"http://127.0.0.1:{machine.forward(80)}/hello"
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310
        assert answer.read() == b"hello\n"
    machine.run("nginx -s quit")


@pytest.mark.machine(partitions=[], load=False, nics=[Nic()])
def test_bridge(fresh_machine: Machine) -> None:
    """What a bridged partition will see, with a network namespace in its place."""
    fresh_machine.run(
        "ip address flush dev eth0 && ip link add br0 type bridge && ip link set eth0 master br0 && ip link set br0 up"
        " && ip netns add web && ip link add port0 type veth peer name eth0 netns web"
        " && ip link set port0 master br0 up && ip -n web link set eth0 up && ip -n web address add 10.0.2.16/24 dev eth0"
    )
    with outside.http(b"through the bridge") as port:
        assert fresh_machine.run(f"ip netns exec web curl -sS http://{OUTSIDE}:{port}/").output == "through the bridge"


def test_xdp_program(machine: Machine) -> None:
    run = machine.run
    run("ip link add xdp0 type veth peer name xdp1 && ip link set xdp0 up && ip link set xdp1 up")
    run("xdp-loader load -m native xdp0 /usr/lib/x86_64-linux-gnu/bpf/xdpfilt_dny_all.o")
    assert "xdpfilt_dny_all" in run("xdp-loader status xdp0").output
    run("xdp-loader unload xdp0 --all && ip link delete xdp0")


def test_scratch_disk(machine: Machine) -> None:
    with scratch_disk(machine, "8M") as disk, scratch_disk(machine) as other:
        assert disk != other
        assert int(machine.run(f"blockdev --getsize64 {disk}").output) == 8 << 20
        machine.run(f"mkfs.ext4 -q {disk} && e2fsck -fn {disk}")
    assert machine.run("losetup --list --noheadings").output == ""


def test_modules(machine: Machine) -> None:
    for module in MODULES:
        machine.run(f"modprobe {module}")
    machine.assert_dmesg_clean()


@pytest.mark.machine(kernel="6.1", partitions=[], load=False, nics=[Nic()], disks=[Disk("data", "1M")])
def test_older_host(fresh_machine: Machine) -> None:
    for module in MODULES:
        fresh_machine.run(f"modprobe {module}")
    assert fresh_machine.run(f"blockdev --getsize64 {fresh_machine.disk('data')}").output == "1048576\n"
    fresh_machine.run("ping -c 1 10.0.2.2")
    fresh_machine.assert_dmesg_clean()
