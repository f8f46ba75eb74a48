"""What demonstrations share: typing as a user would, and noting what did not hold."""

from __future__ import annotations

import re
import textwrap
from typing import Protocol

from lab.machine import Machine
from lab.progress import say
from lab.shell import Result


class Shell(Protocol):
    """The host or a partition."""

    def run(self, command: str, timeout: float = 60.0, check: bool = True) -> Result:
        """Run a command; raises ShellError if it fails and ``check`` is set, and after ``timeout`` seconds."""
        ...


class Steps:
    """Prints what it does, and checks what it sees."""

    def __init__(self, machine: Machine):
        self._machine = machine
        self.failed: list[str] = []

    def shown(self, where: str, command: str, shell: Shell, timeout: float = 120.0, check: bool = True) -> str:
        """Run a command as a user would, shown with its output."""
        print(f"\n    {where}# {command}", flush=True)
        output = as_seen(shell.run(command, timeout=timeout, check=check).output)
        print(textwrap.indent(output, "    ").rstrip("\n"), flush=True)
        return output

    def type(self, command: str, timeout: float = 120.0, check: bool = True) -> str:
        """Do so on the host."""
        return self.shown("host", command, self._machine, timeout, check)

    def check(self, what: str, good: bool, seen: object = "") -> None:
        """Note whether something held."""
        detail = f" (seen: {seen})" if seen != "" else ""
        say(f"{'  ok   ' if good else '  FAIL '} {what}{detail}")
        if not good:
            self.failed.append(what)

    def check_log(self) -> None:
        """Look whether the host's kernel log has anything that should not be there."""
        try:
            self._machine.assert_dmesg_clean()
            self.check("the host's kernel log is clean", True)
        except AssertionError as error:
            print(error)
            self.check("the host's kernel log is clean", False)


def as_seen(output: str) -> str:
    """Return what is left on a terminal when lines that were overwritten are gone."""
    lines = [re.split(r"\r|\x1b\[2K", line)[-1] for line in output.split("\n")]
    return "\n".join(lines)
