"""``shimos trust``, and what the doctor says of kernel mode."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.command import run
from lab.machine import Machine
from lab.stage import kml
from lab.stage.kml import PROGRAMS, TRUSTED
from lab.stage.partitions import WAIT_FOR, initrd_with, refused, remove, start
from tests.support.tiers import REPETITION

BASIC = f"{PROGRAMS}/kml_basic"
RUN = "shimos trust run"


@pytest.fixture(scope="module")
def make_machine() -> Callable[[], Machine]:
    """Return what starts a machine with nothing loaded but KLoader."""

    def make() -> Machine:
        machine = Machine(partitions=["6.1"])
        # Its interrupts go through code of ours once the module is loaded.
        machine.judged = False
        return machine.start()

    return make


@pytest.fixture(autouse=True)
def _clean(request: pytest.FixtureRequest) -> Iterator[None]:
    machine = request.getfixturevalue("machine") if "machine" in request.fixturenames else None
    yield
    if machine:
        kml.assert_clean(machine)


@pytest.fixture
def loaded(machine: Machine) -> Machine:
    machine.run(f"mkdir -p {TRUSTED} && modprobe shimos_kml")
    return machine


def status(machine: Machine) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(machine.run("shimos trust status --json").output)
    return found


def section(machine: Machine) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what the doctor says of kernel mode, and its verdicts by name."""
    report = json.loads(machine.run("shimos doctor --json", check=False).output)["kernel_mode"]
    return report, {check["name"]: check["verdict"] for check in report["checks"]}


def test_not_loaded(machine: Machine) -> None:
    refused(machine, f"{RUN} {BASIC} 1", "shimos_kml is not loaded", "modprobe shimos_kml", status=125)
    assert status(machine) == {"format": 2, "loaded": False}
    assert "modprobe shimos_kml" in machine.run("shimos trust status").output


def test_doctor_before(machine: Machine) -> None:
    """This CPU and kernel can; what is to be done is said. Partitions need none of it."""
    report, verdicts = section(machine)
    assert (report["possible"], report["loaded"]) == (True, False)
    assert {name for name, verdict in verdicts.items() if verdict != "ok"} == {"module", "trusted directory"}
    text = machine.run("shimos doctor").output
    assert "modprobe shimos_kml" in text and f"mkdir -m 755 {TRUSTED}" in text
    # The module refuses without the directory; that is no word against the machine.
    assert machine.run("modprobe shimos_kml", check=False).status != 0
    assert section(machine)[0]["possible"]


def test_doctor_after(loaded: Machine) -> None:
    report, verdicts = section(loaded)
    assert (report["possible"], report["loaded"]) == (True, True)
    assert set(verdicts.values()) == {"ok"}
    assert "Trusted programs run in kernel mode." in loaded.run("shimos doctor").output


def test_run(loaded: Machine) -> None:
    """Outside of the trusted directory, it makes the difference; and it stays the same program."""
    assert loaded.run(f"{BASIC} 1").lines[0] == "cpl 3"
    before = status(loaded)
    assert loaded.run(f"{RUN} {BASIC} 1").lines == ["cpl 0", "calls 1 cpl 0", "child cpl 0"]
    assert status(loaded)["trusted"] == before["trusted"] + 1
    assert loaded.run(f"cd {PROGRAMS} && {RUN} -- ./kml_basic 1").lines[0] == "cpl 0"
    assert loaded.run(f"PATH=/nowhere:{PROGRAMS}:$PATH {RUN} kml_basic 1").lines[0] == "cpl 0"
    # What it execs is not trusted by that.
    assert loaded.run(f"{RUN} bash -c '{BASIC} 1; true'").lines[0] == "cpl 3"
    assert loaded.run(f"{RUN} bash -c 'exit 7'", check=False).status == 7
    script = "import os, sys; print(sys.argv[1:], os.environ['WORD'], sys.stdin.read(), os.getppid())"
    out = loaded.run(f'echo -n in | WORD=env {RUN} python3 -c "{script}" -v --json -- x; echo $$').lines
    assert out[0].startswith("['-v', '--json', '--', 'x'] env in "), out
    # A pipe's reader that goes ends it, as without us.
    assert loaded.run(f"{RUN} bash -c 'yes; echo $? >/tmp/yes' | head -n 1").lines == ["y"]
    assert loaded.run("cat /tmp/yes").output.strip() == "141"


