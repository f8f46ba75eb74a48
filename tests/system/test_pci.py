"""PCIe devices given whole to a partition, and back."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.devices import PciDevice
from lab.machine import LAB_INITRD, Machine
from lab.partition import PartitionConsole
from lab.stage import nvme
from lab.stage.canary import canary, insmod_canary
from lab.stage.nvme import sum_of
from lab.stage.partitions import PROGRAMS, WAIT_FOR, Resources, refused, remove, run_command, show, start, wait_state
from tests.support.tiers import REPETITION, everything, rare, rounds

#: What the tests' machine has behind PCIe ports, from bus 1 on.
DEVICES = (
    # slow, so that seconds of what was asked for are under way at any moment
    PciDevice("nvme,serial=lab0", disk=16, disk_options="throttling.bps-total=4000000"),
    PciDevice("nvme,serial=lab1", disk=32),
    PciDevice("virtio-net-pci,disable-legacy=on"),
    PciDevice("virtio-net-pci,disable-legacy=on", same_port=True),
    PciDevice("virtio-net-pci,disable-legacy=on,vectors=0"),
)
SLOW_DISK, DISK, NIC, NIC2, NO_MSI = "01:00.0", "02:00.0", "03:00.0", "03:00.1", "04:00.0"

pytestmark = pytest.mark.machine(pci=DEVICES)


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check that each test on the shared machine leaves CPUs, memory, drivers and log as they were."""
    if "machine" not in request.fixturenames:
        yield
        return
    machine: Machine = request.getfixturevalue("machine")
    before, drivers = Resources(machine), bound(machine)
    yield
    before.assert_back()
    assert bound(machine) == drivers
    machine.assert_dmesg_clean()


def sysfs(address: str) -> str:
    return f"/sys/bus/pci/devices/0000:{address}"


def bound(machine: Machine) -> str:
    """Return every device of the host with its driver."""
    command = 'cd /sys/bus/pci/devices; for d in *; do echo $d $(readlink $d/driver) "$(cat $d/driver_override)"; done'
    return machine.run(command).output


def disk_of(machine: Machine, address: str) -> str:
    """Return the disk's name on the host."""
    return nvme.disk_of(machine, f"0000:{address}")


def fill(shell: Machine | PartitionConsole, disk: str, megabytes: int) -> str:
    """Write random data to the beginning of a disk; returns the sum of all of it."""
    shell.run(f"dd if=/dev/urandom of={disk} bs=1M count={megabytes} oflag=direct")
    return sum_of(shell, disk)


def interrupts(console: PartitionConsole) -> int:
    """Return how many messages of NVMe devices have come to the partition."""
    text = console.run("cat /proc/interrupts").output
    lines = [line.split() for line in text.splitlines() if "PCI-MSI" in line and "nvme" in line]
    return sum(int(count) for words in lines for count in words[1:3])


@contextmanager
def keeping_busy(console: PartitionConsole, disk: str) -> Iterator[None]:
    """Read and write a disk without end until the partition is gone."""
    # random data: what arrives late shows in memory; the first 4 MiB are for sums
    reads = f"while :; do dd if={disk} of=/dev/null bs=4M iflag=direct; done"
    writes = f"while :; do dd if=/dev/urandom of={disk} bs=1M seek=8 count=8 oflag=direct; done"
    for loop in (reads, reads, reads, reads, writes):
        console.run(f"({loop}) >/dev/null 2>&1 &")
    console.run("until awk '$1 == 0 || $2 == 0 {exit 1}' /sys/block/nvme0n1/inflight; do usleep 50000; done")
    yield
    console.close()


@pytest.mark.parametrize("flavour", ["6.12", pytest.param("6.1", marks=REPETITION)])
def test_disk(machine: Machine, flavour: str) -> None:
    """A stock driver in the partition reads and writes with MSI-X; then the host has it again."""
    disk = disk_of(machine, DISK)
    data = fill(machine, disk, 8)
    start(machine, flavour=flavour, more=f"--pci 0000:{DISK},unsafe")
    assert show(machine)["pci"] == [f"0000:{DISK}"]
    assert machine.run(f"ls {disk}", check=False).status != 0, "the host has lost it"
    web = machine.partition("web")
    # the same bus in the next segment, and nothing else
    assert web.run("ls /sys/bus/pci/devices").output.split() == [f"0001:{DISK}"]
    assert "0cf8-0cff : reserved" in web.run("cat /proc/ioports").output, "it stays off the host's ports"
    assert sum_of(web, "/dev/nvme0n1") == data
    before = interrupts(web)
    data = fill(web, "/dev/nvme0n1", 32)
    assert interrupts(web) > before + 10
    web.close()
    machine.run("shimos stop web")
    machine.run("shimos restart web", timeout=60)
    assert sum_of(machine.partition("web"), "/dev/nvme0n1") == data
    machine.partition("web").close()
    assert f"0000:{DISK}" in machine.run("shimos rm --force web").output
    assert sum_of(machine, disk_of(machine, DISK)) == data


