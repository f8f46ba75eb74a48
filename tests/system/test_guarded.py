"""Guarded partitions: their kernels reach nothing but what is theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.canary import canary, insmod_canary
from lab.stage.disks import stock_module
from lab.stage.partitions import Resources, initrd_with, refused, remove, run_command, show, start, wait_state
from tests.support.tiers import REPETITION, rare, rounds

pytestmark = pytest.mark.machine(one_thread=True)

#: How a shell says that a program died of it.
SIGSEGV = 128 + 11
EFER, VM_CR, HSAVE = 0xC0000080, 0xC0010114, 0xC0010117
SVME = 1 << 12
#: Ports by which a kernel reaches what is the machine's, and what would do harm there.
PORTS = {
    "reset": (0xCF9, 0x06),
    "keyboard controller's reset": (0x64, 0xFE),
    "fast reset": (0x92, 0x01),
    "PIT": (0x43, 0x34),
    "ELCR": (0x4D1, 0xFF),
    "PIC": (0x21, 0xFF),
    "CMOS": (0x70, 0x8F),
    "PCI": (0xCF8, 0xFF),
}


def run_guarded(machine: Machine, flavour: str = "6.12", cpus: str = "2", more: str = "", packed: bool = False) -> None:
    """Run a guarded partition whose initrd has the module that goes astray."""
    initrd = initrd_with(machine, flavour, {"/shimos_astray.ko": "shimos_astray.ko"})
    start(machine, flavour=flavour, cpus=cpus, more=f"--guarded --initrd {initrd} {more}", packed=packed)


@contextmanager
def guarded(
    machine: Machine, flavour: str = "6.12", cpus: str = "2", packed: bool = False
) -> Iterator[PartitionConsole]:
    """Run the same, and check that all that it took is back afterwards."""
    before = Resources(machine)
    run_guarded(machine, flavour, cpus, packed=packed)
    web = machine.partition("web")
    web.run("insmod /shimos_astray.ko")
    yield web
    web.close()
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


def astray(web: PartitionConsole, command: str) -> int:
    """Let a shell reach for something; returns its exit status."""
    return web.run(f"sh -c 'echo {command} >/proc/astray' 2>/dev/null", check=False).status


def seen(where: PartitionConsole | Machine, msr: int) -> int:
    """Return what a register of CPU 2 says to the host, or of CPU 0 to a partition."""
    cpu = 2 if isinstance(where, Machine) else 0
    where.run(f"taskset -c {cpu} sh -c 'echo rdmsr {msr:#x} >/proc/astray'")
    return int(where.run("cat /proc/astray").output, 16)


def foreign(machine: Machine) -> int:
    """Return the address of memory of the host that it watches."""
    insmod_canary(machine)
    return int(canary(machine)["address"], 16)


def crash(machine: Machine, console: PartitionConsole, command: str) -> str:
    """Let it end by this; the reason."""
    console.send(f"echo {command} >/proc/astray\n".encode())
    wait_state(machine, "web", "stopped|crashed")
    now = show(machine)
    assert (now["state"], now["cause"]) == ("crashed", "fault"), now
    return str(now["message"])


@pytest.mark.parametrize("flavour", ["6.12", pytest.param("6.1", marks=REPETITION)])
def test_life(machine: Machine, flavour: str) -> None:
    """It boots, works, is stopped, killed, started again, and gives all back."""
    with guarded(machine, flavour) as web:
        assert web.run("uname -r").output.strip() == machine.versions[flavour]
        assert web.run("echo one two | wc -w").output.strip() == "2"
        machine.run(f"test $(($(date +%s) - {web.run('date +%s').output.strip()})) -lt 5")
        now = show(machine)
        assert now["guarded"] and not now["faults"] and 0 < now["exits"] < 1000, now
        assert "guarded:       yes; left" in machine.run("shimos show web").output
        web.close()
        machine.run("shimos stop web", timeout=60)
        now = show(machine)
        assert (now["state"], now["cause"]) == ("stopped", "poweroff")
        for _ in range(rounds(20, 2)):
            machine.run("shimos restart web", timeout=60)
            machine.run("shimos kill web", timeout=60)
        machine.run("shimos restart web", timeout=60)
        assert machine.partition("web").run("nproc").output.strip() == "1"
        machine.partition("web").close()


def test_triple_fault(machine: Machine) -> None:
    """It is the partition's end, and nobody else's; it can be started again."""
    with guarded(machine) as web:
        reason = crash(machine, web, "triple")
        assert reason.startswith("triple fault") and "CPU 2, instruction at 0x" in reason
        assert reason in machine.run("shimos show web").output
        web.close()
        machine.run("shimos restart web", timeout=60)
        assert machine.partition("web").run("nproc").output.strip() == "1"
        machine.partition("web").close()
    assert "triple fault" in machine.dmesg()


@rare("test_triple_fault has one of them")
def test_triple_faults_again(machine: Machine) -> None:
    """As soon as it has booted, again and again, beside another partition."""
    before = Resources(machine)
    # of other tests on this machine
    said = machine.dmesg().count("web: crashed (fault): triple fault")
    machine.put("/tmp/end", b"#!/bin/busybox sh\ninsmod /shimos_astray.ko\necho triple >/proc/astray\n", 0o755)
    initrd = initrd_with(machine, "6.12", {"/shimos_astray.ko": "shimos_astray.ko", "/bin/init": "/tmp/end"})
    start(machine, "sibling", "6.12", cpus="3")
    uptime = "cut -d. -f1 /proc/uptime"
    lived = int(machine.partition("sibling").run(uptime).output)
    command = run_command(machine, flavour="6.12", cpus="2", more=f"--guarded --initrd {initrd}")
    ends = rounds(200, 3)
    for number in range(ends):
        # it may be over before the tool has seen that it is up
        machine.run(command if not number else "shimos restart web", check=False, timeout=60)
        wait_state(machine, "web", "crashed")
        now = show(machine)
        assert (now["cause"], now["starts"]) == ("fault", number + 1), now
        assert now["message"].startswith("triple fault"), now
    assert machine.dmesg().count("web: crashed (fault): triple fault") == said + ends
    assert int(machine.partition("sibling").run(uptime).output) >= lived
    machine.partition("sibling").close()
    remove(machine, "sibling")
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


def test_stores_to_what_is_not_its_own(machine: Machine) -> None:
    """Each meets an exception and arrives nowhere; the partition's kernel goes on."""
    place = foreign(machine)
    with guarded(machine) as web:
        stores = rounds(200, 5)
        for number in range(stores):
            assert astray(web, f"write {place + 4096 * (number % 16):#x}") == SIGSEGV
        assert astray(web, f"read {place:#x}") == SIGSEGV
        assert web.run("cat /proc/astray").output.strip() == "0"
        assert show(machine)["faults"] == stores + 1
        assert f"went astray {stores + 1} times" in machine.run("shimos show web").output
        assert "general protection fault" in web.run("dmesg").output
        # below 1 MiB it finds a page of its own
        assert astray(web, "write 0x467") == 0
        assert show(machine)["faults"] == stores + 1
    assert canary(machine)["wrong"] == "0"
    machine.run("rmmod shimos_canary")


