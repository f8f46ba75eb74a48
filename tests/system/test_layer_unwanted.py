"""What the layer and the guard are not made for: it is refused, with the reason and what to do."""

from __future__ import annotations

import re

import pytest

from lab.machine import Machine
from lab.shell import ShellGone
from lab.spec import X2APIC
from lab.stage.partitions import PROGRAMS, Resources, initrd_with, refused, remove, start
from lab.stage.rt import rt_command, vcpus
from tests.support.tiers import late

pytestmark = [pytest.mark.machine(one_thread=True), late("what is rare on a machine with the layer")]

#: A virtual machine of KVM's.
_OPEN = "vm = fcntl.ioctl(os.open('/dev/kvm', os.O_RDWR), 0xAE01, 0)"
OPEN_VM = f'python3 -c "import fcntl, os; {_OPEN}"'
HOLD_VM = f'python3 -c "import fcntl, os, time; {_OPEN}; time.sleep(1000)"'
EFER, HSAVE = 0xC0000080, 0xC0010117
SVME = 1 << 12


def module(machine: Machine, name: str) -> str:
    """Return where one of the tests' modules is."""
    return f"{PROGRAMS}/{machine.versions[machine.flavour]}/{name}.ko"


def assert_at_work(machine: Machine, name: str = "ctl") -> None:
    """Check that a program goes on getting its timer's interrupts."""
    before = vcpus(machine)[f"{name}:0"]["timers"]
    machine.run(f"until shimos rt | awk '/^{name}:0/ {{ exit !($10 > {before}) }}'; do sleep 0.1; done")


def test_virtual_machines(machine: Machine) -> None:
    """SVM is KVM's or ours: who comes second is told, and the first one goes on."""
    before = Resources(machine)
    machine.run("modprobe kvm_amd")
    machine.run(f"{HOLD_VM} & echo $! >/tmp/vm; until ls -l /proc/$!/fd | grep -q kvm-vm; do sleep 0.1; done")
    why = ("virtual machines run on this host (kvm_amd)", "stop them", "rmmod kvm_amd")
    refused(machine, rt_command(), *why)
    assert f"no --share-cpus: {why[0]}" in machine.run("shimos doctor", check=False).output
    machine.run("kill $(cat /tmp/vm); while [ -e /proc/$(cat /tmp/vm) ]; do sleep 0.1; done; rmmod kvm_amd")
    machine.run(rt_command())
    # some kernels take SVM with the module, others with the first machine
    refused(machine, f"modprobe kvm_amd && {OPEN_VM}", "error")
    assert_at_work(machine)
    remove(machine, "ctl")
    machine.run(f"modprobe -r kvm_amd; modprobe kvm_amd && {OPEN_VM} && rmmod kvm_amd")
    before.assert_back()
    machine.assert_dmesg_clean()


def test_sleep_and_unloading(machine: Machine) -> None:
    """Not while a program or a guarded partition runs; afterwards the modules go."""
    before = Resources(machine)
    machine.run(rt_command())
    ways = machine.run("cat /sys/power/state").output.split()
    assert "freeze" in ways
    for way in ways:
        refused(machine, f"echo {way} >/sys/power/state", "not permitted")
    assert machine.dmesg().count("the host cannot sleep while it shares a CPU: remove the partition first") == len(ways)
    start(machine, flavour="6.12", cpus="2", more="--guarded")
    for module in ("shimos_spumone", "shimos_kloader"):
        refused(machine, f"rmmod {module}", "in use")
    assert_at_work(machine)
    remove(machine, "ctl")
    refused(machine, "echo freeze >/sys/power/state", "not permitted")
    assert "the host cannot sleep while partitions run: stop them first" in machine.dmesg()
    refused(machine, "rmmod shimos_kloader", "in use")
    remove(machine)
    machine.run("rmmod shimos_kloader shimos_spumone && modprobe shimos_kloader")
    before.assert_back()
    machine.assert_dmesg_clean()


