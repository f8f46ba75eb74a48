"""Devices that a program serves: Linux's vhost_vsock and Debian's virtiofsd, as they are for virtual machines.

``shimos run``, ``attach`` and ``detach`` with --fs, --vsock and --vhost-user; each device has a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.devices import SERVERS, WITH_DAEMON, until_unserved
from lab.stage.disks import stock_modules
from lab.stage.partitions import PROGRAMS, Resources, initrd_with, refused, remove, run_command
from tests.support.tiers import REPETITION

CHECK = "vsock_check"
CID, HOST, PORT = 42, 2, 1234
MIB = 1 << 20
#: After a start; some of the modules are there already.
LOAD = "for m in /modules/*; do [ ! -e $m ] || insmod $m 2>/dev/null; done"
SERVE = f"{LOAD}; /{CHECK} serve {PORT}"
SHARED = "/tmp/shared"
MOUNT = f"{LOAD}; mkdir -p /s && mount -t virtiofs www /s"
UNTIL_NONE = "until shimos devices --json | grep -q '\"devices\": \\[\\]'; do :; done"


@contextmanager
def partition(machine: Machine, flavour: str, module: str, load: str, devices: str) -> Iterator[PartitionConsole]:
    """Start a partition with a device that a program serves, and load its driver; all is gone at the end."""
    machine.run("modprobe -a vhost_vsock shimos_backend")
    before = Resources(machine)
    initrd = initrd_with(machine, flavour, {f"/{CHECK}": CHECK, **stock_modules(machine, flavour, module)})
    machine.run(
        f"{WITH_DAEMON} {run_command(machine, flavour=flavour, more=f'--initrd {initrd} {devices}')}", timeout=180
    )
    shell = machine.partition("web")
    shell.run(load)
    yield shell
    machine.release_consoles()
    remove(machine)
    until_unserved(machine)
    machine.run(f"rm -rf {initrd} {SHARED}")
    before.assert_back()
    machine.assert_dmesg_clean()


def restart(machine: Machine, load: str) -> PartitionConsole:
    """Restart the partition, which was given the same device again; returns its shell."""
    machine.release_consoles()
    machine.run("shimos kill web")
    machine.run("shimos restart web", timeout=120)
    shell = machine.partition("web")
    shell.run(load)
    return shell


# vsock --------------------------------------------------------------------


@contextmanager
def vsock(machine: Machine, flavour: str, option: str = f"--vsock={CID}") -> Iterator[PartitionConsole]:
    """Start a partition with a vsock, and servers on both sides."""
    machine.run(f"modprobe vhost_vsock && {PROGRAMS}/{CHECK} serve {PORT}")
    with partition(machine, flavour, "vmw_vsock_virtio_transport", SERVE, option) as shell:
        yield shell
    machine.run(f"pkill -x {CHECK}")


def exchange(machine: Machine, shell: PartitionConsole, size: int = MIB, cid: int = CID) -> None:
    """Send data there and back, from both sides."""
    assert machine.run(f"{PROGRAMS}/{CHECK} {cid} {PORT} {size}", timeout=60).output == f"ok {size}\n"
    assert shell.run(f"/{CHECK} {HOST} {PORT} {size}", timeout=60).output == f"ok {size}\n"


@pytest.mark.parametrize("flavour", ["6.1", pytest.param("6.12", marks=REPETITION)])
def test_vsock(machine: Machine, flavour: str) -> None:
    """Sockets both ways, over a restart of the partition, and taken away while it runs."""
    with vsock(machine, flavour) as first:
        exchange(machine, first)
        assert f"vsock  {CID}" in machine.run("shimos devices").output
        shell = restart(machine, SERVE)
        exchange(machine, shell)
        refused(machine, f"shimos attach web --vsock={CID + 1}", "it has one already", "shimos detach web --id")
        machine.run("shimos detach web --vsock --force")
        gone = shell.run(f"/{CHECK} {HOST} {PORT} 1", check=False)
        assert gone.status == 1 and "No such device" in gone.output, gone.output
        # the first one that is free
        machine.run("shimos attach web --vsock")
        exchange(machine, shell, 100, cid=3)


def test_the_program_is_killed(machine: Machine) -> None:
    """Its device goes with it: the partition's sockets end, and nothing keeps the memory."""
    with vsock(machine, "6.12") as shell:
        exchange(machine, shell, 100)
        machine.run(f"kill -9 $({SERVERS}); {UNTIL_NONE}")
        gone = shell.run(f"/{CHECK} {HOST} {PORT} 1", check=False)
        assert gone.status == 1 and "No such device" in gone.output, gone.output


