"""What happened in the layer when a program was entered later than ever: `bench/rt --worst`.

A plugin of the emulator keeps the last instructions of the layer before it records a new
maximum.  So the way of the latest activation is there when the program has ended, however many
there were, and nothing is slower for it.
"""

from __future__ import annotations

import mmap
import struct
import tempfile
from itertools import groupby
from pathlib import Path

from bench import plugin, rt_passes
from bench.rt_figures import MASKED, OURS, WORST, Latencies, Row, parse_latency, table
from bench.rt_machine import BACKGROUND, IMAGE, SLOWEST, machine_of, prepare, remove_ctl, start_ctl
from bench.rt_trace import PROGRAM, Layer, Unreadable, kind_of
from bench.rt_trace import Path as Way
from lab import progress
from lab.machine import Machine
from lab.paths import SRC
from lab.stage import rt
from lab.stage.partitions import WAIT_FOR

#: struct last of bench/emulator/last.c.
_AT, _TIMES, _KEPT = 0, 8, 16
_LENGTH = 4096
#: Passes that are shown, that which entered the program last.
_SHOWN = 3
#: Where the layer does that.
_SOURCE = SRC / "kernel" / "spumone" / "layer" / "late.c"
_STATEMENT = "l->max = cycles;"


def records_maximum(layer: Layer, source: Path = _SOURCE) -> int:
    """Return the layer's instruction that runs only when there is a new maximum."""
    lines = [number for number, text in enumerate(source.read_text().splitlines(), 1) if _STATEMENT in text]
    found = [at for at, place in layer.places.items() if place.file == source.name and place.line in lines]
    if len(lines) != 1 or not found:
        raise Unreadable(f"{source.name} has {len(lines)} lines `{_STATEMENT}`, with {len(found)} instructions")
    return max(found)


def cut(kept: list[int], base: int, layer: Layer) -> list[Way]:
    """Return the passes of what was kept, the unfinished one last; the layer begins at ``base``."""
    passes: list[list[int]] = []
    for address in kept:
        at = address - base
        if at == layer.after:
            passes.append([])
        if passes and at in layer.places:
            passes[-1].append(at)
    return [tuple(each) for each in passes]


def way(path: Way, layer: Layer) -> str:
    """Return the functions of a pass in their order, with the instructions in each."""
    names = [layer.places[at].function for at in path]
    return ", ".join(f"{name} {len(list(group))}" for name, group in groupby(names))


def latest(passes: list[Way], layer: Layer) -> list[Way]:
    """Return the passes that led to the last entry of a program.

    The last pass of all has only begun: in it the program is left, and the layer writes down how late it was.
    """
    programs = [number for number, path in enumerate(passes[:-1]) if kind_of(path, layer).next == PROGRAM]
    if not programs:
        raise Unreadable(f"no program is entered in {len(passes)} passes of the layer")
    end = programs[-1] + 1
    return passes[max(0, end - _SHOWN) : end]


def _run(machine: Machine, file: Path, layer: Layer, seconds: int) -> tuple[Latencies, list[Way]]:
    """Run the program; how late it was, and how it came to be the latest."""
    with rt.busy(machine, *BACKGROUND[MASKED]), rt.awake(machine):
        start_ctl(machine, f"{IMAGE} --protected")
        base = rt_passes.base(machine)
        with file.open("r+b") as shared:
            last = mmap.mmap(shared.fileno(), 0)
        struct.pack_into("Q", last, _AT, base + records_maximum(layer))
        machine.run(
            f"{WAIT_FOR} -t {4 * seconds + 30} value 'stopped|crashed' /sys/class/shimos/ctl/state",
            timeout=SLOWEST * (4 * seconds + 30),
        )
        text = machine.run("shimos logs --console ctl", timeout=SLOWEST).output
        remove_ctl(machine)
    if not struct.unpack_from("Q", last, _TIMES)[0]:
        raise Unreadable("the layer has recorded no maximum")
    kept = list(struct.unpack_from(f"{_LENGTH}Q", last, _KEPT))
    return parse_latency(text), latest(cut(kept, base, layer), layer)


def measure(flavour: str, image: bytes, activations: int) -> bool:
    """Measure on one host kernel, and print; whether it was in time each time."""
    layer = rt_passes.layer_of(flavour)
    with tempfile.NamedTemporaryFile() as file:
        extra = ("-plugin", f"{plugin.build('last')},out={file.name}")
        with machine_of(flavour, extra, plugin.Watched) as machine:
            prepare(machine)
            machine.put(IMAGE, image)
            machine.load()
            with progress.step(f"{flavour}: the latest of {activations:,} activations"):
                found, passes = _run(machine, Path(file.name), layer, activations // 1000)
            machine.assert_dmesg_clean()
    print(table([Row(flavour, f"{OURS}, protected", MASKED, found)]))
    print("\nThe passes through the layer that led to the latest, function by function:\n")
    for path in passes:
        print(f"- {kind_of(path, layer)}, {len(path)} instructions: {way(path, layer)}.")
    return found.maximum <= WORST and not found.missed
