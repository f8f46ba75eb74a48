"""Devices that a program serves: Linux's vhost_vsock and Debian's virtiofsd, as they are for virtual machines.

What they stand on is a partition's memory that is mapped by page numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.disks import stock_modules
from lab.stage.partitions import PROGRAMS, Resources, initrd_with, remove, start
from tests.support.tiers import REPETITION

CHECK = "vsock_check"
CID, HOST, PORT = 42, 2, 1234
MIB = 1 << 20
#: What the program says that serves.
SAID = "/tmp/served"
#: After a start; some of the modules are there already.
LOAD = "for m in /modules/*; do [ ! -e $m ] || insmod $m 2>/dev/null; done"
SERVE = f"{LOAD}; /{CHECK} serve {PORT}"
SHARED, SOCKET = "/tmp/shared", "/tmp/virtiofsd.socket"
MOUNT = f"{LOAD}; mkdir -p /s && mount -t virtiofs www /s"


def wait_said(machine: Machine, word: str, count: int) -> None:
    """Wait until the program has said something so often."""
    machine.run(f"until [ $(grep -c {word} {SAID}) = {count} ]; do sleep 0.05; done", timeout=30)


@contextmanager
def served(machine: Machine, flavour: str, program: str, module: str, load: str) -> Iterator[PartitionConsole]:
    """Start a partition with a device that a program serves, and load its driver; all is gone at the end."""
    machine.run("modprobe -a vhost_vsock shimos_backend")
    before = Resources(machine)
    initrd = initrd_with(machine, flavour, {f"/{CHECK}": CHECK, **stock_modules(machine, flavour, module)})
    start(machine, flavour=flavour, more=f"--initrd {initrd}")
    machine.run(f"({PROGRAMS}/{program} >{SAID} 2>&1 &)")
    shell = machine.partition("web")
    shell.run(load)
    wait_said(machine, "started", 1)
    yield shell
    machine.release_consoles()
    remove(machine)
    machine.run(f"while pgrep -x {program.split()[0]}; do sleep 0.05; done; rm -rf {initrd} /tmp/tree-* {SHARED}")
    before.assert_back()
    machine.assert_dmesg_clean()


def restart(machine: Machine, load: str) -> PartitionConsole:
    """Restart the partition, which was given the same device again; returns its shell."""
    machine.release_consoles()
    machine.run("shimos kill web")
    wait_said(machine, "stopped", 1)
    machine.run("shimos restart web", timeout=120)
    shell = machine.partition("web")
    shell.run(load)
    wait_said(machine, "started", 2)
    return shell


# vsock --------------------------------------------------------------------


@contextmanager
def vsock(machine: Machine, flavour: str) -> Iterator[PartitionConsole]:
    """Start a partition with a vsock, and servers on both sides."""
    machine.run(f"modprobe vhost_vsock && {PROGRAMS}/{CHECK} serve {PORT}")
    with served(machine, flavour, f"vsock_bridge 1 {CID}", "vmw_vsock_virtio_transport", SERVE) as shell:
        yield shell
    machine.run(f"pkill -x {CHECK}")


def exchange(machine: Machine, shell: PartitionConsole, size: int = MIB) -> None:
    """Send data there and back, from both sides."""
    assert machine.run(f"{PROGRAMS}/{CHECK} {CID} {PORT} {size}", timeout=60).output == f"ok {size}\n"
    assert shell.run(f"/{CHECK} {HOST} {PORT} {size}", timeout=60).output == f"ok {size}\n"


@pytest.mark.parametrize("flavour", ["6.1", pytest.param("6.12", marks=REPETITION)])
def test_vsock(machine: Machine, flavour: str) -> None:
    """Sockets both ways, over a restart of the partition; its end is the program's."""
    with vsock(machine, flavour) as shell:
        exchange(machine, shell)
        exchange(machine, restart(machine, SERVE))


def test_the_program_is_killed(machine: Machine) -> None:
    """Its device goes with it: the partition's sockets end, and nothing keeps the memory."""
    with vsock(machine, "6.12") as shell:
        exchange(machine, shell, 100)
        machine.run("pkill -9 -x vsock_bridge; until shimos devices --json | grep -q '\"devices\": \\[\\]'; do :; done")
        gone = shell.run(f"/{CHECK} {HOST} {PORT} 1", check=False)
        assert gone.status == 1 and "No such device" in gone.output, gone.output


def test_the_program_hangs(machine: Machine) -> None:
    """It is asked to stop and does not: after 10 s its mappings are taken away, and the memory is the host's again."""
    taken_away = "its program does not stop; the memory is taken away from it"
    with vsock(machine, "6.1") as shell:
        exchange(machine, shell, 100)
        machine.run(
            "pkill -STOP -x vsock_bridge; (until dmesg | grep -q"
            f" '{taken_away}'; do sleep 0.1; done; pkill -CONT -x vsock_bridge) >/dev/null 2>&1 &"
        )
    assert taken_away in machine.dmesg()


# A file system ------------------------------------------------------------


@contextmanager
def shared_directory(machine: Machine, flavour: str) -> Iterator[PartitionConsole]:
    """Start a partition that has a directory of the host's at /s."""
    machine.run(
        f"mkdir -p {SHARED} && head -c {MIB} /dev/urandom >{SHARED}/data && ({PROGRAMS}/virtiofsd --sandbox none"
        f" --seccomp none --socket-path {SOCKET} --shared-dir {SHARED} >/tmp/virtiofsd 2>&1 &)"
        f" && until [ -S {SOCKET} ]; do sleep 0.05; done"
    )
    with served(machine, flavour, f"fs_bridge 1 {SOCKET} www", "virtiofs", MOUNT) as shell:
        yield shell
    machine.run("while pgrep -x virtiofsd; do sleep 0.05; done")


def compare(machine: Machine, shell: PartitionConsole, name: str) -> None:
    """Read a file on the host, write another one there; both sides see the same."""
    assert shell.run("md5sum </s/data").output == machine.run(f"md5sum <{SHARED}/data").output
    shell.run(f"head -c {MIB} /dev/urandom >/s/{name} && sync /s/{name}")
    assert shell.run(f"md5sum </s/{name}").output == machine.run(f"md5sum <{SHARED}/{name}").output


@pytest.mark.parametrize("flavour", [pytest.param("6.1", marks=REPETITION), "6.12"])
def test_file_system(machine: Machine, flavour: str) -> None:
    """A directory of the host, over a restart of the partition; virtiofsd ends with the device."""
    with shared_directory(machine, flavour) as shell:
        compare(machine, shell, "before")
        compare(machine, restart(machine, MOUNT), "after")
