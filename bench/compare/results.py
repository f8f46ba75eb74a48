"""What was measured, a JSON line for each run, so that an interrupted comparison goes on where it was."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

#: What the clock counted: an emulator's nanoseconds, or instructions.
Clock = Literal["times", "instructions"]
CLOCKS: tuple[Clock, ...] = ("times", "instructions")


@dataclass(frozen=True)
class Measurement:
    """One run of one workload on one system; or why there is none."""

    system: str
    workload: str
    clock: Clock
    run: int
    commit: str
    value: float | None
    error: str = ""
    #: CPUs that other work of the computer used meanwhile.
    others: float | None = None

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """What it is the answer to."""
        return self.system, self.workload, self.clock, self.run, self.commit


class Results:
    """The file of all results."""

    def __init__(self, path: Path):
        self._path = path
        self._all: dict[tuple[str, str, str, int, str], Measurement] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                found = Measurement(**json.loads(line))
            except (ValueError, TypeError):
                continue  # the line that an interruption cut short
            self._all[found.key] = found

    @property
    def directory(self) -> Path:
        """Where the file is."""
        return self._path.parent

    def add(self, measurement: Measurement) -> None:
        """Keep it, on the disk too; a later one replaces an earlier one."""
        self._all[measurement.key] = measurement
        self._path.parent.mkdir(parents=True, exist_ok=True)
        cut = self._path.exists() and self._path.stat().st_size and not self._path.read_bytes().endswith(b"\n")
        with self._path.open("a") as file:
            file.write(("\n" if cut else "") + json.dumps(asdict(measurement)) + "\n")

    def has(self, system: str, workload: str, clock: Clock, run: int, commit: str) -> bool:
        """Return whether that was measured; what failed is tried again."""
        found = self._all.get((system, workload, clock, run, commit))
        return found is not None and found.value is not None

    def values(self, system: str, workload: str, clock: Clock, commit: str) -> list[float]:
        """Return the values of all runs, oldest first."""
        return [m.value for m in self._matching(system, workload, clock, commit) if m.value is not None]

    def error(self, system: str, workload: str, clock: Clock, commit: str) -> str:
        """Return why there is no value, if it was tried."""
        found = self._matching(system, workload, clock, commit)
        return found[-1].error if found and all(m.value is None for m in found) else ""

    def failed(self, system: str, workload: str, clock: Clock, commit: str) -> int:
        """Return how many runs have no value."""
        return sum(m.value is None for m in self._matching(system, workload, clock, commit))

    def others(self, clock: Clock, commit: str) -> list[float]:
        """Return how busy others were, of every run."""
        found = (m for m in self._all.values() if (m.clock, m.commit) == (clock, commit))
        return [m.others for m in found if m.others is not None and m.value is not None]

    def _matching(self, system: str, workload: str, clock: Clock, commit: str) -> list[Measurement]:
        wanted = (system, workload, clock, commit)
        return [m for m in self._all.values() if (m.system, m.workload, m.clock, m.commit) == wanted]
