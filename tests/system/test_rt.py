"""Real-time programs that share a CPU with a running stock kernel, on SPUMONE's layer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.build import RT_ACTIVATIONS, RT_SECONDS
from lab.machine import Machine
from lab.stage import rt
from tests.support.tiers import REPETITION, everything, rare, rounds
from tests.system.test_layer import assert_balanced, counts, do, leave, load, said

IMAGES = "/usr/lib/shimos-test"
MEMORY = 2 << 20
RUNS, ENDED, CRASHED = 1, 2, 3  # enum layer_rt_state
STOPPED, FAILED = 1, 2  # enum shimos_rt_end
pytestmark = pytest.mark.machine(one_thread=True, load=False)
#: Its clock goes by instructions, so it is the same however busy the computer is.
counted = pytest.mark.machine(cpus=1, icount=True, load=False)
counted_older = pytest.mark.machine(kernel="6.1", partitions=["6.1"], cpus=1, icount=True, load=False)


@contextmanager
def beside(machine: Machine, image: str, cpu: int = 1, budget: str = "") -> Iterator[None]:
    """Let a real-time program share a CPU for a while; its budget and the budget's period are microseconds."""
    do(machine, f"rt {cpu} {MEMORY} {IMAGES}/{image}.elf {budget}")
    yield
    do(machine, f"stop {cpu}")


def state(machine: Machine, cpu: int = 1) -> dict[str, int]:
    return counts(machine)[cpu]


def console(machine: Machine) -> list[str]:
    """Return what the program has said."""
    return [line for line in machine.run("cat /proc/layer").lines if not line.startswith("cpu=")]


def until_ended(machine: Machine, cpu: int = 1, timeout: float = 60) -> dict[str, int]:
    """Wait for the end of the program; its state."""
    machine.run(f"until grep -q 'cpu={cpu} .* rt=[{ENDED}{CRASHED}] ' /proc/layer; do sleep 0.1; done", timeout=timeout)
    return state(machine, cpu)


def test_hello(machine: Machine) -> None:
    """The least program: it runs, takes its interrupts, and ends; its memory is the host's again."""
    load(machine)
    do(machine, "launch 1")
    before = state(machine)
    for _ in range(2):
        with beside(machine, "hello"):
            end = until_ended(machine)
            assert (end["rt"], end["why"], end["ready"]) == (ENDED, STOPPED, 1)
            assert end["timers"] == 10 and end["entered"] > 1
            said_lines = console(machine)
        assert said_lines[0].startswith("hello, at") and said_lines[1] == "10 timer interrupts, 0 strays"
        assert console(machine) == []
    assert_balanced(before, state(machine))
    leave(machine, [1])


#: By the images' names: how each ends, and the exit, the address or the words that tell why.
FORBIDDEN = {
    "text": (CRASHED, 0x400),
    "null": (CRASHED, 0x400),
    "run": (CRASHED, 0x400),
    "port": (ENDED, FAILED),
    "msr": (ENDED, FAILED),
    "halt": (CRASHED, 0x78),
    "reset": (CRASHED, 0x7F),
    "control": (CRASHED, 0x10),
    "svm": (CRASHED, 0x80),
}


def test_forbidden(machine: Machine) -> None:
    """What a real-time program may not do ends it, with the reason; Linux does not notice."""
    load(machine)
    do(machine, "launch 1")
    before = state(machine)
    for name, (how, why) in FORBIDDEN.items():
        with beside(machine, f"forbidden-{name}"):
            end = until_ended(machine)
            assert (end["rt"], end["why"]) == (how, why), name
            lines = console(machine)
            assert lines[0] == "now" and "nothing happened" not in lines, (name, lines)
            if name == "null":
                assert end["info"] < 4096
            if how == ENDED:
                assert "13" in lines[1], lines  # general protection
    assert_balanced(before, state(machine))
    leave(machine, [1])


def floats(machine: Machine, avx: str) -> None:
    """Let Linux and a program compute on the same CPU with all registers full; none sees the other's."""
    load(machine)
    do(machine, "launch 1")
    before = state(machine)
    machine.run(f"rm -f {rt.END}; taskset -c 1 {IMAGES}/float_check {rt.END} >/tmp/floats 2>&1 &")
    with beside(machine, "float"):
        end = until_ended(machine, timeout=120)
        lines = console(machine)
    assert (end["rt"], end["why"], lines) == (ENDED, STOPPED, [f"fine after {end['timers']} turns, {avx} AVX"])
    machine.run(f"touch {rt.END}; until grep . /tmp/floats; do sleep 0.1; done")
    assert re.fullmatch(rf"fine after \d\d+ rounds, {avx} AVX", machine.run("cat /tmp/floats").output.strip())
    # it was taken the CPU in the middle of it, again and again
    assert end["entered"] > 1000
    assert_balanced(before, state(machine))
    leave(machine, [1])


