"""The lab itself: what the other tests believe must be true."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from lab import faults, template
from lab.cache import digest
from lab.devices import Disk, Nic, PciDevice
from lab.diagnosis import Diagnosis
from lab.machine import Machine, parse_cpu_list
from lab.paths import SRC
from lab.shell import ShellError, ShellTimeout
from lab.stage.partitions import remove, start
from tests.support.repeats import blamed
from tests.support.tiers import REPETITION

FAULT = """\
[    2.523256] VFS: Dquot-cache hash table entries: 512 (order 0, 4096 bytes)
[    2.524514] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI
[    2.525098] CPU: 2 UID: 0 PID: 0 Comm: swapper/2 Not tainted 6.12.107+deb13-cloud-amd64 #1  Debian 6.12.107-1
[    2.526560] RIP: 0010:hrtimer_start_range_ns+0x1c6/0x430
[    2.527713] Code: f6 80 50 5e 02 00 10 0f 84 fe 01 00 00 0f <1f> 44 00 00 49 89 cf f6 c3 02 0f 84 2c 02 00 00
[    2.527713] RSP: 0018:ff5f5309000cbe40 EFLAGS: 00000002
[    2.527713] Kernel panic - not syncing: Fatal exception in interrupt
"""

LOST_TIMER = """\
[   23.155] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
[   23.156] rcu: \t2-...!: (0 ticks this GP) idle=df08/0/0x0 softirq=15/15 fqs=1 (false positive?)
[   23.157] Sending NMI from CPU 1 to CPUs 2:
[   23.158] NMI backtrace for cpu 2
[   23.159] CPU: 2 UID: 0 PID: 0 Comm: swapper/2 Not tainted 6.12.107+deb13-cloud-amd64 #1
[   23.160] RIP: 0010:pv_native_safe_halt+0xf/0x20
[   23.161] Call Trace:
[   23.162]  <TASK>
[   23.163]  default_idle+0x9/0x20
[   23.164]  </TASK>
[   23.165] rcu: rcu_preempt kthread timer wakeup didn't happen for 5251 jiffies! g-1071 f0x0
[   23.166] rcu: \tPossible timer handling issue on cpu=2 timer-softirq=4
"""

LOST_TIMER_6_1 = """\
[   47.989] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
[   47.990] rcu: \t1-...!: (0 ticks this GP) idle=24c8/0/0x0 softirq=22/22 fqs=0 (false positive?)
[   47.991] Sending NMI from CPU 3 to CPUs 1:
[   47.992] NMI backtrace for cpu 1 skipped: idling at native_safe_halt+0xb/0x10
[   47.993] rcu: rcu_preempt kthread timer wakeup didn't happen for 5251 jiffies! g-875 f0x0
[   47.994] rcu: \tPossible timer handling issue on cpu=1 timer-softirq=0
"""


LOST_REGISTERS = "RIP=ffffffff86eb00df RFL=00000212 [----A--] CPL=0 II=0 A20=1 SMM=0 HLT=1"
LOST_LAPIC = """\
dumping local APIC state for CPU 3

LVTERR\t 0x000000fe active-hi edge                              Fixed  (vec 254)
LVTTHMR\t 0x00010000 active-hi edge  masked                      Fixed  (vec 0)
LVTT\t 0x000200ec active-hi edge                 periodic     Fixed  (vec 236)
Timer\t DCR=0x3 (divide by 16) initial_count = 249994 current_count = 155649
SPIV\t 0x000001ff APIC enabled, focus=off, spurious vec 255
ISR\t 236
IRR\t 32 33 34 236

APR 0x03 TPR 0x10 DFR 0x0f LDR 0x00 PPR 0xe0
"""


def test_status_and_output(machine: Machine) -> None:
    run = machine.run
    assert run("echo hello").output == "hello\n"
    assert run("printf 'no newline'").output == "no newline"
    assert run("exit 7", check=False).status == 7
    assert run("kill -9 $$", check=False).status == 128 + 9
    assert run("echo out; echo err >&2").output == "out\nerr\n"
    assert run("if (", check=False).status == 2
    assert run("cat", timeout=5).output == ""  # no terminal to wait for
    with pytest.raises(ShellError, match="exit status 3"):
        run("exit 3")


def test_quoting(machine: Machine) -> None:
    text = """it's "quoted" $HOME `date` \\ \n second line\ttab äöü ;&|"""
    quoted = text.replace("'", "'\\''")
    assert machine.run(f"printf %s '{quoted}'").output == text
    long = "x" * 20000  # longer than a terminal's line
    assert machine.run(f"printf %s {long}").output == long