def test_disk_of_a_guarded_one(machine: Machine) -> None:
    """It reaches its device's registers by itself: nothing is left for a read or a write."""
    disk = disk_of(machine, DISK)
    data = fill(machine, disk, 8)
    start(machine, flavour="6.12", more=f"--pci 0000:{DISK},unsafe --guarded")
    web = machine.partition("web")
    assert sum_of(web, "/dev/nvme0n1") == data
    exits = show(machine)["exits"]
    data = fill(web, "/dev/nvme0n1", 8)
    now = show(machine)
    assert (now["exits"], now["faults"]) == (exits, 0)
    web.close()
    machine.run("shimos kill web")
    machine.run("shimos restart web", timeout=60)
    assert sum_of(machine.partition("web"), "/dev/nvme0n1") == data
    machine.partition("web").close()
    remove(machine)
    assert sum_of(machine, disk_of(machine, DISK)) == data


def test_several_devices(machine: Machine) -> None:
    """On buses of their own and as functions of one, from a file."""
    devices = [SLOW_DISK, DISK, NIC, NIC2]
    config = (
        f'name="web"\ncpuset="2-3"\nmemory="512M"\nkernel="{machine.vmlinuz("6.12")}"\n'
        f'initrd="{LAB_INITRD}"\n' + "".join(f'[[pci]]\naddress="{device}"\nunsafe=true\n' for device in devices)
    )
    machine.put("/tmp/web.toml", config.encode())
    disks = [disk_of(machine, d) for d in (SLOW_DISK, DISK)]
    data = sorted(fill(machine, disk, 1) for disk in disks)
    machine.run("shimos run --file /tmp/web.toml; rm /tmp/web.toml", timeout=180)
    web = machine.partition("web")
    assert web.run("ls /sys/bus/pci/devices").output.split() == [f"0001:{d}" for d in devices]
    assert sorted(sum_of(web, f"/dev/nvme{n}n1") for n in (0, 1)) == data
    log = machine.run("shimos logs web").output
    assert len(re.findall(r"PCI host bridge to bus 0001:0[123]", log)) == 3
    assert not re.search(r"BAR \d.*(can't|failed)|conflict", log)
    web.close()
    remove(machine)


@rare("test_ends_during_io has one end of each kind")
def test_killed_during_io(machine: Machine) -> None:
    """Killed in the middle of reads and writes: nothing is written any more, and it works again."""
    machine.run(f"dd if=/dev/urandom of={disk_of(machine, SLOW_DISK)} bs=1M count=16 oflag=direct")
    beginning = "dd if=%s bs=1M count=4 iflag=direct 2>/dev/null | md5sum"
    data = machine.run(beginning % disk_of(machine, SLOW_DISK)).output
    start(machine, flavour="6.12", memory="256M", more=f"--pci {SLOW_DISK},unsafe")
    moments = random.Random(2009)
    for _ in range(rounds(5, 1)):
        with keeping_busy(machine.partition("web"), "/dev/nvme0n1"):
            # The moments are the test's subject, not a wait for an event.
            command = f"sleep {moments.uniform(0, 0.5):.3f}; {PROGRAMS}/late_writes.py"
            assert "MiB that changed: 0\n" in machine.run(command).output
        assert int(machine.run(f"setpci -s {SLOW_DISK} COMMAND").output, 16) & 4 == 0, "no bus master"
        machine.run("shimos restart web", timeout=60)
        assert machine.partition("web").run(beginning % "/dev/nvme0n1").output == data
    with keeping_busy(machine.partition("web"), "/dev/nvme0n1"):
        machine.run("shimos rm --force web")
    # what was its memory is anybody's now
    machine.run("head -c 900M /dev/zero >/dev/shm/zeros; sleep 1; cmp -n 900M /dev/shm/zeros /dev/zero", timeout=120)
    machine.run("rm /dev/shm/zeros")
    assert machine.run(beginning % disk_of(machine, SLOW_DISK)).output == data