def test_direct_calls_from_rust(loaded: Machine) -> None:
    """Run one binary untrusted and trusted: by SYSCALL, then by direct calls."""
    assert "by SYSCALL (this program is not trusted)" in loaded.run(f"{PROGRAMS}/kml_getpid 1000").output
    before = status(loaded)["calls"]
    assert "getpid by direct call" in loaded.run(f"{RUN} {PROGRAMS}/kml_getpid 1000").output
    assert status(loaded)["calls"] >= before + 1000


def test_status(loaded: Machine) -> None:
    """Processes with their threads, as long as they live."""
    assert status(loaded)["processes"] == []
    program = f"{PROGRAMS}/four_threads.py"
    loaded.run(f"mkfifo /tmp/ready; {RUN} python3 {program} >/dev/null 2>&1 & read ready </tmp/ready")
    found = status(loaded)
    (process,) = found["processes"]
    assert (process["threads"], process["command"]) == (4, f"python3 {program}")
    assert (found["directory"], found["threads"]) == (TRUSTED, 4)
    lines = loaded.run("shimos trust status").lines
    assert lines[-1].split() == [str(process["pid"]), "4", "python3", program]
    # The kernel's own view of one of its calls.
    refused(loaded, "rmmod shimos_kml", "in use")
    loaded.run(f"kill -9 {process['pid']}; {WAIT_FOR} exit {process['pid']}")
    assert status(loaded)["threads"] == 0


def test_last_refusal(loaded: Machine) -> None:
    """What was refused without anybody hearing of it."""
    before = status(loaded)
    loaded.run(f"install -m 775 {BASIC} {TRUSTED}/bad")
    assert loaded.run(f"{TRUSTED}/bad 1").lines[0] == "cpl 3"
    after = status(loaded)
    assert after["refused"] == before["refused"] + 1
    assert after["last_refusal"] == "bad: the file is not root's alone to write"
    assert after["last_refusal"] in loaded.run("shimos trust status").output
    loaded.run(f"rm {TRUSTED}/bad")


#: By name, what the refusal must say and the exit code, which is the one of env.
NO_PROGRAMS = {
    "no-such-program": (("no program 'no-such-program' in PATH", "spelling"), 127),
    "/no/where": (("/no/where", "No such file"), 127),
    "/usr": (("/usr is a directory",), 126),
    "/etc/passwd": (("not executable", "chmod +x"), 126),
    "''": (("empty",), 127),
    "/dev/null": (("device",), 126),
}


@pytest.mark.parametrize(("program", "expected"), NO_PROGRAMS.items(), ids=NO_PROGRAMS)
def test_no_programs(loaded: Machine, program: str, expected: tuple[tuple[str, ...], int]) -> None:
    words, code = expected
    refused(loaded, f"{RUN} {program}", *words, status=code)
    assert loaded.run(f"env {program}", check=False).status == code


@pytest.mark.parametrize(
    ("caller", "words"),
    [
        ("setpriv --reuid 65534 --clear-groups --inh-caps=-all --bounding-set=-all", ("only root", "sudo")),
        ("setpriv --bounding-set -sys_rawio", ("CAP_SYS_RAWIO", "sudo")),
        ("unshare --user --map-root-user", ("user namespace", "container")),
    ],
    ids=["user", "without capability", "user namespace"],
)
def test_callers(loaded: Machine, caller: str, words: tuple[str, ...]) -> None:
    assert "cpl" not in refused(loaded, f"{caller} {RUN} {BASIC} 1", *words, status=125)


def test_status_is_for_root(loaded: Machine) -> None:
    user = "setpriv --reuid 65534 --clear-groups --inh-caps=-all --bounding-set=-all"
    refused(loaded, f"{user} shimos trust status", "only root", status=1)