def test_long_and_binary_output(machine: Machine) -> None:
    expected = "".join(f"{n}\n" for n in range(100_000))
    assert machine.run("seq 0 99999").output == expected
    data = random.Random(1).randbytes(50_000)
    machine.put("/tmp/data", data)
    got = machine.run("cat /tmp/data").output
    assert got.encode("utf-8", "surrogateescape") == data


def test_kernel_messages_do_not_disturb(machine: Machine) -> None:
    out = machine.run("for i in 1 2 3; do echo '<0>noise' >/dev/kmsg; echo $i; done").output
    assert out == "1\n2\n3\n"
    assert "noise" in machine.diagnosis.serial_tail()


def test_the_first_oops_is_told() -> None:
    """However much the kernel says until it stops."""
    log = f"{'before\n' * 9000}{FAULT}{'after\n' * 9000}the end\n"
    told = Diagnosis(SimpleNamespace(console=lambda: log)).serial_tail(2000)  # type: ignore[arg-type]
    assert told.startswith("[    2.524514] Oops: int3") and told.endswith("the end\n") and len(told) < 4100
    assert Diagnosis(SimpleNamespace(console=lambda: FAULT)).serial_tail(2000) == FAULT  # type: ignore[arg-type]


def test_timeout_and_recovery(machine: Machine) -> None:
    with pytest.raises(ShellTimeout, match="partial"):
        machine.run("echo partial; sleep 100", timeout=1)
    assert machine.run("echo again").output == "again\n"
    assert "sleep 100" not in machine.run("ps ax").output


def test_parallel_shells(machine: Machine) -> None:
    """One shell is held by another's work and both end right."""
    machine.run("rm -f /tmp/fifo; mkfifo /tmp/fifo")
    other = machine.shell(2)
    other.send(b"cat /tmp/fifo\n")
    machine.run("echo through >/tmp/fifo", timeout=20)
    assert b"through" in other.expect(b"through\n")
    assert other.run("echo $((6*7))").output == "42\n"


def test_consoles_are_read_on_one_cpu(machine: Machine) -> None:
    """On two at once, Linux would take what is behind their buffers for input, and overwrite it."""
    assert machine.run("taskset --pid --cpu-list $(pgrep -x khvcd)").output.endswith(" list: 0\n")
    interrupts = "/sys/class/virtio-ports/vport*/device/../msi_irqs/*"
    places = machine.run(f"for irq in {interrupts}; do cat /proc/irq/${{irq##*/}}/smp_affinity_list; done").lines
    assert places and set(places) == {"0"}


def test_facts(machine: Machine) -> None:
    assert machine.qmp("query-status")["running"] is True
    assert machine.online_cpus() == [0, 1, 2, 3]
    assert machine.run("uname -r").output.strip() == machine.versions["6.12"]
    assert 3 << 30 < machine.mem_free() < 4 << 30
    assert len(machine.boot_id()) == 36
    machine.assert_dmesg_clean()
    for file in (machine.vmlinuz("6.1"), machine.debian_initrd("6.1"), "/boot/lab-initrd.img"):
        machine.run(f"test -s {file}")


def test_unclean_log_is_noticed(machine: Machine) -> None:
    machine.run("echo 'WARNING: CPU: 0 PID: 1 at kernel/x.c:1' >/dev/kmsg")
    with pytest.raises(AssertionError, match="kernel/x.c"):
        machine.assert_dmesg_clean()
    machine.run("dmesg -C")


def test_dead_machine_is_noticed(fresh_machine: Machine) -> None:
    """A host panic ends the wait at once, with the panic in the error."""
    started = time.monotonic()
    with pytest.raises(ShellError, match=r"died(.|\n)*sysrq triggered crash"):
        fresh_machine.run("echo c >/proc/sysrq-trigger", timeout=120)
    assert time.monotonic() - started < 60


@pytest.mark.machine(kernel="6.1", cpus=2, memory="2G", ipi_broadcast=True, load=False)
def test_other_machines(fresh_machine: Machine) -> None:
    assert fresh_machine.run("uname -r").output.strip() == fresh_machine.versions["6.1"]
    assert fresh_machine.online_cpus() == [0, 1]
    assert fresh_machine.meminfo("MemTotal") < 2 << 30
    assert "no_ipi_broadcast" not in fresh_machine.run("cat /proc/cmdline").output


