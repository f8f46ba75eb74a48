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
        """Return the end of what the host's kernel wrote to the serial console, and its first oops if that was earlier."""
        log = self._emulator.console()
        oops = faults.first_oops(log)
        if oops is None or oops > len(log) - size:
            return log[-size:]
        return f"{log[oops : oops + size]}\n[...]\n{log[max(oops + size, len(log) - size) :]}"

    def context(self) -> str:
        """Return what explains a command that failed."""
        # Who hears of it may end the partition whose CPU shows it.
        self.note()
        return f"serial console of the machine:\n{self.serial_tail()}\nits CPUs:\n{self.cpus_text()}"

    def cpus_text(self) -> str:
        """Return cpu_states() to read."""
        return "\n".join(text for state in self.cpu_states() for text in state)

    def cpu_states(self) -> list[tuple[str, str]]:
        """Return of each CPU a line about where it is, and what its local APIC holds; nothing of a dead machine."""
        arch = self._emulator.config.arch
        registers = re.findall(arch.where, self._registers(), re.MULTILINE)
        held = (self._ask(arch.interrupts.format(cpu=cpu)) if arch.interrupts else "" for cpu in range(len(registers)))
        return list(zip(registers, held, strict=True))

    def _registers(self) -> str:
        return self._ask("info registers -a")

    def _ask(self, command: str) -> str:
        """Return what the emulator's monitor says; nothing of a dead machine."""
        try:
            return self._emulator.hmp(command)
        except (QMPError, OSError, EOFError):
            return ""

    def fault(self) -> str | None:
        """Return the emulator's fault that stopped this machine or one of its CPUs, as far as it can be told for sure."""
        if stale := faults.stale_breakpoint(self._emulator.console()):
            return stale
        # With our layer under its CPUs it may be our fault.
        if self.on_a_layer():
            return self._noted
        lost = [str(cpu) for cpu, state in enumerate(self.cpu_states()) if faults.interrupt_lost(*state)]
        return f"timer interrupt of CPU {', '.join(lost)} lost" if lost else self._noted

    def on_a_layer(self) -> bool:
        """Return whether SPUMONE's layer is under one of its CPUs."""
        return faults.on_a_layer(self._registers())

    def note(self) -> None:
        """Remember fault() as it is now, before what shows it is cleared away."""
        self._noted = self.fault()