def test_its_tables_are_others(machine: Machine) -> None:
    """Where no exception can be raised any more, it is over."""
    place = foreign(machine)
    with guarded(machine) as web:
        reason = crash(machine, web, f"lost {place:#x}")
        assert "not its own" in reason, reason
    assert canary(machine)["wrong"] == "0"
    machine.run("rmmod shimos_canary")


def test_ports(machine: Machine) -> None:
    """What is written there goes nowhere, what is read is an empty bus's."""
    machine.run(f"insmod /usr/lib/shimos-test/{machine.versions[machine.flavour]}/shimos_astray.ko")
    elcr = "echo in 0x4d1 >/proc/astray; cat /proc/astray"
    before = machine.run(elcr).output
    with guarded(machine) as web:
        for _ in range(rounds(200, 3)):
            for port, value in PORTS.values():
                assert astray(web, f"out {port:#x} {value:#x}") == 0
        for port in (0x64, 0xCF9, 0xCFC, 0x3F8):
            assert astray(web, f"in {port:#x}") == 0
            assert web.run("cat /proc/astray").output.strip() == "ff"
        # memory of the clock, behind the time
        web.run("echo out 0x70 0x38 >/proc/astray; echo in 0x71 >/proc/astray")
        assert web.run("cat /proc/astray").output.strip() == "ff"
        assert machine.run(elcr).output == before
        assert web.run("echo alive").output.strip() == "alive"
        assert show(machine)["faults"] == 0
    machine.run("rmmod shimos_astray")