@pytest.mark.parametrize(
    "end",
    [*(pytest.param(end, marks=REPETITION) for end in ("reboot -f", "poweroff -f")), "echo c >/proc/sysrq-trigger"],
    ids=["reboot", "poweroff", "panic"],
)
def test_ends_during_io(machine: Machine, end: str) -> None:
    """However it ends by itself, its device stops, and works again after a restart."""
    start(machine, flavour="6.1", memory="256M", more=f"--pci {SLOW_DISK},unsafe")
    with keeping_busy(machine.partition("web"), "/dev/nvme0n1"):
        machine.partition("web").send(f"{end}\n".encode())
        wait_state(machine, "web", "stopped|crashed")
        assert int(machine.run(f"setpci -s {SLOW_DISK} COMMAND").output, 16) & 4 == 0
    machine.run("shimos restart web", timeout=60)
    machine.partition("web").run("dd if=/dev/nvme0n1 of=/dev/null bs=1M count=1 iflag=direct")
    machine.partition("web").close()
    remove(machine)


def test_interrupt_line(machine: Machine) -> None:
    """A device that uses its line, which is the host's, is silenced; the host's interrupts go on."""
    start(machine, flavour="6.12", more=f"--pci {DISK},unsafe")
    web = machine.partition("web")
    # MSI-X off and the line on, behind the driver's back
    machine.run(f"setpci -s {DISK} CAP_MSIX+2.w=0:8000 COMMAND=0:400")
    web.send(b"dd if=/dev/nvme0n1 of=/dev/null bs=4k count=1 iflag=direct\n")
    came = "awk '/shimos-pci/ && $2 + $3 { n++ } END { exit !n }' /proc/interrupts"
    machine.run(f"until {came}; do sleep 0.05; done", timeout=20)
    assert int(machine.run(f"setpci -s {DISK} COMMAND").output, 16) & 0x400, "its line is off"
    web.close()
    remove(machine)


def test_nobody_else_gets_it(machine: Machine) -> None:
    """While it is given, no driver of the host and no other partition can have it."""
    start(machine, "one", "6.12", cpus="2", more=f"--pci {DISK},unsafe")
    refused(
        machine, run_command(machine, "two", cpus="3", more=f"--pci {DISK},unsafe"), "'one' has it", "shimos rm one"
    )
    machine.run(f"echo 0000:{DISK} >/sys/bus/pci/drivers/nvme/bind", check=False)
    assert "shimos-pci" in machine.run(f"readlink {sysfs(DISK)}/driver").output
    assert not machine.run("ls /sys/bus/pci/drivers/shimos-pci | grep bind", check=False).output
    # no binding by hand either
    probe = f"echo 0000:{NIC} >/sys/bus/pci/drivers_probe"
    machine.run(f"cd {sysfs(NIC)}; echo 0000:{NIC} >driver/unbind; echo shimos-pci >driver_override; {probe} || :")
    assert machine.run(f"readlink {sysfs(NIC)}/driver", check=False).output == ""
    machine.run(f"echo >{sysfs(NIC)}/driver_override; {probe}")
    remove(machine, "one")
    disk_of(machine, DISK)


def test_unplugged(machine: Machine) -> None:
    """A device that goes takes the partition with it, and cannot be started again without."""
    start(machine, flavour="6.12", more=f"--pci {DISK},unsafe")
    machine.run(f"echo 1 >{sysfs(DISK)}/remove")
    assert show(machine)["state"] == "stopped"
    refused(machine, "shimos restart web", "unplugged", DISK)
    machine.run("echo 1 >/sys/bus/pci/rescan")
    data = fill(machine, disk_of(machine, DISK), 1)
    remove(machine)
    assert sum_of(machine, disk_of(machine, DISK)) == data, "the removal left it alone"
    assert "goes, and 'web' with it" in machine.dmesg()


def test_back_after_a_failed_run(machine: Machine) -> None:
    """A run that fails or is interrupted leaves the device with the host."""
    more = f"--kernel {machine.vmlinuz('6.12')} --pci {DISK},unsafe"
    refused(machine, run_command(machine, memory="64M", more=more), "memory")
    disk_of(machine, DISK)
    for delay in (0.5, 1, 1.5, 2) if everything() else (0.5, 1.5):
        command = run_command(machine, more=more)
        machine.run(f"timeout --foreground -s INT {delay} {command}", check=False, timeout=60)
        machine.run("[ ! -e /sys/class/shimos/web ] || shimos rm --force web", timeout=60)
        disk_of(machine, DISK)
    machine.run(f"timeout --foreground -s KILL 1 {run_command(machine, more=more)}", check=False, timeout=60)
    machine.run("[ ! -e /sys/class/shimos/web ] || shimos rm --force web", timeout=60)
    disk_of(machine, DISK)


