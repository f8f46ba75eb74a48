"""Where the transcripts of the documents come from: machines of the lab, and commands on this computer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

from lab.demo_steps import as_seen
from lab.machine import Machine
from lab.paths import SRC
from lab.stage import rt, traffic
from lab.stage.partitions import PROGRAMS
from lab.transcripts.blocks import Block, Entry, TranscriptError, from_printed

#: Commands of this computer's, and what they run.
_HERE = {"./demo": "lab.demo", "bench/kml": "bench.kml"}
#: What unseen commands may use besides.
_SCRIPTS = {
    "heard": 'until dmesg | grep -q "$1"; do sleep 0.1; done',
    "flip_a_bit": """begin=$(shimos show "$1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["ranges"][0]["start"])')
echo flip $((begin + 0x100040)) 3 >/proc/layer""",
}

Again = Callable[[Entry], Entry]


def _one_cpu() -> Machine:
    """Return a machine with one CPU, which does an instruction in a nanosecond."""
    return Machine(partitions=[], cpus=1, icount=True)


def _four_cpus() -> Machine:
    return Machine(partitions=[], cpus=4)


_MACHINES: dict[str, Callable[[], Machine]] = {"rt": _four_cpus, "rt, one CPU": _one_cpu}


def is_known(source: str) -> bool:
    """Return whether there is such a source."""
    return source in _MACHINES or source.split()[0] in _HERE


def _lines(output: str) -> tuple[str, ...]:
    return tuple(line.rstrip() for line in as_seen(output).strip("\n").splitlines())


def _typed(command: str) -> str:
    """Return what runs a command where the real-time programs are."""
    return f"cd {PROGRAMS} && {command}"


def _run_again(machine: Machine, entry: Entry) -> Entry:
    """Run a command again; it may fail if it did before."""
    result = machine.run(_typed(entry.command), timeout=600, check=False)
    if result.status and not any(line.startswith("shimos: ") for line in entry.output):
        raise TranscriptError(f"fails now: {entry.command}\n{result.output}")
    return Entry(entry.line, _lines(result.output))


@cache
def _printed(source: str) -> tuple[str, ...]:
    """Run a command here; raises CalledProcessError if it fails.  What it typed and said is in order."""
    script, *options = source.split()
    words = [sys.executable, "-u", "-m", _HERE[script], *options]
    # progress is part of a demonstration, and of a benchmark it is not
    bench = script.startswith("bench/")
    stderr = None if bench else subprocess.STDOUT
    run = subprocess.run(words, cwd=SRC, text=True, stdout=subprocess.PIPE, stderr=stderr, check=True)
    lines = _lines(run.stdout)
    # a demonstration has an empty line before each command
    return (f"$ {source}", *lines) if bench else tuple(filter(None, lines))


class Sources:
    """Machines that are up; each is started when the first transcript wants it."""

    def __init__(self, stack: ExitStack):
        self._stack = stack
        self._machines: dict[str, Machine] = {}

    def again(self, block: Block) -> Again:
        """Return what makes a transcript's entries again; runs its unseen commands."""
        if block.source not in _MACHINES:
            return from_printed(_printed(block.source))
        machine = self._machine(block.source)
        for command in block.hidden:
            machine.run(_typed(command), timeout=600)
        return lambda entry: _run_again(machine, entry)

    def _machine(self, name: str) -> Machine:
        if name not in self._machines:
            machine = self._stack.enter_context(_MACHINES[name]())
            traffic.load(machine, "shimos_layer_test")
            for script, text in _SCRIPTS.items():
                machine.put(f"/usr/local/bin/{script}", f"#!/bin/sh\n{text}\n".encode(), mode=0o755)
            if machine.spec.icount:
                rt.spin(machine)
            self._machines[name] = machine
        return self._machines[name]


@contextmanager
def sources() -> Iterator[Sources]:
    """Keep machines up meanwhile."""
    with ExitStack() as stack:
        yield Sources(stack)
