"""Running commands on a console: exact output, exact exit status.

The far end is a shell that reads raw bytes and echoes nothing.  Each command
is framed by two markers that carry a fresh random number, so that neither its
own output nor what a kernel prints in between can be taken for them.
"""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass

import pexpect
from pexpect.spawnbase import SpawnBase

#: Characters that a terminal would act upon instead of passing them on.
_CONTROL = frozenset("\0\3\4\21\23\32\34\177")
_TAIL = 3000
#: Within which a shell begins with what was sent, also on a busy computer.
_START_SECONDS = 30.0
#: The value of a guard variable where it is set.
GUARDED = "guarded"


class ShellError(AssertionError):
    """A command failed, or its console did not answer; the text says all."""


class ShellTimeout(ShellError):
    """A command did not end in time."""


class ShellGone(ShellError):
    """The other end of the console is gone: the machine died."""


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    command: str
    status: int
    output: str  # bytes that are no UTF-8 appear as surrogates
    seconds: float

    @property
    def lines(self) -> list[str]:
        """Return the output's lines, without their ends."""
        return self.output.splitlines()

    def check(self) -> Result:
        """Return itself if the exit status is 0, else raise an error with the output."""
        if self.status:
            raise ShellError(f"exit status {self.status}: {self.command}\n{self.output}")
        return self


class Shell:
    """A shell behind a pexpect channel.

    ``guard`` names a shell variable: where that is set, nothing is run, because
    it is not the shell that was meant.  ``context`` gives text for error
    messages: what else is known just then.
    """

    def __init__(
        self,
        channel: SpawnBase,
        name: str,
        program: str = "bash",
        guard: str = "",
        context: Callable[[], str] = lambda: "",
    ):
        self.channel = channel
        self.name = name
        self._program = program
        self._guard = guard
        #: What else is known just then, for a message about an error.
        self.context = context
        self._interrupt_first = False

    def run(self, command: str, timeout: float = 60.0, check: bool = True) -> Result:
        """Run a command in a shell of its own and wait for its end.

        Raises ShellError for a status other than 0 unless ``check`` is off,
        ShellTimeout after ``timeout`` seconds, ShellGone if the machine died.
        """
        started = time.monotonic()
        end = self._begin(command)
        try:
            self.channel.expect_exact(end, timeout=timeout)
            output: bytes = self.channel.before
            self.channel.expect_exact(b";", timeout=10)
            status = int(self.channel.before)
        except pexpect.TIMEOUT:
            self._interrupt_first = True
            raise ShellTimeout(self._describe(f"no end after {timeout:g} s: {command}")) from None
        except pexpect.EOF:
            raise ShellGone(self._describe(f"the machine died during: {command}")) from None
        result = Result(
            command, status, output.decode("utf-8", "surrogateescape"), round(time.monotonic() - started, 3)
        )
        return result.check() if check else result

    def follow(self, command: str, write: Callable[[bytes], object]) -> int:
        """Run a command however long it takes, pass its output on as it comes, and return its exit status."""
        end = self._begin(command)
        data: bytes = self.channel.buffer
        self.channel.buffer = b""
        try:
            while end not in data:
                # What may be the beginning of the mark waits for the rest of it.
                write(data[: -len(end)])
                data = data[-len(end) :] + self.channel.read_nonblocking(1 << 16, timeout=None)
            output, _, status = data.partition(end)
            write(output)
            while not status.endswith(b";"):
                status += self.channel.read_nonblocking(1 << 16, timeout=None)
        except pexpect.EOF:
            raise ShellGone(self._describe(f"the machine died during: {command}")) from None
        return int(status[:-1])

    def _begin(self, command: str) -> bytes:
        """Send a command, wait for its start, return the mark of its end."""
        if _CONTROL & set(command):
            raise ValueError(f"control characters cannot go over a terminal: {command!r}")
        nonce = secrets.token_hex(8)
        # Split by quotes, in case something on the way echoes after all.
        left, right = nonce[:8], nonce[8:]
        quoted = shlex.quote(command)
        value = f"${{{self._guard}}}" if self._guard else ""
        line = (
            f"printf '\\001%s%s%s;' {left} {right} {value}; "
            f"""[ -n "{value}" ] || {self._program} -c {quoted} </dev/null 2>&1; """
            f"printf '\\002%s%s:%d;' {left} {right} $?\n"
        )
        try:
            if self._interrupt_first:
                self.interrupt()
                self.recover()
            self.channel.send(line.encode("utf-8", "surrogateescape"))
            mark = b"\1" + nonce.encode()
            if self.channel.expect_exact([mark + b";", mark + GUARDED.encode()], timeout=_START_SECONDS) == 1:
                raise ShellGone(self._describe(f"its console has ended, cannot run: {command}"))
        except pexpect.TIMEOUT:
            self._interrupt_first = True
            raise ShellTimeout(self._describe(f"the shell does not answer to: {command}")) from None
        except (pexpect.EOF, OSError):
            raise ShellGone(self._describe(f"the machine is gone, cannot run: {command}")) from None
        return b"\2" + nonce.encode() + b":"

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.channel.send(b"\3")

    def recover(self) -> None:
        """Come back to a prompt, whatever a run() that gave up left behind.

        Asks until the shell answers: what is typed while something else ends
        may be lost.  Ctrl-C only if that does not help, for at its prompt it
        takes the next character with it.
        """
        for _ in range(10):
            word = secrets.token_hex(8)
            self.channel.send(f"\nprintf '\\001%s%s;' {word[:8]} {word[8:]}\n".encode())
            try:
                self.channel.expect_exact(b"\1" + word.encode() + b";", timeout=1)
            except pexpect.TIMEOUT:
                self.interrupt()
                continue
            self._interrupt_first = False
            return
        raise pexpect.TIMEOUT("no answer to Ctrl-C")

    def send(self, data: bytes) -> None:
        """Type something, for dialogues that run() cannot hold."""
        self.channel.send(data)

    def expect(self, pattern: bytes | str, timeout: float = 30.0) -> bytes:
        """Wait for a regular expression and return all up to its end."""
        try:
            self.channel.expect(pattern, timeout=timeout)
        except pexpect.TIMEOUT:
            raise ShellTimeout(self._describe(f"nothing like {pattern!r} within {timeout:g} s")) from None
        except pexpect.EOF:
            raise ShellGone(self._describe(f"the machine died while waiting for {pattern!r}")) from None
        return bytes(self.channel.before) + bytes(self.channel.after)

    def _describe(self, what: str) -> str:
        pending = self.channel.before if isinstance(self.channel.before, bytes) else b""
        pending = (pending or bytes(self.channel.buffer))[-_TAIL:]
        return f"{self.name}: {what}\nlast output: {pending.decode(errors='replace')}\n{self.context()}"
