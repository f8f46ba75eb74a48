"""Commands inside a partition, through ``shimos console`` on a host shell."""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Callable
from contextlib import suppress

from lab.shell import GUARDED, Result, Shell, ShellGone, ShellTimeout

#: What leaves ``shimos console``.
DETACH = b"\x1d"
#: Seconds after which an unanswered question is repeated: soon at first, for a shell that
#: is just starting loses what is typed before, and then up to so many.
_ASK_SOON = 0.1
_ASK_AGAIN = 1.0
_GUARD = "LAB_HOST_SHELL"
#: Last words of the tool's own, and no message of the kernel's, which stands behind its time.
_TOOL_ENDS = r"(?<!\] )shimos: (?!connected|warning)[^\n]*\n"


class PartitionConsole:
    """A partition's console with the same ``run`` as the host's shells.

    The partition's tty echoes, edits lines and carries kernel messages too.  So
    a plain shell that reads raw bytes is started over its interactive one, and
    the kernel is told to keep to its log.
    """

    def __init__(self, shell: Shell, name: str):
        """Take a shell of the host."""
        self._host = shell
        self._shell = Shell(
            shell.channel,
            f"partition {name}",
            program="sh",
            guard=_GUARD,
            context=lambda: self._describe(),
        )
        self.name = name
        #: What leads to the console in the host's shell, and what that says first.
        self.command, self.greeting = f"shimos console {shlex.quote(name)}", "shimos: connected to"
        self.on_close: Callable[[], None] = lambda: None

    def attach(self, timeout: float, login: str = "") -> None:
        """Start ``shimos console``, log in and come to an agreement with the shell."""
        # Should the console end, its caller's shell must not take what is meant
        # for the partition.
        self._host.run("true")
        self._host.send(f"{_GUARD}=guarded; {self.command}\n".encode())
        # A prompt may have been printed long ago or not yet: ask until the
        # answer comes.  A new word each time, for the console repeats what it
        # still has; in two parts, which an echo leaves apart.
        word = secrets.token_hex(8)
        question = (
            f'\n[ -n "${_GUARD}" ] || {{ stty -icanon min 1 time 0 -echo isig noflsh -icrnl -onlcr -ixon -ixoff; '
            f"dmesg -n 1; }}; echo {word[:8]}''{word[8:]}-${_GUARD}-\n"
        )
        ended = rf"{_TOOL_ENDS}|{word}-{GUARDED}-"
        deadline = time.monotonic() + timeout
        if self.greeting:
            self._expect_or_end(rf"{self.greeting}[^\n]*\n|{ended}", self.greeting, timeout)
        if login:
            self._log_in(login, deadline)
        patience = _ASK_SOON
        while True:
            self._host.send(question.encode())
            try:
                self._expect_or_end(f"{word}--|{ended}", f"{word}--", patience)
                break
            except ShellTimeout:
                if time.monotonic() > deadline:
                    raise
                patience = min(2 * patience, _ASK_AGAIN)
                if login:  # what looked like a prompt was an earlier life's, which the console repeated
                    self._log_in(login, deadline)
        # Interactive busybox shells echo by themselves; one that reads a script
        # from the terminal does not, and with a trap it survives Ctrl-C.
        # The one below it must not read on before it runs: hence the second word.
        inner = f"echo {word[:8]}''{word[8:]}+; exec sh /proc/self/fd/0"
        self._host.send(
            f'if [ -n "$LAB_RAW" ]; then echo {word[:8]}\'\'{word[8:]}+; else LAB_RAW=1 sh -c "{inner}"; fi\n'.encode()
        )
        self._host.expect(rf"{word}\+".encode(), timeout=timeout)
        self._host.send(b"trap : INT\n")
        self._shell.run("true", timeout=timeout)

    def _log_in(self, user: str, deadline: float) -> None:
        """Become a user without a password; one who is logged in stays so."""
        prompt, ended = f"{user}@[^\n]*[#$] ", _TOOL_ENDS
        while True:
            # What boot messages have scrolled away is printed anew for Enter.
            self._host.send(b"\n")
            try:
                answer = self._host.expect(f"login: |{prompt}|{ended}".encode(), timeout=_ASK_AGAIN)
            except ShellTimeout:
                if time.monotonic() > deadline:
                    raise
                continue
            break
        if answer.endswith(b"login: "):
            self._host.send(f"{user}\n".encode())
            self._expect_or_end(f"{prompt}|{ended}", f"{user}@", deadline - time.monotonic())

    def _expect_or_end(self, pattern: str, good: str, timeout: float) -> None:
        answer = self._host.expect(pattern.encode(), timeout=timeout).decode(errors="replace")
        if good not in answer:
            raise ShellGone(f"no console of {self.name}: {answer[-2000:]}\n{self._describe()}")

    def _describe(self) -> str:
        return f"the host's shell {self._host.name} has the console of partition {self.name}\n{self._host.context()}"

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
        # If the console ended by itself, the host's shell gets the key: then it
        # complains about an unknown command.
        self._host.send(DETACH + b"\n")
        with suppress(ShellTimeout):
            self._host.expect(rb"shimos: [^\n]*\n|not found\n", timeout=5)
        self._host.recover()
        self.on_close()