def test_registers(machine: Machine) -> None:
    """It can neither become a host of virtual machines nor move its interrupt controller."""
    refused_msrs = (
        "0xc0010114 0",
        "0xc0010117 0x1000",
        "0xc0000080 0x1d01",
        "0x1b 0xfee01900",
        "0x1b 0xfee00d00",
        "0x40000000 1",
    )
    with guarded(machine) as web:
        for command in refused_msrs:
            assert astray(web, f"msr {command}") == 1, command
        # an MTRR: as if it had been written
        assert astray(web, "msr 0x2ff 0") == 0
        assert astray(web, "vmrun 0x1000") == SIGSEGV
        assert web.run("echo alive").output.strip() == "alive"
        # what says that virtual machines can be run, and whether they are
        assert [seen(web, msr) & bits for msr, bits in ((VM_CR, 0x10), (EFER, SVME))] == [0x10, 0]
    # its CPU is as if there had been no guard
    machine.run(f"insmod /usr/lib/shimos-test/{machine.versions[machine.flavour]}/shimos_astray.ko")
    assert [seen(machine, msr) & bits for msr, bits in ((HSAVE, -1), (EFER, SVME))] == [0, 0]
    machine.run("rmmod shimos_astray")


#: Work that has to be done without leaving the kernel.
WORK = {
    "forks": "i=0; while [ $i -lt {n} ]; do /bin/true; i=$((i+1)); done",
    "pipes": "i=0; while [ $i -lt {n} ]; do echo x | cat >/dev/null; i=$((i+1)); done",
    "calls": "dd if=/dev/zero of=/dev/null bs=1 count={n}00",
    "faults": "dd if=/dev/zero of=/tmp/x bs=1M count=16",
}


def test_no_exits(machine: Machine) -> None:
    """Once it has booted, ordinary work leaves its kernel not once."""
    with guarded(machine) as web:
        for name, work in WORK.items():
            web.run("true")
            before = show(machine)["exits"]
            web.run(work.format(n=rounds(2000, 100)), timeout=300)
            assert show(machine)["exits"] == before, name
        # what does leave it is counted
        before = show(machine)["exits"]
        assert astray(web, "in 0x64") == 0
        assert show(machine)["exits"] == before + 1


@pytest.mark.parametrize(
    ("flavour", "packed"),
    [
        # As processors without a fifth level of page tables start it, too: other CPUs take a shorter way then.
        ("6.12", False),
        ("6.12", True),
        pytest.param("6.1", True, marks=REPETITION),
    ],
)
def test_several_cpus(machine: Machine, flavour: str, packed: bool) -> None:
    """All of them are guarded, and any of them can end it."""
    with guarded(machine, flavour, cpus="2-3", packed=packed) as console:
        web = console
        assert web.run("nproc").output.strip() == "2"
        before = show(machine)["exits"]
        web.run(f"for i in 1 2 3 4; do ({WORK['pipes'].format(n=50)}) & done; wait", timeout=300)
        assert show(machine)["exits"] == before
        assert crash(machine, web, "triple").startswith("triple fault")
        web.close()
        machine.run("shimos restart web", timeout=60)
        web = machine.partition("web")
        assert web.run("nproc").output.strip() == "2"
        web.run("insmod /shimos_astray.ko")
        for cpu in "01":
            command = f'taskset -c {cpu} sh -c "echo write 0x1000000 >/proc/astray"'
            assert web.run(command, check=False).status == SIGSEGV
        assert show(machine)["faults"] == 2
        web.close()


