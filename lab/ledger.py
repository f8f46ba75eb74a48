"""What a run did: boots, clones, repetitions; a line each, for the summary at its end.

All processes of one ``./test`` share a run, whose name is in the environment.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass

from lab.paths import LOGS

#: Names the run to processes that belong to it.
RUN_VARIABLE = "SHIMOS_RUN"
_KEEP = 20


@dataclass(frozen=True)
class Entry:
    """Something that took time or went wrong."""

    kind: str  # boot, clone, template, repetition
    what: str
    seconds: float = 0.0
    why: str = ""


def begin() -> None:
    """Start a run of its own for this process and its children; old runs' ledgers go."""
    os.environ[RUN_VARIABLE] = f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
    LOGS.mkdir(exist_ok=True)
    for old in sorted(LOGS.glob("ledger-*.jsonl"))[:-_KEEP]:
        old.unlink(missing_ok=True)


def note(entry: Entry) -> None:
    """Add a line; nothing outside of a run."""
    run = os.environ.get(RUN_VARIABLE)
    if run:
        with (LOGS / f"ledger-{run}.jsonl").open("a") as file:
            file.write(json.dumps(asdict(entry)) + "\n")


def entries() -> list[Entry]:
    """All that this run did so far."""
    file = LOGS / f"ledger-{os.environ.get(RUN_VARIABLE, 'none')}.jsonl"
    if not file.exists():
        return []
    return [Entry(**json.loads(line)) for line in file.read_text().splitlines()]
