"""What happens to the host while partitions run: it panics, loses its memory, gets CPUs and memory, is switched off."""

from __future__ import annotations

import re

import pytest

from lab.machine import Machine
from lab.shell import ShellGone
from lab.stage.partitions import PROGRAMS, Resources, initrd_with, refused, remove, show, start
from tests.support.tiers import late, rare

pytestmark = late("what seldom happens to a host")

#: Of a machine to which a CPU, in a socket of its own, and memory can be added.  Linux 6.12 takes none there:
#: it believes only newer tables than the emulator's, or those of hypervisors that it knows.
ROOM_FOR_MORE = ("-smp", "4,maxcpus=5,sockets=5,cores=1,threads=1", "-m", "4G,slots=1,maxmem=5G")
GIB = 1 << 30


def assert_well(machine: Machine, name: str = "web") -> None:
    """Check that a partition runs and answers."""
    assert show(machine, name)["state"] == "running"
    machine.run(f"shimos ping -c 3 -i 0 {name}")


def test_power_off(fresh_machine: Machine) -> None:
    """Partitions are ended first."""
    start(fresh_machine)
    with pytest.raises(ShellGone):
        fresh_machine.run("poweroff -f", timeout=60)
    log = fresh_machine.emulator.console()
    assert re.search(r"web: stopped \(killed\)(.|\n)*reboot: Power down", log), log


@pytest.mark.machine(cmdline="crashkernel=256M")
@rare("few hosts have a crash kernel beside partitions")
def test_panic_with_a_crash_kernel(fresh_machine: Machine) -> None:
    """It comes up beside a partition that goes on, and has what the host left."""
    machine = fresh_machine
    initrd = initrd_with(machine, "6.12", {"/bin/init": "crash-kernel"})
    line = "console=ttyS0 nr_cpus=1 reset_devices tsc=reliable no_timer_check"
    machine.run(f"{PROGRAMS}/kexec.py -p {machine.vmlinuz('6.12')} {initrd} '{line}'")
    start(machine)
    machine.partition("web").send(b"while :; do :; done &\n")
    with pytest.raises(ShellGone):
        machine.run("echo c >/proc/sysrq-trigger", timeout=120)
    log = machine.emulator.console()
    assert re.search(r"crash kernel: 1 CPU, CRASHTIME=\d+", log), log[-3000:]


def test_out_of_memory(machine: Machine) -> None:
    """The host kills who wants too much, and neither tool nor partition."""
    before = Resources(machine)
    start(machine)
    # It would rather be killed than others.
    script = "open('/proc/self/oom_score_adj', 'w').write('1000'); held = [b'x' * (64 << 20) for _ in range(1000)]"
    eat = f'python3 -c "{script}"'
    assert machine.run(eat, check=False, timeout=300).status == 128 + 9
    assert "Out of memory: Killed process" in machine.dmesg()
    assert_well(machine)
    remove(machine)
    before.assert_back()


def test_unloading(machine: Machine) -> None:
    """Modules that partitions need stay, and go when the last one is gone."""
    start(machine)
    for module in ("shimos_kloader", "shimos_ikc"):
        refused(machine, f"rmmod {module}", "in use")
    assert_well(machine)
    remove(machine)
    machine.run("rmmod shimos_kloader && modprobe shimos_kloader")
    machine.assert_dmesg_clean()


@pytest.mark.machine(kernel="6.1", extra=ROOM_FOR_MORE)
def test_a_cpu_that_comes(fresh_machine: Machine) -> None:
    """It can be a partition's like any other, and cannot be pulled out as long as it is."""
    machine = fresh_machine
    start(machine)
    (slot,) = [slot for slot in machine.qmp("query-hotpluggable-cpus") if "qom-path" not in slot]
    machine.qmp("device_add", driver=slot["type"], id="fifth", **slot["props"])
    online = "/sys/devices/system/cpu/cpu4/online"
    machine.run(f"until [ -e {online} ]; do sleep 0.1; done; echo 1 >{online}")
    assert machine.online_cpus() == [0, 1, 4]
    start(machine, "db", cpus="4")
    pull_out(machine, "fifth")
    for name in ("web", "db"):
        assert_well(machine, name)
        remove(machine, name)
    assert machine.online_cpus() == [0, 1, 2, 3, 4]
    machine.qmp("device_del", id="fifth")
    machine.run(f"while [ -e {online} ]; do sleep 0.1; done")


@pytest.mark.machine(extra=ROOM_FOR_MORE)
@rare("few hosts get memory while they run")
def test_memory_that_comes(fresh_machine: Machine) -> None:
    """A partition can have it, and it cannot be pulled out as long as one has."""
    machine = fresh_machine
    start(machine)
    total = machine.meminfo("MemTotal")
    machine.qmp("object-add", **{"qom-type": "memory-backend-ram", "id": "more", "size": GIB})
    machine.qmp("device_add", driver="pc-dimm", id="dimm", memdev="more")
    machine.run(
        f"until [ $(awk '/MemTotal/ {{print $2}}' /proc/meminfo) -ge {(total + GIB) >> 10} ]; do sleep 0.1; done"
    )
    start(machine, "db", cpus="1", memory="768M")
    ranges = show(machine, "db")["ranges"]
    assert all(piece["start"] >= 5 * GIB for piece in ranges), ranges
    pull_out(machine, "dimm")
    for name in ("web", "db"):
        assert_well(machine, name)
        remove(machine, name)


def pull_out(machine: Machine, device: str) -> None:
    """Ask the host to let a device go, which it must refuse."""
    machine.qmp("device_del", id=device)
    machine.run("until dmesg | grep -q 'Offline failed'; do sleep 0.1; done", timeout=60)
