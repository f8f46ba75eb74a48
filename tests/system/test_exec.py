"""``shimos exec`` and ``shimos cp``: programs in a partition, started from the host over a vsock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.machine import Machine
from lab.stage.disks import stock_modules
from lab.stage.partitions import Resources, initrd_with, refused, remove, start
from tests.support.terminals import follows_size
from tests.support.tiers import REPETITION, rounds

LOAD = "for m in /modules/*; do [ ! -e $m ] || insmod $m 2>/dev/null; done"
#: As in a script: it must not read what the shell is to read.
EXEC = "</dev/null shimos exec --no-tty"
SLEEPS = f"{EXEC} web -- sh -c 'grep -qsx sleep /proc/[0-9]*/comm'"
UNTIL_SLEEPS = f"until {SLEEPS}; do sleep 0.1; done"


@contextmanager
def partition(machine: Machine, flavour: str) -> Iterator[None]:
    """Start one with a vsock and our service."""
    machine.run("modprobe -a vhost_vsock shimos_backend")
    before = Resources(machine)
    modules = stock_modules(machine, flavour, "vmw_vsock_virtio_transport")
    initrd = initrd_with(machine, flavour, {"/bin/shimos": "/usr/bin/shimos", **modules})
    start(machine, flavour=flavour, more=f"--initrd {initrd} --vsock")
    shell = machine.partition("web")
    shell.run(f"{LOAD}; (shimos execd >/tmp/execd 2>&1 &)")
    machine.release_consoles()
    machine.run(f"until {EXEC} web -- true; do sleep 0.1; done", timeout=30)
    yield
    remove(machine)
    machine.run(f"while pgrep -f '^shimos serve'; do sleep 0.05; done; rm -f {initrd}")
    before.assert_back()
    machine.assert_dmesg_clean()


def codes(machine: Machine, flavour: str) -> None:
    """Check exit codes, and that output and errors come apart."""
    assert machine.run(f"{EXEC} web -- uname -r").output.strip() == machine.versions[flavour]
    for words, status in (
        ("web -- true", 0),
        ("web -- sh -c 'exit 7'", 7),
        ("web -- sh -c 'kill -9 $$'", 137),
        ("web -- no-such-program", 127),
        ("web -- /etc", 126),
        ("-w /no/where web -- true", 126),
    ):
        assert machine.run(f"{EXEC} {words}", check=False).status == status, words
    both = f"{EXEC} -e WORD=good -w /proc web -- sh -c 'pwd; echo $WORD; echo bad >&2'"
    assert machine.run(f"{both} 2>/dev/null").output == "/proc\ngood\n"
    assert machine.run(f"{both} >/dev/null").output == "bad\n"


def strangers(machine: Machine) -> None:
    """Check that only root on the host is served: anybody there can open a socket."""
    cid = machine.run('shimos devices --json | sed -n \'s/.*"name": "\\([0-9]*\\)".*/\\1/p\'').output.strip()
    script = f"""
import json, socket
s = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
s.settimeout(10)
s.connect(({cid}, 7469))
start = json.dumps(dict(command=["id"], env=[])).encode()
try:
    s.send(bytes([1]) + len(start).to_bytes(4, "little") + start)
    print(s.recv(1))
except ConnectionError:
    print(b"")
"""
    machine.put("/tmp/stranger", script.encode())
    stranger = "setpriv --reuid=65534 --clear-groups python3 /tmp/stranger; rm /tmp/stranger"
    assert machine.run(stranger, timeout=30).output == "b''\n"


def streams(machine: Machine) -> None:
    """Check that input comes back unchanged, to its end, from a reader that is slow, too."""
    size = rounds(1 << 30, 16 << 20)
    machine.run(f"head -c {size} /dev/urandom >/tmp/data")
    command = f"{EXEC} web -- sh -c 'sleep 1; cat' </tmp/data | cmp - /tmp/data"
    machine.run(command, timeout=rounds(600, 120))
    # who does not read does not keep the signal away
    machine.run(f"{EXEC} web -- sleep 1000 </dev/zero & {UNTIL_SLEEPS}; kill -TERM $!; wait $!; [ $? = 143 ]")
    machine.run(f"! {SLEEPS}")
    # who reads does not wait for more when the program has closed its output
    reader = f"{EXEC} web -- sh -c 'echo x; exec >&-; exec sleep 1000' | (cat >/tmp/read; touch /tmp/closed)"
    machine.run(f"{reader} & until [ -e /tmp/closed ]; do sleep 0.1; done; grep x /tmp/read && {UNTIL_SLEEPS}")
    machine.run("pkill -f '^shimos exec' && wait; rm /tmp/data /tmp/read /tmp/closed")


def terminal(machine: Machine) -> None:
    """Check that a program has a terminal of its own, as large as this one, and that it is told of changes."""
    machine.run("shimos exec web -- sh -c '! tty -s' </dev/null")
    assert machine.run(f"{EXEC.removesuffix('--no-tty')} --tty web -- tty").output.strip().startswith("/dev/pts/")
    follows_size(machine, "shimos exec web --")


def copies(machine: Machine) -> None:
    """Check both directions of ``cp``, into a directory and as a new name."""
    machine.run("rm -rf /tmp/t && mkdir -p /tmp/t/a/deep && date >/tmp/t/a/deep/file && chmod 640 /tmp/t/a/deep/file")
    machine.run("shimos cp /tmp/t/a web:/tmp && shimos cp web:/tmp/a /tmp/t/b && diff -r /tmp/t/a /tmp/t/b")
    machine.run("[ $(stat -c %a /tmp/t/b/deep/file) = 640 ]")
    machine.run(
        f"shimos cp /tmp/t/a/deep/file web:/tmp/other && {EXEC} web -- cat /tmp/other | cmp - /tmp/t/a/deep/file"
    )
    refused(machine, "shimos cp web:/nothing /tmp/t/none", "is not copied")
    machine.run("[ ! -e /tmp/t/none ] && [ $(ls -A /tmp/t | wc -l) = 2 ]")
    refused(machine, "shimos cp /tmp/t/a /tmp/t/c", "one of both must be in a partition")


@pytest.mark.parametrize("flavour", ["6.1", pytest.param("6.12", marks=REPETITION)])
def test_programs(machine: Machine, flavour: str) -> None:
    """A session's parts, one after the other on one partition, which is what takes the time."""
    with partition(machine, flavour):
        codes(machine, flavour)
        strangers(machine)
        streams(machine)
        terminal(machine)
        copies(machine)
        # the partition's end is the program's
        machine.run(f"({UNTIL_SLEEPS}; shimos kill web) & {EXEC} web -- sleep 1000; [ $? = 125 ]")


def test_refusals(machine: Machine) -> None:
    """Each thing that is missing has a text of its own."""
    refused(machine, "shimos exec web -- true", "web", status=125)
    start(machine)
    refused(machine, "shimos exec web -- true", "'web' has no vsock", "shimos attach web --vsock", status=125)
    remove(machine)
