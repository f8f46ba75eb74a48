"""Trusted programs that do what ends their trust: they leave kernel mode or are killed, never left half."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.machine import Machine
from lab.stage import kml
from lab.stage.kml import PROGRAMS, TRUSTED
from lab.stage.partitions import WAIT_FOR, refused
from tests.support import tiers
from tests.support.kml_machines import make_machine  # noqa: F401  the fixture of this file
from tests.support.tiers import rounds

NO_CHILD = "/sys/module/shimos_kml/parameters/no_child"


#: By machine, what another kernel or CPU may do in another way.
DIFFERENT = {
    "6.1": ("test_giving_up_rights", "test_child_without_memory"),
    "6.12-intel": ("test_giving_up_rights", "test_no_kvm_of_intel"),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the machines for each test."""
    tiers.on_machines(metafunc, ["6.12", "6.1", "6.12-intel"], DIFFERENT)


@pytest.fixture(autouse=True)
def _clean(machine: Machine) -> Iterator[None]:
    yield
    kml.assert_nothing_left(machine)
    machine.run(f"rmmod shimos_kml && modprobe shimos_kml && {TRUSTED}/kml_basic 10")


def rights(machine: Machine, what: str) -> list[str]:
    """Return what kml_rights says in kernel mode; in user mode it must work as well."""
    machine.run(f"{PROGRAMS}/kml_rights {what}")
    return machine.run(f"{TRUSTED}/kml_rights {what}").lines


def test_rights_that_do_not_matter(machine: Machine) -> None:
    assert rights(machine, "keep") == ["cpl 0", "cpl 0"]


@pytest.mark.parametrize("what", ["setuid", "capset", "namespace", "filtered"])
def test_giving_up_rights(machine: Machine, what: str) -> None:
    """The call that does it returns in user mode, for good, and the program goes on there."""
    assert rights(machine, what) == ["cpl 0", "cpl 3"]


@pytest.mark.parametrize("what", ["threads", "one-thread"])
def test_threads(machine: Machine, what: str) -> None:
    """Who shares memory with the one that gave them up leaves too, whatever it does."""
    for _ in range(rounds(5, 2)):
        assert rights(machine, what) == ["cpl 0", "threads at 0: 0 at 3: 4", "cpl 3"]


def test_children_with_fewer(machine: Machine) -> None:
    """From clone() on in user mode; with the memory of the trusted parent they cannot be."""
    assert rights(machine, "child") == ["cpl 0", "child cpl 3", "cpl 0"]
    assert rights(machine, "sharing") == ["cpl 0", "child killed by 9", "cpl 0"]


def test_direct_calls(machine: Machine) -> None:
    """kml.h has to be asked again: the way of before is the program's end."""
    assert rights(machine, "direct") == ["cpl 0", "direct yes", "cpl 3", "cpl 3"]
    killed = machine.run(f"{TRUSTED}/kml_rights stale", check=False)
    assert (killed.status, killed.lines[:3]) == (139, ["cpl 0", "direct yes", "cpl 3"])


def test_exec_after(machine: Machine) -> None:
    """Who gave them up does not get kernel mode back, not even from a trusted file."""
    user = "setpriv --reuid 1000 --clear-groups --inh-caps=-all"
    machine.run(f"cp /usr/bin/setpriv {TRUSTED}/")
    before = int(kml.status(machine)["refused"])
    out = machine.run(f"{TRUSTED}/{user} {TRUSTED}/kml_basic 1").lines
    assert out[0] == "cpl 3"
    assert int(kml.status(machine)["refused"]) == before + 1


def test_a_server_and_its_worker(machine: Machine) -> None:
    """As many servers do: the parent stays root's, the child becomes another user."""
    assert kml.both(machine, "/usr/bin/python3", f"{PROGRAMS}/fork_worker.py") == "3\n"


def test_child_without_memory(machine: Machine) -> None:
    """A child that cannot be trusted is killed before it runs; the parent goes on."""
    machine.run(f"echo 1 >{NO_CHILD}")
    assert machine.run(f"{TRUSTED}/bash -c '(exit 0); echo $?'").lines[-1] == "137"
    vfork = "import subprocess; print(subprocess.run(['/bin/true']).returncode)"
    assert machine.run(f'{TRUSTED}/python3 -c "{vfork}"').lines[-1] == "-9"
    # a thread is the program
    thread = "import threading; threading.Thread(target=print).start()"
    assert machine.run(f'{TRUSTED}/python3 -c "{thread}"', check=False).status == 137
    machine.run(f"echo 0 >{NO_CHILD}")
    assert machine.run(f"{TRUSTED}/kml_basic 1").lines[-1] == "child cpl 0"


def test_no_guests(machine: Machine) -> None:
    """A trusted program that would run a guest is killed before it does; another one may."""
    if machine.run("modprobe kvm_amd", check=False).status:
        pytest.skip("the emulated CPU has no virtualization")
    guest = f"{PROGRAMS}/run_guest.py"
    assert machine.run(f"/usr/bin/python3 {guest}").lines == ["ready", "left for 5"]
    killed = machine.run(f"{TRUSTED}/python3 {guest}", check=False)
    assert killed.status == 137 and "left" not in killed.output
    assert "would run a virtual machine in kernel mode: killed" in machine.dmesg()
    assert machine.run(f"/usr/bin/python3 {guest}").lines == ["ready", "left for 5"]


def test_no_kvm_of_intel(machine: Machine) -> None:
    """It would mix up our entry with the kernel's, whatever programs run; on other CPUs it would not load anyway."""
    refused(machine, "modprobe kvm_intel", "busy")
    assert "kvm_intel is not let in" in machine.dmesg()
    assert not machine.run("lsmod | grep kvm_intel", check=False).output


def test_busy(machine: Machine) -> None:
    """Many at once, beside trusted programs that stay."""
    kml.start_sleeper(machine)
    refused(machine, "rmmod shimos_kml", "in use")
    loops = f"for i in 1 2 3 4 5 6; do (for j in 1 2 3; do {TRUSTED}/kml_rights threads; done) & done; wait"
    out = machine.run(loops, timeout=120).lines
    assert out.count("threads at 0: 0 at 3: 4") == 18 and len(out) == 54
    assert kml.status(machine)["tasks"] == "1"
    machine.run(f"pid=$(pgrep -x busybox); kill $pid; {WAIT_FOR} exit $pid")
