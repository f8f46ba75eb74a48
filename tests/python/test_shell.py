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
Taken = Callable[[], int]
MakeShell = Callable[[Revived | None, Taken | None], Shell]


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeShell]:
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
        yield lambda revived, taken: Shell(channel, "deaf", revived=revived, taken=taken)
        process.kill()


def test_late_input_is_counted(deaf: MakeShell) -> None:
    counted: list[int] = []
    assert deaf(lambda: counted.append(1), None).run("echo heard; exit 3", check=False).output == "heard\n"
    assert counted == [1]


def test_late_input_is_an_error_where_it_would_be_ours(deaf: MakeShell) -> None:
    with pytest.raises(ShellTimeout, match="does not answer"):
        deaf(None, None).run("echo heard")


def test_late_input_behind_a_console_that_held_it_back(deaf: MakeShell) -> None:
    counted: list[int] = []
    taken = iter([1000, 2000])
    assert deaf(lambda: counted.append(1), lambda: next(taken)).run("echo heard").output == "heard\n"
    assert counted == [1]


def test_late_input_behind_a_console_that_passed_it_on(deaf: MakeShell) -> None:
    """Only the newline went through the console when the shell began: it is what is behind that held it back."""
    counted: list[int] = []
    taken = iter([1000, 1001])
    with pytest.raises(ShellTimeout, match="took what was sent at once"):
        deaf(lambda: counted.append(1), lambda: next(taken)).run("echo heard")
    assert not counted