@pytest.mark.parametrize(
    ("flavour", "words"),
    [
        # a kernel that looks itself takes the processor for one without
        ("6.12", ("no SVM, or the firmware hides or locks it", "look for 'SVM mode' in the firmware's settings")),
        ("6.1", ("the firmware has locked SVM", "switch it on in the firmware's settings")),
    ],
)
def test_locked_by_the_firmware(machine: Machine, flavour: str, words: tuple[str, ...]) -> None:
    """A guarded partition's kernel finds SVM locked, as a host's would: the emulator's firmware cannot lock it."""
    module = f"/usr/lib/modules/{machine.versions[flavour]}/updates/dkms/shimos_spumone.ko"
    files = {"/shimos_spumone.ko": module, "/shimos_layer_test.ko": "shimos_layer_test.ko"}
    start(machine, flavour=flavour, cpus="2", more=f"--guarded --initrd {initrd_with(machine, flavour, files)}")
    web = machine.partition("web")
    web.run("insmod /shimos_spumone.ko && insmod /shimos_layer_test.ko")
    assert web.run("echo launch 0 >/proc/layer", check=False).status
    said = web.run("dmesg | grep layer:").output
    assert all(word in said for word in words), said
    web.close()
    remove(machine)


def test_another_version(machine: Machine) -> None:
    """A tool of another release is told which both are, and to install the same; programs: tests/host/rt/test_boot.c."""
    said = machine.run(f"{PROGRAMS}/other_version.py").lines
    _, right, version = said[1].split()
    answers = []
    # a structure of another size, too, and one of the right size
    for size in ("24", right):
        which = f"'info' has {size} bytes in the caller's version 77 of the interface, and {right} bytes in version {version}"
        answers += [
            "EPROTO",
            f"now {right} {version}",
            f"{which} of module shimos_kloader: install the same release of both",
        ]
    assert said == answers


def test_x2apic() -> None:
    """A host in x2APIC mode: real-time programs, but no moves of the host's CPUs; partitions: test_x2apic.py."""
    with Machine(one_thread=True, **X2APIC) as machine:
        assert "x2apic enabled" in machine.dmesg().lower()
        before = Resources(machine)
        machine.run(rt_command())
        assert_at_work(machine)
        refused(machine, "shimos rt move host:1 0", "cannot move in x2APIC mode", "nox2apic")
        assert_at_work(machine)
        remove(machine, "ctl")
        before.assert_back()
        machine.assert_dmesg_clean()


def test_kexec(fresh_machine: Machine) -> None:
    """The next kernel finds all CPUs as they always were: programs and partitions have ended, SVM is off."""
    machine = fresh_machine
    files = {"/shimos_astray.ko": "shimos_astray.ko", "/bin/init": "next-kernel"}
    initrd = initrd_with(machine, "6.12", files)
    start(machine, flavour="6.12", cpus="3", more="--guarded")
    machine.run(rt_command())
    # under a CPU that no program shares
    machine.run(f"insmod {module(machine, 'shimos_layer_test')} && echo launch 0 >/proc/layer")
    line = "console=ttyS0 panic=-1 tsc=reliable no_timer_check"
    with pytest.raises(ShellGone):
        machine.run(f"{PROGRAMS}/kexec.py {machine.vmlinuz('6.12')} {initrd} '{line}'", timeout=60)
    log = machine.emulator.console()
    found = re.findall(r"next kernel: CPU (\d) (0x\w+) is (\w+)", log)
    assert [cpu for cpu, register, _ in found if int(register, 16) == EFER] == ["0", "1", "2", "3"], log
    for cpu, register, value in found:
        # the guarded partition's CPU is parked, and has an address that nobody looks at without SVM
        bits = {EFER: SVME, HSAVE: 0 if cpu == "3" else -1}[int(register, 16)]
        assert not int(value, 16) & bits, f"CPU {cpu}, register {register}: {value}"
    for name in ("ctl", "web"):
        assert f"{name}: stopped (killed)" in log, log
