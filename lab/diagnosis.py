"""What is known of a machine in trouble, and whether the emulator is to blame."""

from __future__ import annotations

import re

from qemu.qmp import QMPError

from lab import faults
from lab.qemu import Emulator

TAIL = 4000


class Diagnosis:
    """Looks at an emulator from outside: its serial console and its CPUs."""

    def __init__(self, emulator: Emulator):
        self._emulator = emulator
        self._noted: str | None = None

    def serial_tail(self, size: int = TAIL) -> str:
        """Return the end of what the host's kernel wrote to the serial console."""
        return self._emulator.console()[-size:]

    def context(self) -> str:
        """Return what explains a command that failed."""
        return f"serial console of the machine:\n{self.serial_tail()}\nits CPUs:\n{self.cpus_text()}"

    def cpus_text(self) -> str:
        """Return cpu_states() to read."""
        return "\n".join(text for state in self.cpu_states() for text in state)

    def cpu_states(self) -> list[tuple[str, str]]:
        """Return of each CPU a line about where it is, and what its local APIC holds; nothing of a dead machine."""
        arch, ask = self._emulator.config.arch, self._emulator.hmp
        try:
            registers = re.findall(arch.where, ask("info registers -a"), re.MULTILINE)
            held = (ask(arch.interrupts.format(cpu=cpu)) if arch.interrupts else "" for cpu in range(len(registers)))
            return list(zip(registers, held, strict=True))
        except (QMPError, OSError, EOFError):
            return []

    def fault(self) -> str | None:
        """Return the emulator's fault that stopped this machine or one of its CPUs, as far as it can be told for sure."""
        if stale := faults.stale_breakpoint(self._emulator.console()):
            return stale
        lost = [str(cpu) for cpu, state in enumerate(self.cpu_states()) if faults.interrupt_lost(*state)]
        return f"timer interrupt of CPU {', '.join(lost)} lost" if lost else self._noted

    def note(self) -> None:
        """Remember fault() as it is now, before what shows it is cleared away."""
        self._noted = self.fault()