#: Who may open the device and run programs in kernel mode without being root.
SOMEBODY = "setpriv --reuid 1000 --inh-caps +sys_rawio,+dac_override --ambient-caps +sys_rawio,+dac_override"


@pytest.fixture
def place(loaded: Machine) -> Iterator[str]:
    """Yield a directory on a file system that is not nosuid, as /tmp is."""
    loaded.run("rm -rf /opt/try && mkdir /opt/try")
    yield "/opt/try"
    loaded.run("umount /opt/try/dir 2>/dev/null; rm -rf /opt/try")


@pytest.mark.parametrize(
    ("make", "caller", "words", "gate"),
    [
        ("install -m 775 $BASIC bad", "", ("others than root may write it", "chmod go-w /opt/try/bad"), "root's alone"),
        ("install -o 1000 $BASIC bad", "", ("others than root", "chown root /opt/try/bad"), "root's alone"),
        ("install -m 2755 -g 8 $BASIC bad", "", ("setgid", "more rights", "install -m 755"), "more rights"),
        ("install -m 4755 $BASIC bad", SOMEBODY, ("setuid", "more rights"), "more rights"),
        (
            "mkdir -m 777 dir && install $BASIC dir/bad && ln -s dir/bad bad",
            "",
            ("may write the directory /opt/try/dir", TRUSTED),
            "directory",
        ),
        (
            "mkdir dir && mount -t tmpfs -o nosuid,mode=755 none dir && install $BASIC dir/bad && ln -s dir/bad bad",
            "",
            ("nosuid", "copy"),
            "nosuid",
        ),
    ],
    ids=["writable", "theirs", "setgid", "setuid", "directory", "nosuid"],
)
def test_files(loaded: Machine, place: str, make: str, caller: str, words: tuple[str, ...], gate: str) -> None:
    """The tool says before what the gate would do, and the gate does it."""
    loaded.run(f"cd {place} && BASIC={BASIC} && {make}")
    before = status(loaded)["refused"]
    assert "cpl" not in refused(loaded, f"{caller} {RUN} {place}/bad 1", *words, status=126)
    assert status(loaded)["refused"] == before, "it was not tried"
    assert loaded.run(f"{caller} {PROGRAMS}/kml_call exec {place}/bad 1").lines[0] == "cpl 3"
    after = status(loaded)
    assert after["refused"] == before + 1 and gate in after["last_refusal"]


def test_what_is_no_objection(loaded: Machine, place: str) -> None:
    """A setuid program of root's is an ordinary one for root; and a sticky directory protects."""
    loaded.run(f"mkdir -m 1777 {place}/dir && install -m 4755 {BASIC} {place}/dir/own")
    assert loaded.run(f"{RUN} {place}/dir/own 1").lines[0] == "cpl 0"


def test_scripts(loaded: Machine) -> None:
    """The interpreter would be what runs in kernel mode: that is to be said."""
    loaded.put("/tmp/script", b"#!/bin/bash\necho ran $1\n", 0o755)
    refused(loaded, f"{RUN} /tmp/script", "is a script", "/bin/bash", f"{RUN} /bin/bash /tmp/script", status=126)
    assert loaded.run(f"{RUN} /bin/bash /tmp/script x").lines == ["ran x"]
    loaded.put("/tmp/script", b"#!/usr/bin/env python3\n", 0o755)
    refused(loaded, f"{RUN} /tmp/script", f"{RUN} python3 /tmp/script", status=126)
    loaded.put("/tmp/script", b"just text\n", 0o755)
    refused(loaded, f"{RUN} /tmp/script", "no ELF program", status=126)