@pytest.mark.machine(partitions=[], load=False, one_thread=True)
def test_running_code_can_be_changed_with_one_thread(fresh_machine: Machine) -> None:
    """What tests that trace busy kernels rely on; with a thread for each CPU a few in a hundred changes are lost."""
    out = fresh_machine.run("/usr/lib/shimos-test/stale_code 300").lines
    assert out == [f"thread {n}: 0 of 300 stale" for n in range(3)]


#: The second number is this computer's clock rate.
WRONG_CLOCK = """\
[    0.036000] tsc: PIT calibration deviates from HPET: 555238 2793496
[    0.036000] tsc: Using PIT calibration value
"""

KNOWN = {
    "oops": FAULT,
    "int3": FAULT.replace("Oops: int3", "int3"),
    "a jump": FAULT.replace("0f <1f> 44 00 00", "e9 <01> 02 00 00"),
    "two bytes": FAULT.replace("0f <1f> 44 00 00", "66 <90> 44 00 00"),
    "after other lines": "early\n" * 50 + FAULT,
    "after our modules": "shimos_ikc: loading out-of-tree module taints kernel.\n" + FAULT,
    "lost timer": LOST_TIMER,
    "lost timer of 6.1": LOST_TIMER_6_1,
    "wrong clock": WRONG_CLOCK,
}


@pytest.mark.parametrize("text", KNOWN.values(), ids=KNOWN)
def test_known_fault(text: str) -> None:
    assert faults.emulator_fault(text)


#: Each is not quite a known fault.
UNKNOWN = {
    "nothing": "",
    "another panic": "Kernel panic - not syncing: VFS: Unable to mount root fs",
    "in a module of ours": FAULT.replace("/0x430", "/0x430 [shimos_kml]"),
    "in user mode": FAULT.replace("RIP: 0010:", "RIP: 0033:"),
    "a breakpoint that nobody owns": FAULT.replace("0f <1f>", "cc <1f>"),
    "no instruction": FAULT.replace("0f <1f>", "1f <1f>"),
    "half an instruction": FAULT.replace("1f> 44 00 00", "1f>"),
    "another exception": FAULT.replace("int3: 0000", "general protection fault"),
    "not the first oops": FAULT.replace("[#1]", "[#2]"),
    "after a page fault": "BUG: unable to handle page fault\n" + FAULT,
    "without RIP": FAULT.split("RIP")[0],
    "without code": FAULT.split("Code")[0],
    "lost timer after our modules": "shimos_ikc: loading out-of-tree module taints kernel.\n" + LOST_TIMER,
    "lost timer, not idle": LOST_TIMER.replace("default_idle", "shimos_spin"),
    "lost timer of another CPU": LOST_TIMER.replace("on cpu=2", "on cpu=1"),
    "lost timer of another CPU, 6.1": LOST_TIMER_6_1.replace("on cpu=1", "on cpu=2"),
    "lost timer, not idle, 6.1": LOST_TIMER_6_1.replace("native_safe_halt", "acpi_idle_enter"),
    "another wake-up": LOST_TIMER.replace("kthread timer wakeup", "kthread wakeup"),
    "a clock that is a little wrong": WRONG_CLOCK.replace("555238", "2123456"),
    "lost timer after a page fault": "BUG: unable to handle page fault\n" + LOST_TIMER,
}


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_other_faults_are_not_excused(text: str) -> None:
    assert faults.emulator_fault(text) is None


def test_a_partitions_kernel_is_judged_by_what_the_tool_says() -> None:
    said = "\n".join(["shimos: the end of the kernel log of 'web':", *(f"  {line}" for line in FAULT.splitlines())])

    def machine(judged: bool) -> Any:
        return SimpleNamespace(name="it", judged=judged, diagnosis=SimpleNamespace(fault=lambda: None))

    assert blamed([machine(True)], ["exit status 1", said]) == [f"a partition: {faults.stale_breakpoint(FAULT)}"]
    assert blamed([machine(True)], ["exit status 1"]) == []
    assert blamed([machine(False)], [said]) == [], "with programs in kernel mode"


def test_lost_interrupt_is_recognised() -> None:
    assert faults.interrupt_lost(LOST_REGISTERS, LOST_LAPIC)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("HLT=1", "HLT=0"),  # in its handler
        ("RFL=00000212", "RFL=00000012"),  # with interrupts off
        ("ISR\t 236", "ISR\t (none)"),  # about to be delivered
        ("ISR\t 236", "ISR\t 251"),
        ("ISR\t 236", "ISR\t 251 236"),
        ("32 33 34 236", "32 33 34"),
        ("RFL", "EFL"),
    ],
    ids=[
        "running",
        "interrupts off",
        "none in service",
        "another in service",
        "two in service",
        "none waits",
        "no flags",
    ],
)
def test_other_states_of_a_cpu_are_not_excused(old: str, new: str) -> None:
    registers, lapic = LOST_REGISTERS.replace(old, new), LOST_LAPIC.replace(old, new)
    assert (registers, lapic) != (LOST_REGISTERS, LOST_LAPIC)
    assert not faults.interrupt_lost(registers, lapic)