def test_the_program_hangs(machine: Machine) -> None:
    """It is asked to stop and does not: after 10 s its mappings are taken away, and the memory is the host's again."""
    taken_away = "its program does not stop; the memory is taken away from it"
    with vsock(machine, "6.1") as shell:
        exchange(machine, shell, 100)
        machine.run(
            f"kill -STOP $({SERVERS}); (until dmesg | grep -q"
            f" '{taken_away}'; do sleep 0.1; done; kill -CONT $({SERVERS})) >/dev/null 2>&1 &"
        )
    assert taken_away in machine.dmesg()


# A file system ------------------------------------------------------------


@contextmanager
def shared_directory(machine: Machine, flavour: str, device: str) -> Iterator[PartitionConsole]:
    """Start a partition that has a directory of the host's at /s."""
    machine.run(f"mkdir -p {SHARED} && head -c {MIB} /dev/urandom >{SHARED}/data")
    with partition(machine, flavour, "virtiofs", MOUNT, device) as shell:
        yield shell


def compare(machine: Machine, shell: PartitionConsole, name: str) -> None:
    """Read a file on the host, write another one there; both sides see the same."""
    assert shell.run("md5sum </s/data").output == machine.run(f"md5sum <{SHARED}/data").output
    shell.run(f"head -c {MIB} /dev/urandom >/s/{name} && sync /s/{name}")
    assert shell.run(f"md5sum </s/{name}").output == machine.run(f"md5sum <{SHARED}/{name}").output


@pytest.mark.parametrize("flavour", [pytest.param("6.1", marks=REPETITION), "6.12"])
def test_file_system(machine: Machine, flavour: str) -> None:
    """A directory of the host, over a restart of the partition; another one, which it may only read, while it runs."""
    with shared_directory(machine, flavour, f"--fs {SHARED},tag=www") as first:
        compare(machine, first, "before")
        shell = restart(machine, MOUNT)
        compare(machine, shell, "after")
        refused(machine, f"shimos attach web --fs {SHARED},tag=www", "it has one already")
        machine.run(f"{WITH_DAEMON} shimos attach web --fs {SHARED},tag=more,ro")
        shell.run("mkdir /more && mount -t virtiofs more /more && cmp /s/data /more/data")
        denied = shell.run("touch /more/x", check=False)
        assert denied.status and "Read-only" in denied.output, denied.output
        shell.run("umount /more")
        machine.run("shimos detach web --fs more")


def test_the_daemon_is_killed(machine: Machine) -> None:
    """Its device goes with it, and the host's log says why; what reads there gets errors."""
    with shared_directory(machine, "6.12", f"--fs {SHARED},tag=www") as shell:
        compare(machine, shell, "before")
        machine.run(f"echo late >{SHARED}/late; pkill -9 -x virtiofsd; {UNTIL_NONE}")
        lost = shell.run("cat /s/late", check=False)
        assert lost.status and "No such file" not in lost.output, lost.output
        assert "fs www for web: virtiofsd has ended: signal: 9" in machine.dmesg()


def test_a_daemon_of_ones_own(machine: Machine) -> None:
    """One that listens already serves as well, and is not ended by us."""
    socket = "/tmp/virtiofsd.socket"
    machine.run(
        f"mkdir -p {SHARED} && ({PROGRAMS}/virtiofsd --socket-path {socket} --shared-dir {SHARED} >/tmp/virtiofsd 2>&1 &)"
        f" && until [ -S {socket} ]; do sleep 0.05; done"
    )
    with shared_directory(machine, "6.12", f"--vhost-user {socket},type=fs,tag=www") as shell:
        compare(machine, shell, "file")


def test_refusals(machine: Machine) -> None:
    """Nothing is left of a partition whose devices cannot be served."""
    initrd = initrd_with(machine, "6.1", {})
    with_devices = "shimos run web --cpus 1 --memory 224M --initrd {} {}"

    def no(options: str, *words: str) -> None:
        refused(machine, with_devices.format(initrd, options), *words)
        refused(machine, "shimos show web", "there is no")

    no("--fs /nonexistent,tag=a", "cannot use the directory '/nonexistent'", "No such file")
    no("--fs /etc/passwd,tag=a", "is not a directory", "--disk")
    no("--fs /tmp,tag=a --fs /etc,tag=a", "tag a is given twice")
    no("--vhost-user /tmp/nothing,type=fs,tag=a", "cannot use the socket")
    no("--fs /tmp,tag=a", "there is no virtiofsd", "apt install virtiofsd")
    machine.run(f"rm {initrd}")
