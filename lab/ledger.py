"""What a run did: boots, clones, repetitions; a line each, for the summary at its end.

All processes of one ``./test`` share a run, whose name is in the environment.
"""

from __future__ import annotations

import json
import os
import shlex
import time
from dataclasses import asdict, dataclass

from lab.paths import LOGS

#: Names the run to processes that belong to it.
RUN_VARIABLE = "SHIMOS_RUN"
_KEEP = 20
_LAST_LINES = 40
_SHOWN = 6
#: Repetitions because of a known fault of the emulator that a run may have.
CEILING = 3


@dataclass(frozen=True)
class Entry:
    """Something that took time or went wrong."""

    kind: str  # boot, clone, template, cold, repetition, failure
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
    """Return all that this run did so far."""
    file = LOGS / f"ledger-{os.environ.get(RUN_VARIABLE, 'none')}.jsonl"
    if not file.exists():
        return []
    return [Entry(**json.loads(line)) for line in file.read_text().splitlines()]


def repetitions() -> list[str]:
    """Return what this run did again because of a known fault of the emulator."""
    return [entry.what for entry in entries() if entry.kind == "repetition"]


def last_words(checks: list[str]) -> list[str]:
    """Return what failed in this run, why, and how to run just that again: at most 40 lines.

    ``checks`` are the names of quick checks that failed.
    """
    causes: dict[str, str] = {}
    for entry in entries():
        if entry.kind == "failure":
            causes.setdefault(entry.what, entry.why)
    lines = ["", *(f"FAILED CHECK: {name}" for name in checks)]
    if len(repetitions()) > CEILING:
        lines += [f"FAILED: more than {CEILING} repetitions because of the emulator, so something else is wrong"]
    shown = list(causes.items())[:_SHOWN]
    each = (_LAST_LINES - len(lines) - 4) // max(1, len(shown)) - 1
    for what, cause in shown:
        text = [f"    {line[:160]}" for line in cause.splitlines() if line.strip()]
        lines += [f"FAILED: {what}", *(text if len(text) <= each else [*text[: each - 1], "    [...]"])]
    if causes:
        more = f"   (and {len(causes) - _SHOWN} more)" if len(causes) > _SHOWN else ""
        lines += ["all that is known: failures.log in the lab's cache"]
        lines += [f"again: ./test {shlex.join(what for what, _ in shown)}{more}"]
    if checks:
        lines += ["again: ./test --checks"]
    return lines if len(lines) > 1 else []