def test_interrupts_of_a_layer_are_not_excused() -> None:
    linux = "EFER=0000000000000d01\n"
    assert faults.on_a_layer(linux + "EFER=0000000000001d01\n")
    assert not faults.on_a_layer(linux + LOST_REGISTERS)


def test_states_of_cpus(machine: Machine) -> None:
    states = machine.diagnosis.cpu_states()
    assert len(states) == 4
    assert all("HLT=" in registers and re.search(r"^ISR\s", lapic, re.M) for registers, lapic in states)
    assert machine.diagnosis.fault() is None


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: CPU: 1 PID: 33 at mm/page_alloc.c:1 foo+0x1/0x2",
        "BUG: kernel NULL pointer dereference, address: 0000000000000000",
        "Oops: 0000 [#1] SMP",
        "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
        "rcu: INFO: rcu_preempt self-detected stall on CPU",
        "WARNING: possible circular locking dependency detected",
        "watchdog: BUG: soft lockup - CPU#1 stuck for 22s!",
        "INFO: task x:1 blocked for more than 120 seconds.",
        "__common_interrupt: 0.55 No irq handler for vector",
    ],
)
def test_unclean_lines(line: str) -> None:
    assert faults.unclean(f"[  1.0] fine\n[  2.0] {line}\n") == [f"[  2.0] {line}"]


def test_clean_lines() -> None:
    log = "kfence: initialized - using 2097152 bytes\nKernel command line: debug=BUG\nshimos: partition web crashed\n"
    assert faults.unclean(log) == []


def test_cpu_lists() -> None:
    assert parse_cpu_list("0-1,3\n") == [0, 1, 3]
    assert parse_cpu_list("\n") == []


def test_digest_tells_parts_apart() -> None:
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("a", b"b") == digest("a", b"b")


def test_partition_that_was_started_again() -> None:
    """What the tool says when it repeats a start is counted, and nothing else is."""
    said = "web: started again, its kernel did not find its timer: the machine is busy\nweb: running, Linux 6.1.0"
    assert faults.restarted(said) == ["web"]
    assert faults.restarted("web: running, Linux 6.1.0 on CPUs 2-3, 1 GiB, ready after 1.95 s") == []


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"nics": [Nic()], "disks": [Disk("data", "64M"), Disk("fast", "64M", bus="nvme")]}, id="devices"),
        pytest.param({}, id="6.12", marks=REPETITION),
        pytest.param({"kernel": "6.1"}, id="6.1", marks=REPETITION),
        pytest.param({"icount": True}, id="icount", marks=REPETITION),
        pytest.param({"one_thread": True}, id="one thread", marks=REPETITION),
        pytest.param({"pci": [PciDevice("nvme,serial=x", disk=64)]}, id="pci", marks=REPETITION),
    ],
)
def test_cold_start(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What boots in this very moment is as what was frozen: it has its devices and starts a partition."""
    monkeypatch.setenv(template.COLD_VARIABLE, "1")
    with Machine(**options) as machine:
        assert machine.emulator.place.role == "cold"
        for disk in machine.spec.disks:
            assert machine.disk(disk.serial)
        start(machine)
        remove(machine)
        machine.assert_dmesg_clean()


def test_one_command_on_a_machine() -> None:
    """lab/run prints what the command prints, as it comes, and ends with its status."""
    command = [
        sys.executable,
        "-m",
        "lab.run",
        "6.12",
        "--partition",
        "6.1",
        "--",
        "sh",
        "-c",
        "uname -r; echo 'a  b'; exit 7",
    ]
    result = subprocess.run(command, cwd=SRC, capture_output=True, text=True, check=False)
    assert result.returncode == 7, result.stderr
    release, words = result.stdout.splitlines()
    assert release.startswith("6.12.")
    assert words == "a  b"


@pytest.mark.parametrize(
    ("words", "says"),
    [(["5.4"], "invalid choice: '5.4'"), (["6.12", "--"], "no command after --")],
    ids=["kernel", "empty"],
)
def test_what_no_machine_is_started_for(words: list[str], says: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "lab.run", *words], cwd=SRC, capture_output=True, text=True, check=False
    )
    assert result.returncode != 0
    assert says in result.stderr
