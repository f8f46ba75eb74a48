"""Programs in kernel mode: all that they do as in user mode."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.machine import Machine
from lab.stage import kml
from lab.stage.kml import PROGRAMS, TRUSTED, both
from lab.stage.partitions import WAIT_FOR, refused
from tests.support import tiers
from tests.support.kml_machines import make_machine  # noqa: F401  the fixture of this file
from tests.support.tiers import rounds

WILD = (
    *("null", "read-kernel-hole", "non-canonical", "read-only", "no-access", "no-exec", "recursion"),
    *("jump-null", "jump-kernel-hole", "jump-non-canonical"),
    *("stack-null", "stack-kernel-hole", "stack-non-canonical"),
    *("undefined", "breakpoint", "divide", "bad-segment", "abort"),
)

#: What is another way in the kernel on these machines: entry and exit, promotion, faults and traps.
DIFFERENT = ("test_mode", "test_the_stock_way", "test_wild_programs", "test_flags_in_calls", "test_no_probes")

#: What of ours runs where neither the stack nor GS are the kernel's.
ENTRIES = (
    *("kml_stubs", "kml_handle", "kml_nmi", "kml_debug", "kml_machine_check"),
    *("kml_call", "kml_call_3", "kml_syscall", "kml_return", "kml_not_fast"),
)
#: The flag for alignment checks, which at CPL 0 lifts SMAP.
AC = 1 << 18


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the machines for each test."""
    tiers.on_machines(metafunc, list(kml.MACHINES), {"6.1": DIFFERENT, "6.12-intel": DIFFERENT})


@pytest.fixture(autouse=True)
def _clean(machine: Machine) -> Iterator[None]:
    yield
    kml.assert_nothing_left(machine)


def test_mode(machine: Machine) -> None:
    """In the trusted directory it is kernel mode, elsewhere not."""
    assert machine.run(f"{PROGRAMS}/kml_basic").lines == ["cpl 3", "calls 1000 cpl 3", "child cpl 3"]
    before = kml.status(machine)
    assert machine.run(f"{TRUSTED}/kml_basic 100000").lines == ["cpl 0", "calls 100000 cpl 0", "child cpl 0"]
    after = kml.status(machine)
    # The kernel way back to user mode is rare, whatever interrupts came.
    assert int(after["promotions"]) - int(before["promotions"]) < 50
    assert int(after["syscalls"]) - int(before["syscalls"]) > 200000


def test_the_stock_way(machine: Machine) -> None:
    """Handlers that no stub of ours calls directly work, too, by promotion."""
    machine.run("rmmod shimos_kml && modprobe shimos_kml direct=0 fast=0")
    assert machine.run(f"{TRUSTED}/kml_basic").lines == ["cpl 0", "calls 1000 cpl 0", "child cpl 0"]
    assert int(kml.status(machine)["promotions"]) > 256, "each page fault takes one"
    machine.run(f"{TRUSTED}/kml_call check")
    machine.run("rmmod shimos_kml && modprobe shimos_kml")


def test_direct_calls(machine: Machine) -> None:
    """What kml.h does is what SYSCALL does; the same binary works untrusted."""
    assert machine.run(f"{PROGRAMS}/kml_call check").lines == ["direct Operation not permitted", "same"]
    assert machine.run(f"{TRUSTED}/kml_call check").lines == ["direct yes", "same"]
    assert int(kml.status(machine)["calls"]) > 100


@pytest.mark.parametrize("what", ["step", "watch", "poke", "seccomp"])
def test_debuggers_and_filters(machine: Machine, what: str) -> None:
    assert both(machine, f"{PROGRAMS}/kml_trace", what).strip() in ("many steps", "hits 3", "variable 41", "filtered")


def test_strace(machine: Machine) -> None:
    """Every call is seen, with its arguments and its result."""

    def calls(program: str) -> list[str]:
        text = machine.run(f"strace -f -qq -e trace=getpid,write,wait4,fork,clone {program} 5 2>&1 >/dev/null").output
        # a call that another process's came between has two lines
        lines = [line for line in text.splitlines() if "(" in line and " resumed>" not in line]
        return [line.split("(")[0].split("] ")[-1] for line in lines]

    seen = calls(f"{TRUSTED}/kml_basic")
    assert sorted(seen) == sorted(calls(f"{PROGRAMS}/kml_basic"))
    assert seen.count("getpid") == 10


def test_wild_programs(machine: Machine) -> None:
    """Each is killed as it would be in user mode, and nothing else happens."""

    def ends(directory: str) -> list[str]:
        script = f"for w in {' '.join(WILD)}; do {directory}/kml_wild $w; echo $w $?; done"
        return machine.run(f"sh -c '{script}' 2>/dev/null").lines

    assert ends(TRUSTED) == ends(PROGRAMS)
    assert not [end for end in ends(TRUSTED) if int(end.split()[1]) <= 128], "not killed"