def test_disk(machine: Machine) -> None:
    """It uses a disk of the host, without leaving its kernel; it can share none."""
    machine.run("modprobe shimos_backend && modprobe brd rd_nr=1 rd_size=16384")
    machine.run("dd if=/dev/urandom of=/dev/ram0 bs=1M count=16")
    modules = ("shimos_backend", "brd")
    files = {f"/{module}.ko": stock_module(machine, "6.12", module) for module in modules}
    initrd = initrd_with(machine, "6.12", {"/bin/shimos": "/usr/bin/shimos", **files})
    before = Resources(machine)
    start(machine, flavour="6.12", cpus="2-3", more=f"--guarded --initrd {initrd} --disk /dev/ram0")
    web = machine.partition("web")
    web.run("until [ -b /dev/vda ]; do sleep 0.1; done")
    assert web.run("md5sum </dev/vda").output == machine.run("md5sum </dev/ram0").output
    exits = show(machine)["exits"]
    web.run(f"dd if=/dev/vda of=/dev/null bs=4k count={rounds(4000, 500)} iflag=direct", timeout=300)
    web.run("dd if=/dev/zero of=/dev/vda bs=1M count=4 conv=fsync")
    assert show(machine)["exits"] == exits
    web.run("insmod /shimos_backend.ko && insmod /brd.ko rd_nr=1 rd_size=1024")
    result = web.run("shimos attach host --disk /dev/ram0 2>&1", check=False)
    assert result.status and "guarded" in result.output and "without --guarded" in result.output, result.output
    assert show(machine)["faults"] == 0
    web.close()
    remove(machine)
    before.assert_back()
    machine.run("rmmod brd")
    machine.assert_dmesg_clean()


def test_beside_virtual_machines(fresh_machine: Machine) -> None:
    """The host's KVM has SVM on all CPUs but those that are given away, and has it on these again afterwards."""
    machine = fresh_machine
    before = Resources(machine)
    machine.run(f"insmod /usr/lib/shimos-test/{machine.versions[machine.flavour]}/shimos_astray.ko")
    machine.run("modprobe kvm_amd")
    hold = "import fcntl, os, time; vm = fcntl.ioctl(os.open('/dev/kvm', 2), 0xAE01, 0); time.sleep(1000)"
    machine.run(f'python3 -c "{hold}" & echo $! >/tmp/vm; until ls -l /proc/$!/fd | grep -q kvm-vm; do sleep 0.1; done')
    assert seen(machine, EFER) & SVME
    run_guarded(machine)
    web = machine.partition("web")
    web.run("insmod /shimos_astray.ko")
    assert crash(machine, web, "triple").startswith("triple fault")
    web.close()
    remove(machine)
    assert seen(machine, EFER) & SVME and seen(machine, HSAVE)
    machine.run(
        "kill $(cat /tmp/vm); while [ -e /proc/$(cat /tmp/vm) ]; do sleep 0.1; done; rmmod kvm_amd shimos_astray"
    )
    before.assert_back()
    machine.assert_dmesg_clean()


def test_refusals(machine: Machine) -> None:
    """What cannot be guarded."""
    rt = "shimos run ctl --memory 8M --kernel /bin/true"
    refused(machine, f"{rt} --share-cpus 1 --guarded", "cannot be used with", status=2)
    machine.run("printf 'share_cpus = \"1\"\nguarded = true\n' >/tmp/rt.toml")
    refused(machine, f"{rt} --file /tmp/rt.toml", "guarded in /tmp/rt.toml means nothing to a real-time program")
    assert "guarded partitions" in machine.run("shimos doctor", check=False).output


def test_a_file_says_so(machine: Machine) -> None:
    machine.run("echo 'guarded = true' >/tmp/web.toml")
    result = start(machine, flavour="6.12", cpus="2", more="--file /tmp/web.toml")
    assert ", guarded" in result.output
    assert show(machine)["guarded"]
    remove(machine)


@pytest.mark.parametrize("missing", ["svm", pytest.param("npt", marks=REPETITION)])
def test_machines_that_cannot(missing: str) -> None:
    """It says what is missing and what to do, and takes nothing."""
    word = {"svm": "SVM", "npt": "nested page tables"}[missing]
    with Machine(extra=("-cpu", f"max,-erms,-fsrm,-fsrs,-{missing}")) as machine:
        before = Resources(machine)
        refused(machine, run_command(machine, flavour="6.1", more="--guarded"), word, "without --guarded")
        before.assert_nothing_taken()
        assert "no --guarded" in machine.run("shimos doctor", check=False).output
