"""What the tests of programs in kernel mode share."""

from __future__ import annotations

import re
from typing import Any

from lab import faults
from lab.devices import Disk
from lab.machine import Machine
from lab.programs import programs_disk
from lab.stage import partitions

PROGRAMS = partitions.PROGRAMS
TRUSTED = "/trusted"

#: A root of its own, with real programs; those in its TRUSTED may run in kernel mode.
ROOT = "/programs"
ROOT_DISK = Disk("programs", programs_disk)
#: Before a command that is meant to run there, in user and in kernel mode.
USER = f"chroot {ROOT} /usr/bin/env PATH=/usr/sbin:/usr/bin"
KERNEL = f"chroot {ROOT} /usr/bin/env PATH={TRUSTED}:/usr/sbin:/usr/bin"

#: Waits until some program is trusted.
UNTIL_TRUSTED = f"until {PROGRAMS}/kml_call tasks | grep -q .; do sleep 0.05; done"

#: Programs of the machine that are tried in kernel mode.
REAL = ("/bin/bash", "/bin/busybox", "/usr/bin/python3", "/usr/bin/sqlite3", "/usr/bin/stress-ng")

#: Machines by name. On Intel CPUs without a fix in hardware the kernel isolates page tables.
MACHINES: dict[str, dict[str, Any]] = {
    "6.12": {"kernel": "6.12"},
    "6.1": {"kernel": "6.1"},
    "6.12-intel": {
        "kernel": "6.12",
        "extra": ["-cpu", "max,vendor=GenuineIntel,family=6,model=94,stepping=3,-la57,-erms,-fsrm,-fsrs"],
        "cmdline": "pti=off",
    },
}


def make(**options: Any) -> Machine:
    """Describe a machine, not started, whose host needs nothing of KLoader."""
    usual: dict[str, Any] = {"partitions": [], "load": False, "ipi_broadcast": True}
    machine = Machine(**usual | options)
    # Its interrupts may go through code of ours.
    machine.judged = False
    return machine


def start(parameters: str = "", **options: Any) -> Machine:
    """Start such a machine, with trusted programs and the module; options as for make()."""
    machine = make(**options).start()
    prepare(machine, parameters)
    return machine


def prepare(machine: Machine, parameters: str = "") -> None:
    """Put programs into the trusted directory and load the module."""
    # what is there may be a link to another program
    copy = "cp --remove-destination"
    machine.run(f"mkdir -p {TRUSTED} && {copy} {PROGRAMS}/kml_* {' '.join(REAL)} {TRUSTED}/")
    machine.run(f"modprobe shimos_kml {parameters}")


def mount_root(machine: Machine) -> None:
    """Mount the disk of real programs (ROOT_DISK); what is trusted there is what is trusted here."""
    mounts = " && ".join(f"mount --rbind /{place} {ROOT}/{place}" for place in ("proc", "dev", "sys", "tmp"))
    machine.run(f"mkdir -p {ROOT} && mount {machine.disk(ROOT_DISK.serial)} {ROOT} && {mounts}")
    machine.run(f"ln -s {ROOT}{TRUSTED} {TRUSTED}")


def status(machine: Machine) -> dict[str, str]:
    """Return what the module counts."""
    lines = machine.run(f"{PROGRAMS}/kml_call status").output.splitlines()
    return {name: value for name, _, value in (line.partition(" ") for line in lines)}


def both(machine: Machine, program: str, arguments: str = "", timeout: float = 60) -> str:
    """Run a program in user and in kernel mode; returns its output, which must be the same."""
    user = machine.run(f"{program} {arguments}", timeout=timeout, check=False)
    name = program.rpartition("/")[2]
    kernel = machine.run(f"{TRUSTED}/{name} {arguments}", timeout=timeout, check=False)
    assert (kernel.status, kernel.output) == (user.status, user.output)
    return kernel.output


def start_sleeper(machine: Machine) -> int:
    """Start a trusted program that stays, in the background; it is trusted when this returns its number."""
    trusted = f"{PROGRAMS}/kml_call tasks | grep -qx $!"
    started = f"{TRUSTED}/busybox sleep 1000 >/dev/null 2>&1 & until {trusted}; do sleep 0.05; done; echo $!"
    return int(machine.run(started).lines[-1])


def assert_nothing_left(machine: Machine) -> None:
    """Check what holds after each test: no complaint and no trusted program."""
    assert_clean(machine)
    assert status(machine)["tasks"] == "0", "trusted tasks are left"


def assert_clean(machine: Machine) -> None:
    """Check that the kernel complains of nothing but programs that it killed."""
    log = machine.dmesg()
    since = log[log.find("shimos_kml") :]
    bad = [line for line in faults.unclean(since) if not re.search(r"traps: \S*\w+\[\d+\] ", line)]
    assert not bad, "the kernel log is not clean:\n" + "\n".join(bad)
