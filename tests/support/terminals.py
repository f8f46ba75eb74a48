"""Terminals that change while somebody uses them."""

from __future__ import annotations

from lab.machine import Machine


def follows_size(machine: Machine, command: str) -> None:
    """Check that a shell which a command begins has a terminal as large as this one, and is told of changes.

    The command ends before the shell's name: ``shimos exec web --``.
    """
    # stty changes rows and columns one after the other, so the first change may be seen alone
    script = (
        f"stty rows 33 cols 99; {command} sh -c"
        ' "stty size; trap \'now=\\$(stty size); echo \\$now; [ \\"\\$now\\" != \\"44 88\\" ] || exit 5\' WINCH;'
        ' echo ready; while :; do sleep 0.1; done"'
    )
    machine.run(f"cat >/tmp/script <<'END'\n{script}\nEND")
    typed = (
        "(until grep -q ready /tmp/typed; do sleep 0.1; done; stty -F $(cat /tmp/tty) rows 44 cols 88)"
        " & script -qefc 'tty >/tmp/tty; sh /tmp/script' /tmp/typed </dev/null"
    )
    result = machine.run(typed, check=False, timeout=60)
    assert result.status == 5, result.output
    assert "33 99" in result.output and "44 88" in result.output, result.output
    machine.run("rm /tmp/script /tmp/typed /tmp/tty")
