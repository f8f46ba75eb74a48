"""Commands inside a partition, through ``shimos console`` on a host shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import pexpect

from lab.shell import GUARDED, Result, Shell, ShellGone, ShellTimeout

#: What leaves ``shimos console``.
DETACH = b"\x1d"
_GUARD = "LAB_HOST_SHELL"


class PartitionConsole:
    """A partition's console with the same ``run`` as the host's shells.

    The partition's tty echoes, edits lines and carries kernel messages too.  So
    a plain shell that reads raw bytes is started over its interactive one, and
    the kernel is told to keep to its log.
    """

    def __init__(self, shell: Shell, name: str):
        self._host = shell
        self._shell = Shell(
            shell.channel, f"partition {name}", program="sh", guard=_GUARD, context=lambda: self._describe()
        )
        self.name = name
        self.on_close: Callable[[], None] = lambda: None

    def attach(self, timeout: float) -> None:
        """Start ``shimos console`` and come to an agreement with the shell."""
        # Should the console end, its caller's shell must not take what is meant
        # for the partition.
        self._host.run("true")
        self._host.send(f"{_GUARD}={GUARDED}; shimos console {shlex.quote(self.name)}\n".encode())
        # A prompt may have been printed long ago or not yet: ask until the
        # answer comes.  The shell's answer (not its echo) has no quotes.
        ready = f"console-of-{re.escape(self.name)}-ready"
        ended = rf"shimos: '?{re.escape(self.name)}'? [^\n]*\n|shimos: (?!connected)[^\n]*\n"
        tries = max(1, int(timeout / 2))
        question = f"stty raw -echo isig noflsh -onlcr opost; dmesg -n 1; echo console-of-'{self.name}'-ready\r"
        for attempt in range(tries):
            self._host.send(question.encode())
            try:
                answer = self._host.expect(f"{ready}|{ended}".encode(), timeout=timeout / tries)
            except ShellTimeout:
                if attempt == tries - 1:
                    raise
                continue
            if not re.search(ready.encode(), answer):
                raise ShellGone(f"no console of {self.name}: {answer.decode(errors='replace')}\n{self._describe()}")
            break
        # Interactive busybox shells echo by themselves; one that reads a script
        # from the terminal does not.
        self._host.send(b"trap : INT; sh /proc/self/fd/0\r")
        self._shell.run("true", timeout=timeout)

    def _describe(self) -> str:
        return f"the host's shell {self._host.name} has the console of partition {self.name}"

    def run(self, command: str, timeout: float = 60.0, check: bool = True) -> Result:
        """Run a command in the partition; see Shell.run."""
        return self._shell.run(command, timeout, check)

    def send(self, data: bytes) -> None:
        """Type something."""
        self._host.send(data)

    def expect(self, pattern: bytes | str, timeout: float = 30.0) -> bytes:
        """Wait for output."""
        return self._host.expect(pattern, timeout)

    def close(self) -> None:
        """Leave the partition's console; the host's shell is free again."""
        self._host.send(DETACH)
        try:
            self._host.run("true", timeout=10)
        except (pexpect.ExceptionPexpect, ShellTimeout):
            self._host.interrupt()
            self._host.run("true", timeout=10)
        self.on_close()