def test_unsafe(machine: Machine) -> None:
    """No IOMMU keeps it: it can be given as that only, and reaches what is the host's."""
    refused(machine, run_command(machine, more=f"--pci {DISK}"), "no IOMMU", f"--pci 0000:{DISK},unsafe")
    insmod_canary(machine)
    untouched = canary(machine)
    assert untouched["wrong"] == "0"
    victim = f"0x{untouched['address']}"
    start(machine, flavour="6.12", more=f"--pci {DISK},unsafe --initrd {nvme.wild_initrd(machine, '6.12')}")
    assert "can write to all memory of this machine" in machine.run("shimos show web").output
    assert nvme.identify(machine.partition("web"), f"0001:{DISK}", victim) == {"status": 0}
    assert int(canary(machine)["wrong"]) > 0
    machine.release_consoles()
    remove(machine)
    machine.run("rmmod shimos_canary")


def pci_refused(machine: Machine, devices: list[str], *words: str) -> None:
    options = " ".join(f"--pci {d},unsafe" for d in devices)
    refused(machine, run_command(machine, more=options), *words)


def test_refused_devices(machine: Machine) -> None:
    """What cannot be given, each with its reason."""
    pci_refused(machine, ["0000:77:00.0"], "no PCI device 0000:77:00.0")
    pci_refused(machine, ["eth0"], "no PCI address")
    pci_refused(machine, [DISK, DISK], "twice")
    port = machine.run(f"basename $(dirname $(realpath {sysfs(DISK)}))").output.strip()
    pci_refused(machine, [port], "is a bridge")
    root = machine.run("basename $(realpath /sys/class/block/vda/device/..)").output.strip()
    pci_refused(machine, [root], "root file system")
    pci_refused(machine, ["00:1f.3"], "root bus")
    pci_refused(machine, [NIC], f"0000:{NIC2}", "same bus", f"--pci 0000:{NIC2}")
    pci_refused(machine, [NO_MSI], "MSI-X")
    assert f"0000:{DISK}" in machine.run("shimos doctor", check=False).output


def test_refused_while_in_use(machine: Machine) -> None:
    """What the host uses is not taken from it, and the text says how to stop using it."""
    disk = disk_of(machine, DISK)
    machine.run(f"busybox mke2fs {disk} >/dev/null && mkdir -p /tmp/mnt && mount {disk} /tmp/mnt")
    pci_refused(machine, [DISK], "mounted on /tmp/mnt", "umount")
    machine.run(f"umount /tmp/mnt && mkswap {disk} && swapon {disk}")
    pci_refused(machine, [DISK], "swaps to", "swapoff")
    machine.run(f"swapoff {disk}")
    holder = f"python3 -c \"import os,time; os.open('{disk}', os.O_EXCL); print('open', flush=True); time.sleep(60)\""
    machine.run(f"{holder} >/tmp/open & echo $! >/tmp/pid; {WAIT_FOR} text open /tmp/open")
    pci_refused(machine, [DISK], "somebody uses")
    machine.run("kill $(cat /tmp/pid); rm /tmp/pid /tmp/open")
    machine.run("modprobe virtio_net")
    name = machine.run(f"ls {sysfs(NIC)}/virtio*/net").output.strip()
    machine.run(f"ip link set {name} up")
    pci_refused(machine, [NIC, NIC2], f"{name} is up", f"ip link set {name} down")
    machine.run(f"ip address add 192.0.2.1/24 dev {name} && ip route add default via 192.0.2.2 dev {name}")
    pci_refused(machine, [NIC, NIC2], "default route", name)
    machine.run(f"ip route del default && ip address flush dev {name} && ip link set {name} down")


def test_translating_iommu() -> None:
    """An IOMMU that translates: refused with the way out; one that does not: fine."""
    devices, iommu = DEVICES[1:2], ("-device", "intel-iommu,intremap=off")
    with Machine(cmdline="intel_iommu=on", pci=devices, extra=iommu) as machine:
        pci_refused(machine, [SLOW_DISK], "IOMMU", "iommu=pt")
        machine.assert_dmesg_clean()
    if not everything():
        return  # test_confined.py has what comes now, with remapping
    with Machine(cmdline="intel_iommu=on iommu=pt", pci=devices, extra=iommu) as machine:
        for word, confined in (("", True), (",unsafe", False)):
            data = fill(machine, disk_of(machine, SLOW_DISK), 4)
            start(machine, flavour="6.12", more=f"--pci {SLOW_DISK}{word}")
            assert sum_of(machine.partition("web"), "/dev/nvme0n1") == data
            assert [d["confined"] for d in show(machine)["pci_devices"]] == [confined]
            machine.release_consoles()
            remove(machine)
        machine.assert_dmesg_clean()
