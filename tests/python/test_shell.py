"""A shell that hears late: counted on the emulator's consoles, an error elsewhere.  No machine."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator

import pytest
from pexpect.socket_pexpect import SocketSpawn

from lab import shell
from lab.shell import Shell, ShellTimeout

#: Hears nothing of a line until the next one comes.
_DEAF = r"""
while IFS= read -r line; do IFS= read -r next; eval "$line"; [ -z "$next" ] || eval "$next"; done
"""


Revived = Callable[[], None]


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Revived | None], Shell]]:
    """Yield a shell of that program, at a socket as a machine's are: a terminal of our own would mean a fork."""
    monkeypatch.setattr(shell, "_START_SECONDS", 0.5)
    ours, theirs = socket.socketpair()
    with (
        ours,
        theirs,
        subprocess.Popen(["bash", "-c", _DEAF], stdin=theirs.fileno(), stdout=theirs.fileno()) as process,
    ):
        channel = SocketSpawn(ours, timeout=5)
        channel.delaybeforesend = None
        yield lambda revived: Shell(channel, "deaf", revived=revived)
        process.kill()


def test_late_input_is_counted(deaf: Callable[[Revived | None], Shell]) -> None:
    counted: list[int] = []
    assert deaf(lambda: counted.append(1)).run("echo heard; exit 3", check=False).output == "heard\n"
    assert counted == [1]


def test_late_input_is_an_error_where_it_would_be_ours(deaf: Callable[[Revived | None], Shell]) -> None:
    with pytest.raises(ShellTimeout, match="does not answer"):
        deaf(None).run("echo heard")
