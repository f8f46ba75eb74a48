"""Programs in kernel mode while the kernel has other things to do."""

from __future__ import annotations

from collections.abc import Iterator

import kml
import pexpect
import pytest
from kml import PROGRAMS, TRUSTED
from support import refused

from lab import progress
from lab.machine import Machine
from lab.shell import ShellError

LOAD = "--pipe 1 --fork 1 --futex 1 --timer 1 --vm 1 --vm-bytes 8M"


@pytest.fixture(scope="module", params=["6.12", "6.1"])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    progress.quiet()
    with kml.make(kernel=request.param) as machine:
        kml.prepare(machine)
        yield machine


def begin_load(machine: Machine, seconds: int) -> None:
    """Trusted programs that check what they do; see end_load."""
    machine.run(
        f"cd /tmp; rm -f load; ({TRUSTED}/stress-ng --verify -q -t {seconds} {LOAD}; echo stress $?;"
        f" {TRUSTED}/kml_faults 1) >load 2>&1 & {PROGRAMS}/kml_call status >/dev/null"
    )


def end_load(machine: Machine) -> None:
    """Wait until it has ended, and for its verdict."""
    machine.run(
        "while ! grep -q fine /tmp/load && pgrep 'stress-ng|kml_faults' >/dev/null; do sleep .1; done", timeout=90
    )
    assert machine.run("cat /tmp/load").lines == ["stress 0", "fine faults"]


def storm(machine: Machine, seconds: int) -> list[str]:
    """Faults and traps of four trusted programs under NMIs that fault themselves."""
    machine.run(f"insmod {PROGRAMS}/{machine.versions[machine.flavour]}/shimos_nmi_storm.ko")
    programs = f"for i in 1 2 3 4; do {TRUSTED}/kml_faults {seconds} & done"
    out = machine.run(f"({programs}; wait)", timeout=seconds + 20).lines
    machine.run("rmmod shimos_nmi_storm")
    return out


def test_nmis(machine: Machine) -> None:
    assert storm(machine, 8) == ["fine faults"] * 4
    kml.assert_clean(machine)


def storms(machine: Machine) -> None:
    for _ in range(4):
        assert storm(machine, 8) == ["fine faults"] * 4
        kml.assert_clean(machine)


def test_nmi_test_can_fail() -> None:
    """Without what NMIs do for interrupted stubs, the same storm is the end."""
    progress.quiet()
    with kml.make() as machine:
        kml.prepare(machine, "guard=0")
        with pytest.raises((ShellError, OSError, AssertionError, pexpect.ExceptionPexpect)):
            storms(machine)


def test_probes(machine: Machine) -> None:
    """Breakpoints of kprobes and the function tracer in what trusted programs call."""
    # Past the entry, where kprobes take a breakpoint, not the tracer's call.
    offset = 9 if machine.flavour == "6.12" else 5
    probes = [f"p:kml/read ksys_read+{offset}", f"p:kml/write ksys_write+{offset}", "r:kml/fork kernel_clone"]
    machine.run("sysctl -q debug.kprobes-optimization=0; cd /sys/kernel/tracing; echo 64 >buffer_size_kb")
    for probe in probes:
        machine.run(f"echo '{probe}' >>/sys/kernel/tracing/kprobe_events")
    begin_load(machine, 4)
    machine.run(
        "cd /sys/kernel/tracing; echo '__x64_sys_*' >set_ftrace_filter; echo function >current_tracer;"
        " echo 1 >events/kml/enable; sleep 3; echo nop >current_tracer; echo >set_ftrace_filter"
    )
    end_load(machine)
    profile = machine.run("cat /sys/kernel/tracing/kprobe_profile").lines
    machine.run("cd /sys/kernel/tracing; echo 0 >events/kml/enable; echo >kprobe_events")
    hits = {line.split()[0]: int(line.split()[1]) for line in profile}
    assert len(hits) == 3 and min(hits.values()) > 10, hits
    kml.assert_clean(machine)


def test_cpus_come_and_go(machine: Machine) -> None:
    begin_load(machine, 6)
    for cpu in (1, 2, 3, 1):
        online = f"/sys/devices/system/cpu/cpu{cpu}/online"
        machine.run(f"echo 0 >{online}; sleep .3; echo 1 >{online}")
    end_load(machine)
    out = machine.run(f"for c in 0 1 2 3; do taskset -c $c {TRUSTED}/kml_basic 10; done").lines
    assert out == ["cpl 0", "calls 10 cpl 0", "child cpl 0"] * 4
    kml.assert_clean(machine)


def test_out_of_memory(machine: Machine) -> None:
    """The kernel kills trusted programs that eat all memory of their group."""
    machine.run(
        "mkdir -p /tmp/cg; mount -t cgroup2 none /tmp/cg; echo +memory >/tmp/cg/cgroup.subtree_control;"
        " mkdir -p /tmp/cg/small; echo 48M >/tmp/cg/small/memory.max"
    )
    program = f'{TRUSTED}/python3 -c "b = [bytes([1]) * (1 << 20) for _ in range(200)]"'
    for _ in range(3):
        out = machine.run(f"(echo 0 >/tmp/cg/small/cgroup.procs; exec {program})", check=False)
        assert out.status == 137
    kills = machine.run("grep oom_kill /tmp/cg/small/memory.events").lines[0]
    assert kills == "oom_kill 3"
    # The kernel dumps its stack for each, which is no complaint.
    log = machine.run("dmesg").output
    assert not any(word in log for word in ("BUG:", "Oops", "Bad page", "Bad rss-counter"))
    machine.run("rmdir /tmp/cg/small; umount /tmp/cg; dmesg -C; echo shimos_kml >/dev/kmsg")


def test_unload_under_load(machine: Machine) -> None:
    begin_load(machine, 5)
    for _ in range(10):
        refused(machine, "rmmod shimos_kml", "in use")
    end_load(machine)
    machine.run(f"while ! rmmod shimos_kml 2>/dev/null; do sleep .1; done; {TRUSTED}/kml_basic 10; modprobe shimos_kml")
    for _ in range(5):
        machine.run(f"{TRUSTED}/kml_basic 10; rmmod shimos_kml; {TRUSTED}/kml_basic 10; modprobe shimos_kml")
    kml.assert_clean(machine)
