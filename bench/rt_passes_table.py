"""The tables of `bench/rt --passes`: how long passes are, where their instructions go, what holds interrupts.  No machine."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping

from bench.rt_figures import Goal
from bench.rt_trace import Kind, Layer, Path, Paths, Place, held

#: Instructions for which the layer may hold interrupts.
LONGEST_HELD = 250

Kinds = Mapping[Kind, Paths]


def longest_held(paths: Paths, layer: Layer) -> Path:
    """Return the longest stretch for which one of them holds interrupts."""
    return max((part for path in paths for part in held(path, layer)), key=len)


def summary(kinds: Kinds, layer: Layer) -> str:
    """Return a line for each kind of pass: how many there were, and their instructions."""
    lines = [
        "| left | why | goes on | passes | least | median | most | longest held |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for kind, paths in kinds.items():
        each = [len(path) for path in paths.elements()]
        numbers = (len(each), min(each), round(statistics.median(each)), max(each), len(longest_held(paths, layer)))
        cells = (kind.left, kind.why, kind.next, *(f"{n:,}" for n in numbers))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _by(places: Callable[[Place], str], paths: Paths, layer: Layer) -> Counter[str]:
    found: Counter[str] = Counter()
    for path, count in paths.items():
        for at in path:
            found[places(layer.places[at])] += count
    return found


def files(kinds: Kinds, layer: Layer) -> str:
    """Return where the instructions of a pass go: the mean of each file, a line for each kind."""
    counts = {kind: _by(lambda place: place.file, paths, layer) for kind, paths in kinds.items()}
    names = sorted({name for count in counts.values() for name in count})
    lines = [f"| pass | {' | '.join(names)} | all |", f"| --- |{' --- |' * (len(names) + 1)}"]
    for kind, count in counts.items():
        passes = kinds[kind].total()
        means = [f"{count[name] / passes:.1f}" if count[name] else "" for name in names]
        lines.append(f"| {kind} | {' | '.join(means)} | {count.total() / passes:.1f} |")
    return "\n".join(lines)


def functions(paths: Paths, layer: Layer) -> str:
    """Return where the instructions of a pass go: the mean of each function, the largest first."""
    counts = _by(lambda place: place.function, paths, layer)
    return ", ".join(f"{name} {count / paths.total():.1f}" for name, count in counts.most_common())


def made_of(stretch: Path, layer: Layer) -> str:
    """Return what a stretch is made of: instructions of each function, the largest first."""
    return functions(Counter({stretch: 1}), layer).replace(".0", "")


def goals(kinds: Kinds, layer: Layer) -> list[Goal]:
    """Judge for how long each kind of pass holds interrupts."""
    found = []
    for kind, paths in kinds.items():
        longest = len(longest_held(paths, layer))
        found.append(Goal(f"{kind}: interrupts held for at most {LONGEST_HELD}", f"{longest}", longest <= LONGEST_HELD))
    return found