def test_floating_point(machine: Machine) -> None:
    floats(machine, "with")


@pytest.mark.machine(load=False, one_thread=True, extra=("-cpu", "max,-erms,-fsrm,-fsrs,-xsave"))
@rare("concerns processors that few have")
def test_floating_point_of_older_processors(fresh_machine: Machine) -> None:
    """They have neither XSAVE nor AVX."""
    floats(fresh_machine, "without")


def test_limits(machine: Machine) -> None:
    """What is refused, and why; a CPU that is shared stays on."""
    load(machine)
    assert "the layer is not under CPU 1" in said(machine, f"rt 1 {MEMORY} {IMAGES}/hello.elf")
    do(machine, "launch 1")
    assert "1M to 1G" in said(machine, f"rt 1 4096 {IMAGES}/hello.elf")
    assert "1M to 1G" in said(machine, f"rt 1 {MEMORY + 1} {IMAGES}/hello.elf")
    assert "no ELF file" in said(machine, f"rt 1 {MEMORY} /etc/hostname")
    assert "not between" in said(machine, f"rt 1 {1 << 20} {IMAGES}/hello.elf")
    assert "its period is 100 us to 1 s" in said(machine, f"rt 1 {MEMORY} {IMAGES}/hello.elf 40 99")
    assert "it is 10 us to 95 % of its period" in said(machine, f"rt 1 {MEMORY} {IMAGES}/hello.elf 9 100")
    assert "it is 10 us to 95 % of its period" in said(machine, f"rt 1 {MEMORY} {IMAGES}/hello.elf 96 100")
    # a period without a budget is no budget without end
    assert "it is 10 us to 95 % of its period" in said(machine, f"rt 1 {MEMORY} {IMAGES}/hello.elf 0 100")
    assert machine.run("echo stop 1 >/proc/layer", check=False).status
    with beside(machine, "latency-endless"):
        assert machine.run("echo 0 >/sys/devices/system/cpu/cpu1/online", check=False).status
        assert "CPU 1 stays" in machine.dmesg()
        assert machine.run("echo freeze >/sys/power/state", check=False).status
        # asked to end, it does
        do(machine, "ask 1")
        end = until_ended(machine)
        assert (end["rt"], end["why"]) == (ENDED, STOPPED)
    machine.run("echo 0 >/sys/devices/system/cpu/cpu1/online; echo 1 >/sys/devices/system/cpu/cpu1/online")
    # what runs goes with the layer
    do(machine, f"rt 1 {MEMORY} {IMAGES}/latency-endless.elf")
    leave(machine, [1])


#: Of each 10 ms a program may have 4.
BUDGET = "4000 10000"
SHARE = 0.4


#: Instructions of a program from its entry with an interrupt to its handler's look at the clock, at most.
ENTRY = 100


#: Instructions from a core to a core: there and back it may take 2,000.
MOVE = 1000


@contextmanager
def under_load(machine: Machine, image: str, budget: str = "", protected: bool = False) -> Iterator[None]:
    """Let a real-time program share the only CPU with Linux at work."""
    load(machine)
    rt.spin(machine)
    machine.run(f"({rt.WORK}) >/dev/null 2>&1 &")
    do(machine, "launch 0")
    if protected:
        do(machine, "protect")
    before = state(machine, 0)
    with rt.awake(machine), beside(machine, image, 0, budget):
        yield
    machine.run(f"touch {rt.END}; wait")
    after = state(machine, 0)
    assert_balanced(before, after)
    assert not after["faults"]
    if protected:
        do(machine, "unprotect")
    leave(machine, [0])