@pytest.fixture
def looking(machine: Machine) -> Iterator[Machine]:
    """Yield the machine, with a look at the kernel below a trusted program: tests/modules/shimos_kml_look.c."""
    machine.run(f"insmod {PROGRAMS}/{machine.versions[machine.flavour]}/shimos_kml_look.ko")
    yield machine
    machine.run("rmmod shimos_kml_look")


@pytest.mark.parametrize("flag", ["nt", "ac", "df"])
def test_flags_in_calls(looking: Machine, flag: str) -> None:
    """A direct call masks what SYSCALL does: with NT the kernel dies at its next iret, with AC SMAP is off."""
    assert looking.run(f"{TRUSTED}/kml_flags call {flag}").lines == ["not set"]


def test_flags_in_interrupts(looking: Machine) -> None:
    """What the program is interrupted for does not run with its AC."""
    looking.run(f"taskset -c 2 {TRUSTED}/kml_flags spin ac >/dev/null 2>&1 & {kml.UNTIL_TRUSTED}")
    pid = looking.run(f"{PROGRAMS}/kml_call tasks").output.strip()
    # Until it has spun for a while: all its time is user time, at CPL 0 as at CPL 3.
    looking.run(f"until [ $(awk '{{ print $14 + $15 }}' /proc/{pid}/stat) -gt 20 ]; do sleep 0.05; done")
    seen = looking.run("for i in $(seq 50); do echo flags 2 >/proc/kml_look; grep ipi /proc/kml_look; done").lines
    looking.run(f"kill -9 {pid}; {WAIT_FOR} exit {pid}")
    assert len(seen) == 50
    assert not [line for line in seen if int(line.split()[1], 0) & AC]


def test_no_probes(looking: Machine) -> None:
    """The kernel refuses kprobes where their breakpoint would be the end of it."""
    for symbol in ENTRIES:
        refused(looking, f"echo probe {symbol} >/proc/kml_look", "invalid argument")
    looking.run("echo probe kml_arch_enter >/proc/kml_look")


@pytest.mark.parametrize("segment", ["user", "kernel"])
def test_32_bit_code(machine: Machine, segment: str) -> None:
    """It cannot run in kernel mode, and is not taken for 64-bit code there: it ends by SIGSEGV."""
    assert machine.run(f"{PROGRAMS}/kml_code32 {segment}", check=False).status == 33
    assert machine.run(f"{TRUSTED}/kml_code32 {segment}", check=False).status == 139


def test_shell(machine: Machine) -> None:
    script = "for i in $(seq 50); do x=$(echo $i | cat); done; echo $x; ls /proc/self/fd | wc -l; kill -9 $$"
    assert both(machine, "/bin/bash", f"-c '{script}'").split()[0] == "50"
    assert both(machine, "/bin/busybox", f"sh -c '{script}'").split()[0] == "50"


def test_python(machine: Machine) -> None:
    """Threads, signals, fork and exec from a dynamic program."""
    assert both(machine, "/usr/bin/python3", f"{PROGRAMS}/threads_and_signals.py").count("\n") > 15


def test_sqlite(machine: Machine) -> None:
    sql = (
        "create table t(a, b); with recursive n(i) as (select 1 union all select i+1 from n where i<5000)"
        " insert into t select i, hex(i*i) from n; create index x on t(b); select count(*), sum(a), max(b) from t;"
        " pragma integrity_check;"
    )
    assert both(machine, "/usr/bin/sqlite3", f"$(mktemp) '{sql}'").split()[-1] == "ok"


def test_stress(machine: Machine) -> None:
    """stress-ng verifies what it does: signals, pipes, futexes, mappings, timers, context switches."""
    load = "--pipe 1 --mmap 1 --mmap-bytes 16M --fork 1 --futex 1 --timer 1 --sigq 1 --switch 1 --vm 1 --vm-bytes 16M"
    result = machine.run(f"cd /tmp && {TRUSTED}/stress-ng --verify -q -t {rounds(5, 2)} {load}", timeout=90)
    assert "fail" not in result.output


def test_exec_of_others(machine: Machine) -> None:
    """Trust ends with exec of a program elsewhere and does not hold the module."""
    out = machine.run(f"{TRUSTED}/bash -c 'exec {PROGRAMS}/kml_basic'").lines
    assert out == ["cpl 3", "calls 1000 cpl 3", "child cpl 3"]
    out = machine.run(f"/bin/bash -c 'exec {TRUSTED}/kml_basic'").lines
    assert out == ["cpl 0", "calls 1000 cpl 0", "child cpl 0"]


def test_unload(machine: Machine) -> None:
    """Refused as long as anything is trusted, clean after."""
    kml.start_sleeper(machine)
    refused(machine, "rmmod shimos_kml", "in use")
    assert kml.status(machine)["tasks"] == "1"
    pid = machine.run(f"{PROGRAMS}/kml_call tasks").output.strip()
    assert machine.run(f"cat /proc/{pid}/comm").output.strip() == "busybox"
    machine.run(f"kill -9 {pid}; {WAIT_FOR} exit {pid}; rmmod shimos_kml; modprobe shimos_kml")
    assert machine.run(f"{TRUSTED}/kml_basic 1").lines[0] == "cpl 0"
