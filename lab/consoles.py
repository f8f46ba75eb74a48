"""The shells of a machine, and the partitions' consoles that are attached in them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from contextlib import suppress

from pexpect.socket_pexpect import SocketSpawn

from lab.partition import PartitionConsole
from lab.shell import Shell


class Consoles:
    """Independent shells of the host by number; 0 is for Machine.run()."""

    def __init__(self) -> None:
        self._shells: dict[int, Shell] = {}
        self._claimed: set[int] = set()
        self._partitions: dict[str, PartitionConsole] = {}

    def connect(self, sockets: Iterable[socket.socket], context: Callable[[], str]) -> None:
        """Make shells of the sockets of a machine's consoles; ``context`` explains a failure of theirs."""
        for number, end in enumerate(sockets):
            channel = SocketSpawn(end, timeout=60, maxread=65536)
            channel.delaybeforesend = None
            self.add(Shell(channel, f"host shell {number}", context=context))

    def add(self, shell: Shell) -> None:
        """Take one more shell; they are numbered as they come."""
        self._shells[len(self._shells)] = shell

    def all(self) -> list[Shell]:
        """Return every shell, in the order of their numbers."""
        return list(self._shells.values())

    def first(self) -> Shell:
        """Return the shell that Machine.run() uses."""
        return self._shells[0]

    def claim(self, number: int) -> Shell:
        """Return a shell that no partition's console will use from now on."""
        self._claimed.add(number)
        return self._shells[number]

    def partition(self, name: str, timeout: float, login: str) -> PartitionConsole:
        """Return the partition's console, attached in a spare shell if it is not yet."""
        if name not in self._partitions:
            number = max(n for n in self._shells if n not in self._claimed and n != 0)
            shell = self.claim(number)
            console = PartitionConsole(shell, name)
            console.on_close = lambda: self._release(name, number)
            self._partitions[name] = console
            console.attach(timeout, login)
        return self._partitions[name]

    def _release(self, name: str, number: int) -> None:
        self._partitions.pop(name, None)
        self._claimed.discard(number)

    def release(self) -> None:
        """Leave all partitions' consoles, and claim no shell any more."""
        for console in list(self._partitions.values()):
            console.close()
        self._claimed.clear()

    def close(self) -> None:
        """Let go of the machine; it may have gone without reading what was sent."""
        for shell in self._shells.values():
            with suppress(OSError):
                shell.channel.close()
        self._shells.clear()
        self._partitions.clear()
        self._claimed.clear()
