"""`shimos selftest`: a ladder whose rungs are on disk before they are climbed, and which gives back what it takes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from lab.devices import Disk
from lab.machine import LAB_INITRD, Machine
from lab.stage.partitions import MEMORY, WAIT_FOR, Resources, refused
from tests.support.tiers import late

pytestmark = late("its rungs are what other tests do")

RUNGS = ("checks", "cpu", "memory", "parking", "kernel", "doorbell", "all")
DIRECTORY = "/var/lib/shimos/selftest"
REPORT = f"{DIRECTORY}/report.txt"


def selftest(machine: Machine, more: str = "") -> str:
    """Return the command, with a kernel that boots soon."""
    return f"shimos selftest --memory {MEMORY} --kernel {machine.vmlinux('6.1')} --initrd {LAB_INITRD} {more}".strip()


def rungs(text: str) -> list[str]:
    """Return the rungs that were told, in their order."""
    return re.findall(r"^\d\. (\w+): ", text, re.MULTILINE)


def test_ladder(machine: Machine) -> None:
    """Each rung is told and passed; the report has the machine, and the host has everything again."""
    before = Resources(machine)
    out = machine.run(selftest(machine), timeout=300).output
    assert rungs(out) == list(RUNGS)
    assert out.count("  passed, ") == len(RUNGS), out
    report = machine.run(f"cat {REPORT}").output
    assert rungs(report) == list(RUNGS)
    for wanted in ("kernel: Linux version", "ACPI tables: ", "APIC ", "parameters: ", "model name: "):
        assert wanted in report, report
    # A CPU that was parked without a kernel said nothing, and KLoader has seen it.
    assert "selftest" in machine.dmesg()
    before.assert_back()
    machine.assert_dmesg_clean()


def test_up_to_a_rung(machine: Machine) -> None:
    out = machine.run(selftest(machine, "--to memory")).output
    assert rungs(out) == list(RUNGS[:3])
    assert f"All is well up to 'memory'. The report is {REPORT}." in out
    refused(machine, selftest(machine, "--to roof"), "roof", "parking", status=2)


def test_one_that_did_not_come_back(machine: Machine) -> None:
    """Whoever is killed on a rung leaves its name; the next one says so, and goes on behind it."""
    before = Resources(machine)
    record = f"{DIRECTORY}/rung.json"
    climbing = '"rung":"kernel",.*"state":"climbing"'
    machine.run(
        f"rm -rf {DIRECTORY}; {selftest(machine)} >/tmp/first 2>&1 & "
        f"until grep -q '{climbing}' {record} 2>/dev/null; do sleep 0.05; done; kill -KILL $!; wait $!",
        check=False,
        timeout=60,
    )
    # What it had started goes on by itself; the next one must not be taken for it.
    state = "/sys/class/shimos/selftest/state"
    machine.run(f"{WAIT_FOR} -t 60 file {state} && {WAIT_FOR} -t 60 value running {state}", timeout=150)
    left = json.loads(machine.run(f"cat {record}").output)
    assert (left["rung"], left["state"]) == ("kernel", "climbing")
    refused(machine, selftest(machine), "did not come back from rung 'kernel'", "was ended there", "--continue")
    refused(machine, selftest(machine, "--anew"), "there is a partition 'selftest'", "shimos rm --force selftest")
    machine.run("shimos rm --force selftest")
    out = machine.run(selftest(machine, "--continue --to doorbell"), timeout=120).output
    assert rungs(out) == ["doorbell"]
    report = machine.run(f"cat {REPORT}").output
    assert rungs(report) == list(RUNGS[:6]), "the first one's report is kept"
    before.assert_back()
    machine.assert_dmesg_clean()


def test_a_machine_that_went_down(machine: Machine) -> None:
    """It is told from a tool that was killed by the kernel's own id of its boot."""
    machine.run(f"mkdir -p {DIRECTORY}")
    record = '{"rung":"checks","boot":"another","state":"climbing"}'
    machine.put(f"{DIRECTORY}/rung.json", record.encode())
    refused(machine, selftest(machine), "'checks'", "the machine has been started anew since", "--continue")
    out = machine.run(selftest(machine, "--continue --to cpu")).output
    assert rungs(out) == ["cpu"]
    machine.put(f"{DIRECTORY}/rung.json", b"{")
    refused(machine, selftest(machine), "rung.json is damaged", "remove it")
    machine.run(f"rm {DIRECTORY}/rung.json")
    refused(machine, selftest(machine, "--continue"), "there is no selftest to continue")


def image_of(machine: Machine, serial: str) -> str:
    """Return where the emulator keeps a disk."""
    blocks = machine.qmp("query-block")
    return str(next(block["inserted"]["file"] for block in blocks if block["device"] == f"drive-{serial}"))


class _Cold(Machine):
    """What it writes is in a file: a template's clone writes into one without a name."""

    TEMPLATES = False


def test_a_power_cut(tmp_path: Path) -> None:
    """The rung is on the disk before it is climbed, so the next start of the machine says which it was."""
    more = "--directory /mnt/selftest"
    with _Cold(disks=[Disk("kept", "16M")]) as machine:
        disk = machine.disk("kept")
        machine.run(f"mkfs.ext4 -q {disk} && mount {disk} /mnt && sync")
        machine.run(f"{selftest(machine, more)} >/tmp/first 2>&1 & {WAIT_FOR} text '4. parking' /tmp/first")
        image = image_of(machine, "kept")
        machine.emulator.stop()
        shutil.copy(image, tmp_path / "kept")
    with Machine(disks=[Disk("kept", tmp_path / "kept", late=True)]) as again:
        again.run(f"mount {again.disk('kept')} /mnt")
        rung = json.loads(again.run("cat /mnt/selftest/rung.json").output)["rung"]
        assert RUNGS.index(rung) >= RUNGS.index("parking")
        said = refused(again, selftest(again, more), "did not come back from rung", "been started anew since")
        assert f"'{rung}'" in said
        behind = RUNGS[RUNGS.index(rung) + 1 :]
        out = again.run(selftest(again, f"{more} --continue"), timeout=300).output
        assert tuple(rungs(out)) == behind
        report = again.run("cat /mnt/selftest/report.txt").output
        assert tuple(rungs(report)) == RUNGS, "the first one's report is kept"


@pytest.mark.parametrize(
    ("more", "rung", "words"),
    [
        ("--memory 100G", "memory", ("available",)),
        ("--kernel /etc/hostname", "kernel", ("not a Linux kernel",)),
    ],
)
def test_a_rung_that_fails(machine: Machine, more: str, rung: str, words: tuple[str, ...]) -> None:
    """It is said why, the host has everything again, and the report has the kernel's log."""
    before = Resources(machine)
    said = refused(
        machine, f"shimos selftest --memory {MEMORY} {more}".replace(f"--memory {MEMORY} --memory", "--memory"), *words
    )
    assert f"rung '{rung}'" in said and "--continue" in said, said
    report = machine.run(f"cat {REPORT}").output
    assert "FAILED after" in report and "the kernel's log:" in report
    before.assert_nothing_taken()
