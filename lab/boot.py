"""Booting a machine until its shells answer, as often as the emulator's known faults make it necessary."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pexpect

from lab import faults, ledger, progress
from lab.consoles import Consoles
from lab.devices import Place
from lab.diagnosis import TAIL, Diagnosis
from lab.qemu import Config, Emulator
from lab.shell import Shell

_TRIES = 4
#: Seconds within which a machine has shells.
BOOT_SECONDS = 120.0


class BootError(RuntimeError):
    """The machine did not come up."""


@dataclass
class Running:
    """A machine that is up."""

    emulator: Emulator
    consoles: Consoles
    diagnosis: Diagnosis
    #: Seconds from the start of the emulator to a shell.
    seconds: float = 0.0

    def stop(self) -> None:
        """Switch it off."""
        self.consoles.close()
        self.emulator.stop()


def start(config: Config, place: Place) -> Running:
    """Start an emulator and connect its consoles before it says anything, so that nothing is lost."""
    emulator = Emulator(config, place)
    running = Running(emulator, Consoles(), Diagnosis(emulator))
    running.consoles.connect(emulator.shells, running.diagnosis.context)
    return running


def boot(config: Config, place: Callable[[], Place], name: str, seconds: float = BOOT_SECONDS) -> Running:
    """Boot a machine; ``place`` makes an empty place for each try, ``name`` is for the ledger.

    A boot that dies of a known fault of the emulator is counted and repeated; any other raises BootError.
    """
    for attempt in range(1, _TRIES + 1):
        began = time.monotonic()
        running = start(config, place())
        try:
            for shell in running.consoles.all():
                _wait_for_banner(running, shell, began + seconds)
        except BootError:
            fault = faults.emulator_fault(running.emulator.console())
            running.stop()
            if not fault or attempt == _TRIES:
                raise
            faults.record(fault, f"boot of {name}")
            progress.say(f"known emulator fault ({fault}): booting again")
        except BaseException:
            with suppress(OSError):
                running.stop()
            raise
        else:
            running.seconds = time.monotonic() - began
            ledger.note(ledger.Entry("boot", name, running.seconds))
            return running
    raise AssertionError("not reached")


def _wait_for_banner(running: Running, shell: Shell, deadline: float) -> None:
    emulator = running.emulator
    while True:
        try:
            shell.channel.expect_exact(b"lab-shell ready\n", timeout=0.5)
            return
        except pexpect.TIMEOUT:
            console = emulator.console()
            if faults.emulator_fault(console):
                raise BootError(f"died of a known emulator fault:\n{console[-TAIL:]}") from None
            if time.monotonic() > deadline:
                raise BootError(f"no shell in time:\n{console[-TAIL:]}") from None
        except pexpect.EOF:
            text = emulator.console()[-TAIL:] + emulator.errors()
            raise BootError(f"the machine died while booting:\n{text}") from None