def test_32_bit(loaded: Machine, place: str, tmp_path: Path) -> None:
    source = tmp_path / "exit.c"
    source.write_text('void _start(void) { asm("int $0x80" : : "a"(1), "b"(3)); }\n')
    small = ("-nostdlib", "-static", "-s", "-Wl,-z,noseparate-code,--build-id=none")
    run("gcc", "-m32", *small, "-fno-asynchronous-unwind-tables", "-o", tmp_path / "exit", source)
    loaded.put(f"{place}/exit32", (tmp_path / "exit").read_bytes(), 0o755)
    refused(loaded, f"{RUN} {place}/exit32", "32-bit", "x86-64", status=126)
    assert loaded.run(f"{PROGRAMS}/kml_call exec {place}/exit32", check=False).status == 3
    assert status(loaded)["last_refusal"] == "exit32: not a 64-bit program"


def test_a_failed_exec(loaded: Machine, place: str) -> None:
    """What only exec finds: an error, and nothing is left."""
    loaded.run(f"cd {place} && mkdir dir && mount -t tmpfs -o noexec,mode=755 none dir && cp {BASIC} dir/")
    program = f"{place}/dir/kml_basic"
    refused(loaded, f"{RUN} {program}", f"cannot run {program}", "Permission denied", status=126)
    assert loaded.run(f"{BASIC} 1").lines[0] == "cpl 3"


def test_in_a_partition(loaded: Machine) -> None:
    """Trust a program inside a partition; what the host trusts is not trusted there."""
    version = loaded.versions["6.1"]
    files = {
        "/usr/bin/shimos": "/usr/bin/shimos",
        "/modules/shimos_kml.ko": f"/usr/lib/modules/{version}/updates/dkms/shimos_kml.ko",
        "/usr/bin/kml_basic": "kml_basic",
        "/usr/bin/kml_getpid": "kml_getpid",
    }
    start(loaded, more=f"--initrd {initrd_with(loaded, '6.1', files)}")
    console = loaded.partition("web")
    refusal = console.run(f"{RUN} kml_basic 1", check=False)
    assert refusal.status == 125 and "shimos_kml is not loaded" in refusal.output
    report = json.loads(console.run("shimos doctor --json", check=False).output)["kernel_mode"]
    # No module is installed in this partition, and that is all.
    assert [c["name"] for c in report["checks"] if c["verdict"] == "fail"] == ["module"]

    console.run(f"mkdir {TRUSTED} && insmod /modules/shimos_kml.ko")
    assert console.run(f"{RUN} kml_basic 1").lines == ["cpl 0", "calls 1 cpl 0", "child cpl 0"]
    assert "by direct call" in console.run(f"{RUN} kml_getpid 1000").output
    assert console.run("kml_basic 1").lines[0] == "cpl 3"
    found = json.loads(console.run("shimos trust status --json").output)
    assert (found["trusted"], found["refused"], found["threads"]) == (2, 0, 0)
    report = json.loads(console.run("shimos doctor --json", check=False).output)["kernel_mode"]
    assert (report["possible"], report["loaded"]) == (True, True)
    console.close()
    remove(loaded)


@pytest.mark.parametrize("kernel", ["6.12", pytest.param("6.1", marks=REPETITION)])
def test_doctor_where_it_cannot_be(kernel: str) -> None:
    """An Intel CPU whose kernel isolates page tables, then lockdown: each by itself."""
    options = {**kml.MACHINES["6.12-intel"], "cmdline": "", "kernel": kernel}
    with kml.make(**options) as machine:
        report, verdicts = section(machine)
        assert not report["possible"]
        assert [name for name, verdict in verdicts.items() if verdict == "fail"] == ["PTI"]
        text = machine.run("shimos doctor", check=False).output
        assert "page table isolation is on" in text and "pti=off" in text
        # And the module says the same.
        machine.run(f"mkdir {TRUSTED}")
        assert machine.run("modprobe shimos_kml", check=False).status != 0
        (check,) = [c for c in section(machine)[0]["checks"] if c["name"] == "module"]
        assert check["verdict"] == "fail" and "page table isolation" in check["found"]

        machine.run("mountpoint -q /sys/kernel/security || mount -t securityfs none /sys/kernel/security")
        machine.run("echo integrity >/sys/kernel/security/lockdown")
        _, verdicts = section(machine)
        assert [name for name, verdict in verdicts.items() if verdict == "fail"] == ["PTI", "lockdown", "module"]
