"""Who may run what in kernel mode, and which machines can."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from lab.machine import Machine
from lab.stage import kml
from lab.stage.kml import PROGRAMS, TRUSTED

USER = "setpriv --reuid 1000 --regid 1000 --clear-groups"


@pytest.fixture(scope="module")
def make_machine() -> Callable[[], Machine]:
    """Return what starts a machine with trusted programs and the module."""
    return kml.start


@pytest.fixture(autouse=True)
def _clean(request: pytest.FixtureRequest) -> Iterator[None]:
    machine = request.getfixturevalue("machine") if "machine" in request.fixturenames else None
    yield
    if machine:
        kml.assert_clean(machine)


def mode(machine: Machine, command: str) -> str:
    """Return in which mode kml_basic runs, started so."""
    return machine.run(command).lines[0]


def refusal(machine: Machine, command: str) -> str:
    """Return the reason why it was not trusted; it must have run nevertheless, in user mode."""
    before = int(kml.status(machine)["refused"])
    assert mode(machine, command) == "cpl 3"
    after = kml.status(machine)
    assert int(after["refused"]) == before + 1
    return after["reason"]


def copy(machine: Machine, name: str, then: str) -> str:
    """Copy kml_basic below the trusted directory and change that; returns how to call it."""
    machine.run(f"mkdir -p {TRUSTED}/sub && install {PROGRAMS}/kml_basic {TRUSTED}/{name} && cd {TRUSTED} && {then}")
    return f"{TRUSTED}/{name} 1"


def test_below(machine: Machine) -> None:
    assert mode(machine, copy(machine, "sub/program", ":")) == "cpl 0"
    assert mode(machine, f"{PROGRAMS}/kml_basic 1") == "cpl 3"
    # What a link leads to counts, not where it is.
    assert mode(machine, f"ln -sf {PROGRAMS}/kml_basic {TRUSTED}/link; {TRUSTED}/link 1") == "cpl 3"
    assert mode(machine, f"ln -sf {TRUSTED}/kml_basic /tmp/link; /tmp/link 1") == "cpl 0"


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        ("chmod g+w bad", "root's alone"),
        ("chmod o+w bad", "root's alone"),
        ("chown 1000 bad", "root's alone"),
    ],
    ids=["group", "others", "theirs"],
)
def test_file_of_others(machine: Machine, then: str, reason: str) -> None:
    assert reason in refusal(machine, copy(machine, "bad", then))


def test_directory_of_others(machine: Machine) -> None:
    command = copy(machine, "sub/bad", "chmod o+w sub")
    assert "directory" in refusal(machine, command)
    machine.run(f"chmod o-w {TRUSTED}/sub")


def test_mounted_there(machine: Machine) -> None:
    """Another file system below the directory is not the directory's."""
    machine.run(f"mkdir -p {TRUSTED}/mnt; mount -t tmpfs none {TRUSTED}/mnt; cp {PROGRAMS}/kml_basic {TRUSTED}/mnt/")
    assert mode(machine, f"{TRUSTED}/mnt/kml_basic 1") == "cpl 3"
    machine.run(f"umount {TRUSTED}/mnt")


def test_callers(machine: Machine) -> None:
    """Only who may load modules; with whatever libraries, others never."""
    assert "CAP_SYS_RAWIO" in refusal(machine, f"{USER} {TRUSTED}/kml_basic 1")
    assert "CAP_SYS_RAWIO" in refusal(machine, f"setpriv --bounding-set -sys_rawio {TRUSTED}/kml_basic 1")
    assert "CAP_SYS_RAWIO" in refusal(machine, f"unshare --user --map-root-user {TRUSTED}/kml_basic 1")
    preload = f"{USER} env LD_PRELOAD=libm.so.6 {TRUSTED}/bash -c 'exec {PROGRAMS}/kml_basic 1'"
    assert "CAP_SYS_RAWIO" in refusal(machine, preload)


def test_programs_with_rights(machine: Machine) -> None:
    command = copy(machine, "setuid", "chmod u+s setuid")
    assert "more rights" in refusal(machine, f"{USER} {command}")
    assert mode(machine, command) == "cpl 0"


def test_trust_for_one_exec(machine: Machine) -> None:
    """As `shimos trust run`: any file of root's, for one exec, if the caller may."""
    run = f"{PROGRAMS}/kml_call exec"
    assert mode(machine, f"{run} {PROGRAMS}/kml_basic 1") == "cpl 0"
    assert mode(machine, f"{run} /bin/sh -c '{PROGRAMS}/kml_basic 1; true'") == "cpl 3"
    machine.run(f"install -o 1000 {PROGRAMS}/kml_basic /tmp/theirs")
    assert "root's alone" in refusal(machine, f"{run} /tmp/theirs 1")
    denied = machine.run(f"setpriv --bounding-set -sys_rawio {run} {PROGRAMS}/kml_basic 1", check=False)
    assert denied.status == 1 and "not permitted" in denied.output.lower()


def test_nobody_looks_into_it(machine: Machine) -> None:
    """Not dumpable, so that after a change of its user others cannot trace it."""
    ask = '-c "import ctypes; print(ctypes.CDLL(None).prctl(3))"'
    assert machine.run(f"/usr/bin/python3 {ask}").output.strip() == "1"
    assert machine.run(f"{TRUSTED}/python3 {ask}").output.strip() == "2"


def test_device(machine: Machine) -> None:
    assert machine.run("stat -c %a%U /dev/shimos-kml").output.strip() == "600root"


def test_no_directory(machine: Machine) -> None:
    machine.run("rmmod shimos_kml; mkdir -p /other; chmod o+w /other")
    for directory, reason in (("/nowhere", "no directory /nowhere"), ("/other", "nobody else's to write")):
        assert machine.run(f"modprobe shimos_kml directory={directory}", check=False).status != 0
        assert reason in machine.dmesg()
    machine.run(f"chmod o-w /other; cp {PROGRAMS}/kml_basic /other; modprobe shimos_kml directory=/other")
    assert mode(machine, "/other/kml_basic 1") == "cpl 0"
    assert mode(machine, f"{TRUSTED}/kml_basic 1") == "cpl 3"
    machine.run("rmmod shimos_kml; modprobe shimos_kml")


def test_lockdown(machine: Machine) -> None:
    """Refuse trust once the kernel is locked down; the last test, for there is no way back."""
    assert mode(machine, f"{TRUSTED}/kml_basic 1") == "cpl 0"
    machine.run("mountpoint -q /sys/kernel/security || mount -t securityfs none /sys/kernel/security")
    machine.run("echo integrity >/sys/kernel/security/lockdown")
    assert "locked down" in refusal(machine, f"{TRUSTED}/kml_basic 1")


def test_page_table_isolation() -> None:
    """Refuse to load where page tables are isolated, with the reason and what to do."""
    options = {**kml.MACHINES["6.12-intel"], "cmdline": "pti=on"}
    with kml.make(**options) as machine:
        machine.run(f"mkdir -p {TRUSTED}")
        assert machine.run("modprobe shimos_kml", check=False).status != 0
        assert "refused: page table isolation is on" in machine.dmesg()
        assert "pti=off" in machine.dmesg()
