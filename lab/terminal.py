"""A person's terminal on the machine."""

from __future__ import annotations

import os
import secrets
import select
import shlex
import socket
import sys
import termios
import tty
from typing import Any

from lab.machine import Machine

_LEAVE = b"\x1c"  # Ctrl-\


def shell(machine: Machine, greeting: str) -> None:
    """Connect this terminal to a shell on the machine until that ends."""
    print(greeting, flush=True)
    size = os.get_terminal_size() if sys.stdin.isatty() else os.terminal_size((80, 24))
    connection: socket.socket = machine.shell(1).channel.socket
    # The lab's shells are for programs; people get one with echo and editing.
    # Its end is told by a word that is sent in two parts.
    word = secrets.token_hex(8)
    setup = (
        f"stty sane rows {size.lines} cols {size.columns}; "
        f"TERM={shlex.quote(os.environ.get('TERM', 'linux'))} PS1='lab:\\w# ' bash --norc --noprofile -i; "
        f"echo {word[:8]}''{word[8:]}\n"
    )
    connection.sendall(setup.encode())
    _wire(connection, word.encode())


def command(machine: Machine, words: str) -> int:
    """Run a command on the machine, show its output as it comes, and return its exit status."""

    def write(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    return machine.shell(1).follow(words, write)


def _wire(connection: socket.socket, last: bytes) -> None:
    r"""Copy from terminal to socket and back, until Ctrl-\, the word ``last`` or the machine's end."""
    keyboard = sys.stdin.fileno()
    saved = termios.tcgetattr(keyboard) if os.isatty(keyboard) else None
    if saved:
        tty.setraw(keyboard)
    sources: list[Any] = [connection]  # the keyboard's turn comes with the prompt
    shown, typing = b"", False
    try:
        while True:
            ready, _, _ = select.select(sources, [], [])
            if connection in ready:
                data = connection.recv(65536)
                shown = (shown + data)[-2 * len(last) - len(data) :]
                if not data or last in shown:
                    break
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
                if len(sources) == 1 and not typing and b"lab:" in shown:
                    sources.append(keyboard)
                    typing = True
            if keyboard in ready:
                typed = os.read(keyboard, 4096)
                if _LEAVE in typed:
                    break
                if not typed:  # the end of a pipe: let what was typed finish
                    sources.remove(keyboard)
                    typed = b"\nexit\n"
                connection.sendall(typed)
    finally:
        if saved:
            termios.tcsetattr(keyboard, termios.TCSADRAIN, saved)
    print("\r\nThe machine is gone with all that was in it.")
