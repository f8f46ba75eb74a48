"""Trusted programs that check what they do, and what the kernel does to them meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lab.machine import Machine
from lab.stage import kml
from lab.stage.kml import PROGRAMS, TRUSTED, UNTIL_TRUSTED
from lab.stage.partitions import WAIT_FOR, refused

_PAGE_FAULT = 14
LOAD = "--pipe 1 --fork 1 --futex 1 --timer 1 --vm 1 --vm-bytes 8M"


def begin(machine: Machine, seconds: int) -> None:
    """Start trusted programs that check what they do; see end."""
    machine.run(
        f"cd /tmp; rm -f load; ({TRUSTED}/stress-ng --verify -q -t {seconds} {LOAD}; echo stress $?;"
        f" {TRUSTED}/kml_faults 1; echo faults $?) >load 2>&1 & {UNTIL_TRUSTED}"
    )


def end(machine: Machine, timeout: float = 90) -> None:
    """Wait for the end of what begin() started, and check its verdict."""
    # Not by the programs' names: between the two there is neither.
    machine.run(f"{WAIT_FOR} text 'faults ' /tmp/load", timeout=timeout)
    assert machine.run("cat /tmp/load").lines == ["stress 0", "fine faults", "faults 0"]


def storm(machine: Machine, seconds: int) -> None:
    """Run four trusted programs that fault and trap under NMIs that fault themselves."""
    machine.run(f"insmod {PROGRAMS}/{machine.versions[machine.flavour]}/shimos_nmi_storm.ko")
    programs = f"for i in 1 2 3 4; do {TRUSTED}/kml_faults {seconds} & done"
    out = machine.run(f"({programs}; wait)", timeout=seconds * 3 + 60).lines
    machine.run("rmmod shimos_nmi_storm")
    assert out == ["fine faults"] * 4, f"trusted programs said {out}"


@contextmanager
def watched(machine: Machine) -> Iterator[None]:
    """Have a breakpoint on what the stub of page faults reads, whose handler faults itself; it must have been hit."""
    machine.run(f"insmod {PROGRAMS}/{machine.versions[machine.flavour]}/shimos_kml_look.ko")
    table = int(machine.run("grep -w kml_direct /proc/kallsyms").output.split()[0], 16)
    machine.run(f"echo watch {table + _PAGE_FAULT * 8:#x} >/proc/kml_look")
    yield
    hits = int(machine.run("grep hits /proc/kml_look").output.split()[1])
    machine.run("rmmod shimos_kml_look")
    assert hits > 1000, f"the breakpoint was hit {hits} times"


def probe(machine: Machine, seconds: float = 3) -> None:
    """Put breakpoints of kprobes and the function tracer into what trusted programs call, until they were hit."""
    # Past the entry, where kprobes take a breakpoint, not the tracer's call.
    offset = 9 if machine.flavour == "6.12" else 5
    probes = [f"p:kml/read ksys_read+{offset}", f"p:kml/write ksys_write+{offset}", "r:kml/fork kernel_clone"]
    machine.run("sysctl -q debug.kprobes-optimization=0; cd /sys/kernel/tracing; echo 64 >buffer_size_kb")
    for each in probes:
        machine.run(f"echo '{each}' >>/sys/kernel/tracing/kprobe_events")
    # On a busy computer a program may fork only once a second.
    all_hit = "awk '$2 > 10 { n++ } END { exit n != 3 }' kprobe_profile"
    machine.run(
        "cd /sys/kernel/tracing; echo '__x64_sys_*' >set_ftrace_filter; echo function >current_tracer;"
        f" echo 1 >events/kml/enable; sleep {seconds}; until {all_hit}; do sleep .1; done;"
        " echo nop >current_tracer; echo >set_ftrace_filter; echo 0 >events/kml/enable; echo >kprobe_events"
    )


def move_cpus(machine: Machine) -> None:
    """Take CPUs offline and back."""
    for cpu in (1, 2, 3, 1):
        online = f"/sys/devices/system/cpu/cpu{cpu}/online"
        machine.run(f"echo 0 >{online}; sleep .3; echo 1 >{online}")


def give_up(machine: Machine) -> None:
    """Run programs of which one thread after another gives up its rights."""
    loop = f"for i in 1 2 3; do {TRUSTED}/kml_rights threads & {TRUSTED}/kml_rights one-thread & done; wait"
    out = machine.run(loop, timeout=120).lines
    assert out.count("threads at 0: 0 at 3: 4") == 6, out


def eat_memory(machine: Machine) -> None:
    """Run trusted programs that eat all memory of their group, until the kernel kills them."""
    kml.assert_clean(machine)
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


def try_unload(machine: Machine) -> None:
    """Try to unload the module, which is refused as long as a trusted program runs: one stays, whatever others do."""
    stays = kml.start_sleeper(machine)
    for _ in range(10):
        refused(machine, "rmmod shimos_kml", "in use")
    machine.run(f"kill {stays}; {WAIT_FOR} exit {stays}")
