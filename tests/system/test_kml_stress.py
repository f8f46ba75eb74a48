"""Programs in kernel mode while the kernel has other things to do."""

from __future__ import annotations

import re
import subprocess

import pexpect
import pytest

from lab import progress
from lab.machine import Machine
from lab.shell import ShellError
from lab.stage import kml, kml_load
from lab.stage.kml import TRUSTED
from tests.support import tiers
from tests.support.kml_machines import make_machine  # noqa: F401  the fixture of this file
from tests.support.tiers import REPETITION, late, rare, rounds

pytestmark = late("a load on what test_kml.py tries")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the machines for each test: how NMIs come in is each kernel's own."""
    tiers.on_machines(metafunc, ["6.12", "6.1"], {"6.1": ["test_nmis", "test_nmis_and_breakpoints"]})


def test_nmis(machine: Machine) -> None:
    kml_load.storm(machine, rounds(8, 3))
    kml.assert_clean(machine)


def test_nmis_and_breakpoints(machine: Machine) -> None:
    """An NMI that hits a breakpoint's stub, which saves what a third one has on the gate stack."""
    with kml_load.watched(machine):
        kml_load.storm(machine, rounds(16, 6))
    kml.assert_clean(machine)


def storms(machine: Machine) -> None:
    for _ in range(4):
        kml_load.storm(machine, 8)
        kml.assert_clean(machine)


@rare("shows that another test can fail")
def test_nmi_test_can_fail() -> None:
    """Without what NMIs do for interrupted stubs, the same storm is the end."""
    progress.quiet()
    with kml.make() as machine:
        kml.prepare(machine, "guard=0")
        # All is well as long as there are no NMIs.
        assert machine.run(f"{TRUSTED}/kml_faults 1").lines == ["fine faults"]
        kml.assert_clean(machine)
        with pytest.raises((ShellError, OSError, AssertionError, pexpect.ExceptionPexpect)) as caught:
            storms(machine)
        assert not machine.diagnosis.fault(), machine.diagnosis.fault()
        assert died_of_nmis(machine, caught.value), f"something else went wrong: {caught.value}"


def died_of_nmis(machine: Machine, error: BaseException) -> bool:
    """Return whether trusted programs or the kernel below them were what the error is about.

    An interrupted stub may return anywhere, so any oops will do; the emulator's own is ruled out before.
    """
    pattern = r"BUG: |Oops: |double fault|kml_faults\[\d+\]|detected stalls.*RIP: 0010:kml_\w+\+\S+ \[shimos_kml\]"
    oops = re.search(pattern, machine.emulator.console(), re.DOTALL)
    wrong = isinstance(error, AssertionError) and "trusted programs said" in str(error)
    return bool(oops) or wrong or deaf(machine) or has_reset_itself(machine)


def deaf(machine: Machine) -> bool:
    """Return whether a CPU has interrupts off at every look: it will not even complain."""
    looks = []
    for _ in range(20):
        flags = [re.search(r"RFL=([0-9a-f]+)", where) for where, _ in machine.diagnosis.cpu_states()]
        looks.append({cpu for cpu, found in enumerate(flags) if found and not int(found[1], 16) & 1 << 9})
    return bool(set.intersection(*looks))


def has_reset_itself(machine: Machine) -> bool:
    """Return whether the machine has gone down without a word, as CPUs do that cannot even report a fault."""
    try:
        # An emulator that crashes ends otherwise.
        return machine.emulator.process.wait(10) == 0
    except subprocess.TimeoutExpired:
        return False


@pytest.mark.parametrize("kernel", ["6.12", pytest.param("6.1", marks=REPETITION)])
def test_probes(kernel: str) -> None:
    """Breakpoints of kprobes and the function tracer in what trusted programs call."""
    progress.quiet()
    # Code that runs is changed here, all the time.
    with kml.make(kernel=kernel, one_thread=True) as machine:
        kml.prepare(machine)
        kml_load.begin(machine, 6)
        kml_load.probe(machine)
        kml_load.end(machine)
        kml.assert_clean(machine)


def test_cpus_come_and_go(machine: Machine) -> None:
    kml_load.begin(machine, 6)
    kml_load.move_cpus(machine)
    kml_load.end(machine)
    out = machine.run(f"for c in 0 1 2 3; do taskset -c $c {TRUSTED}/kml_basic 10; done").lines
    assert out == ["cpl 0", "calls 10 cpl 0", "child cpl 0"] * 4
    kml.assert_clean(machine)


def test_out_of_memory(machine: Machine) -> None:
    """The kernel kills trusted programs that eat all memory of their group."""
    kml_load.eat_memory(machine)


def test_unload_under_load(machine: Machine) -> None:
    kml_load.begin(machine, 5)
    kml_load.try_unload(machine)
    kml_load.end(machine)
    machine.run(f"while ! rmmod shimos_kml 2>/dev/null; do sleep .1; done; {TRUSTED}/kml_basic 10; modprobe shimos_kml")
    for _ in range(rounds(5, 2)):
        machine.run(f"{TRUSTED}/kml_basic 10; rmmod shimos_kml; {TRUSTED}/kml_basic 10; modprobe shimos_kml")
    kml.assert_clean(machine)
