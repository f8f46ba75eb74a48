"""A shell that hears late: counted on the emulator's consoles, an error elsewhere.  No machine."""

from __future__ import annotations

import pexpect
import pytest

from lab import shell
from lab.shell import Shell, ShellTimeout

#: Hears nothing of a line until the next one comes.
_DEAF = r"""
while IFS= read -r line; do IFS= read -r next; eval "$line"; [ -z "$next" ] || eval "$next"; done
"""


def _shell(monkeypatch: pytest.MonkeyPatch, revived: list[int] | None) -> Shell:
    monkeypatch.setattr(shell, "_START_SECONDS", 0.5)
    channel = pexpect.spawn("bash", ["-c", _DEAF], echo=False, timeout=5)
    channel.delaybeforesend = None
    return Shell(channel, "deaf", revived=None if revived is None else lambda: revived.append(1))


def test_late_input_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    deaf = _shell(monkeypatch, counted)
    assert deaf.run("echo heard; exit 3", check=False).output == "heard\r\n"
    assert counted == [1]


def test_late_input_is_an_error_where_it_would_be_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ShellTimeout, match="does not answer"):
        _shell(monkeypatch, None).run("echo heard")
