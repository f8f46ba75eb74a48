"""How busy the computer is with other work than ours: times are worth as much as it is quiet."""

from __future__ import annotations

import os
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
#: user, nice, system; then idle, iowait; then irq, softirq, steal.
_BUSY = (0, 1, 2, 5, 6, 7)


class Others:
    """From its making on; ``emulator`` is the process that is ours, too."""

    def __init__(self, emulator: int | None):
        self._emulator = emulator
        self._began, self._before = time.monotonic(), self._foreign()

    def cpus(self) -> float:
        """Return how many CPUs others have used in the mean."""
        seconds = time.monotonic() - self._began
        return max(0.0, (self._foreign() - self._before) / seconds) if seconds else 0.0

    def _foreign(self) -> float:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        busy = sum(int(fields[n]) for n in _BUSY) / _TICKS
        own = sum(os.times()[:4])
        if self._emulator is not None:
            # The name before it may contain anything but the last bracket.
            stat = Path(f"/proc/{self._emulator}/stat").read_text().rpartition(")")[2].split()
            own += (int(stat[11]) + int(stat[12])) / _TICKS
        return busy - own