@pytest.mark.parametrize(
    ("kernel", "protected"),
    [
        pytest.param("6.12", False, marks=counted),
        pytest.param("6.12", True, marks=counted),
        pytest.param("6.1", False, marks=[counted_older, REPETITION]),
        pytest.param("6.1", True, marks=[counted_older, REPETITION]),
    ],
)
def test_deadlines(fresh_machine: Machine, kernel: str, protected: bool) -> None:
    """A program is at its deadlines in time while Linux works and keeps interrupts off for twice as long.

    Also when Linux runs by nested page tables, in which the program is not.
    """
    assert fresh_machine.run("uname -r").output.startswith(kernel)
    with under_load(fresh_machine, "latency", BUDGET, protected):
        while state(fresh_machine, 0)["rt"] == RUNS:
            do(fresh_machine, "mask 0 2000 50")
        end, lines = state(fresh_machine, 0), console(fresh_machine)
    told = {key: int(value) for key, value in re.findall(r"# (\w+): (\d+)", "\n".join(lines))}
    assert told == {"Total": RT_ACTIVATIONS, "Overflows": 0, "Missed": 0, "Early": 0, "Strays": 0}
    # an instruction is a cycle here
    least, most = map(int, re.findall(r"Min: +(\d+) .* Max: +(\d+)", "\n".join(lines))[-1])
    assert most <= 500
    # the layer knows it, too, but for the program's own way to the clock
    assert end["lates"] == end["timers"] == RT_ACTIVATIONS
    assert 0 < least - end["late_least"] <= ENTRY and 0 < most - end["late_most"] <= ENTRY
    assert not end["throttled"]
    # it was Linux with interrupts off that it was taken from
    assert end["rt_masked"] > RT_ACTIVATIONS / 4


def loops(machine: Machine, seconds: int) -> int:
    """Return how much Linux gets done in a second, the best of some: it also has other things to do."""
    return max(int(machine.run(f"nice -n -20 {IMAGES}/loops 1000", timeout=300).output) for _ in range(seconds))


@counted
def test_budget(fresh_machine: Machine) -> None:
    """Programs that want all of the CPU get their budget of it; Linux has the rest, and misses nothing."""
    machine = fresh_machine
    load(machine)
    do(machine, "launch 0")
    before = state(machine, 0)
    # its own watchdogs shall not be patient
    machine.run(
        "echo 1 >/proc/sys/kernel/watchdog_thresh; echo 3 >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout"
    )
    alone = loops(machine, rounds(2, 1))
    got = {}
    # by default the one that spends the most
    for name, seconds in (("endless", rounds(4, 1)), *((("past", 1), ("often", 2)) if everything() else ())):
        with beside(machine, f"busy-{name}", 0, BUDGET):
            got[name] = loops(machine, seconds) / alone
            end = state(machine, 0)
        assert end["throttled"] >= 99 * seconds
        assert name == "endless" or end["timers"] > 100000
        assert name != "past" or end["past"] > 100000
    assert got == {name: pytest.approx(1 - SHARE, abs=0.02) for name in got}
    assert_balanced(before, state(machine, 0))
    leave(machine, [0])


@counted
def test_freertos(fresh_machine: Machine) -> None:
    """FreeRTOS, unchanged: tasks of several priorities, queues and delays; none comes late."""
    with under_load(fresh_machine, "task"):
        end = until_ended(fresh_machine, 0, timeout=300)
        lines = console(fresh_machine)
    assert (end["rt"], end["why"], lines[-1]) == (ENDED, STOPPED, "task fine")
    assert "(0 missed)" in lines[-2]


@counted
def test_embassy(fresh_machine: Machine) -> None:
    """Embassy, unchanged: asynchronous tasks at two paces, a channel and a signal; none comes late."""
    with under_load(fresh_machine, "embassy"):
        end = until_ended(fresh_machine, 0, timeout=300)
        lines = console(fresh_machine)
    assert (end["rt"], end["why"], lines[-1]) == (ENDED, STOPPED, "embassy fine")
    assert lines[-2].count("(0 missed)") == 2, lines
    # whoever is due is all that the timer comes for
    assert end["timers"] == pytest.approx(1000 * RT_SECONDS, rel=0.2)


@counted
def test_moves(fresh_machine: Machine) -> None:
    """From a core to a core and back it takes some instructions only, and nothing of a program is lost.

    There is one CPU here, so it goes from there to there; that is the whole way nevertheless.
    """
    times = rounds(5_000, 100)
    with under_load(fresh_machine, "latency-endless"):
        fresh_machine.run("until grep -q 'timers=[1-9]' /proc/layer; do sleep 0.1; done")
        do(fresh_machine, f"move 0 0 {times}")
        now = state(fresh_machine, 0)
        assert now["moves"] == 2 * times and now["rt"] == RUNS
        do(fresh_machine, "ask 0")
        end = until_ended(fresh_machine, 0)
    assert (end["rt"], end["why"], end["lates"]) == (ENDED, STOPPED, end["timers"])
    assert end["timers"] > now["timers"]
    # one way, while Linux keeps its interrupts as they come
    assert 0 < end["moved_last"] <= end["moved_max"] <= MOVE
