"""Where the layer's instructions go, pass by pass: `bench/rt --passes`.

The emulator writes down each instruction that runs where only the layer runs, one at a time, and
the layer's ELF file says which function it comes from.  Nothing of the layer is changed for it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import rt_passes_table, rt_trace
from bench.rt_figures import MASKED
from bench.rt_machine import BACKGROUND, SLOWEST, machine_of, prepare
from lab import build, kernels, progress
from lab.command import run
from lab.machine import Machine
from lab.stage import rt
from lab.stage.partitions import PROGRAMS

#: Linux has its text above, and programs below: here nothing runs but the layer.
_WATCHED = "0xff00000000000000..0xffffffff7fffffff"
_OBJDUMP = ("objdump", "--disassemble", "--no-show-raw-insn")
_ADDR2LINE = ("addr2line", "--addresses", "--inlines", "--functions", "--basenames")


@dataclass(frozen=True)
class Scene:
    """What shares the CPU with a Linux that works and keeps interrupts off."""

    what: str
    programs: tuple[str, ...]  # images, the most urgent first
    budget: str  # of each
    linux: str = ":"  # what it does beside


SCENES = (
    Scene("one program", ("latency-endless",), "95%"),
    Scene(
        "two programs, and Linux talks to one",
        ("latency-endless", "echo"),
        "45%",
        f"{rt.UNTIL_END}; do shimos ping -c 3 -i 0.002 rt1; done",
    ),
    Scene("eight programs, one with floating point", ("float", *["latency-endless"] * 7), "11%"),
)


def layer_of(flavour: str) -> rt_trace.Layer:
    """Return what is known of the layer that machines of this kernel have."""
    (kernel,) = kernels.get(flavour)
    build.modules(kernel)
    image = build.layer(kernel)
    listing = run(*_OBJDUMP, image)
    return rt_trace.parse_layer(listing, run(*_ADDR2LINE, f"--exe={image}", *rt_trace.addresses(listing)))


@contextmanager
def _programs(machine: Machine, scene: Scene) -> Iterator[None]:
    names = [f"rt{number}" for number in range(len(scene.programs))]
    for number, (name, image) in enumerate(zip(names, scene.programs, strict=True)):
        how = f"--budget {scene.budget} --priority {90 - number}"
        command = f"shimos run {name} --share-cpus 0 --memory 8M --kernel {PROGRAMS}/{image}.elf {how}"
        machine.run(command, timeout=SLOWEST)
    yield
    machine.run(f"shimos rm --force {' '.join(names)}", timeout=SLOWEST)


@contextmanager
def _traced(machine: Machine, file: Path) -> Iterator[None]:
    """Write down what runs meanwhile; it takes some fifty times as long."""
    monitor = machine.emulator.hmp
    for command in ("one-insn-per-tb on", f"logfile {file}", "log exec,nochain"):
        monitor(command)
    yield
    for command in ("log none", "one-insn-per-tb off"):
        monitor(command)


def base(machine: Machine) -> int:
    """Return where the layer's image begins: the one mapping that the module has made.  Root may see it with 1."""
    text = machine.run("echo 1 >/proc/sys/kernel/kptr_restrict; cat /proc/vmallocinfo").output
    (at,) = re.findall(r"^0x([0-9a-f]+)-\S+ +\d+ image_\S+ \[shimos_spumone\]", text, re.MULTILINE)
    return int(at, 16)


def passes(machine: Machine, scene: Scene, layer: rt_trace.Layer, milliseconds: int) -> rt_passes_table.Kinds:
    """Let it all run for so long by the machine's clock, and count."""
    with (
        tempfile.TemporaryDirectory() as place,
        rt.busy(machine, *BACKGROUND[MASKED], scene.linux),
        _programs(machine, scene),
    ):
        file = Path(place) / "trace"
        start = base(machine)
        with _traced(machine, file):
            machine.run(f"sleep {milliseconds / 1000}", timeout=SLOWEST * 10)
        with file.open() as trace:
            found = rt_trace.sort(rt_trace.cut(trace, start, layer), layer)
    if not found:
        raise rt_trace.Unreadable(f"no pass in a trace of {milliseconds} ms, with the layer at {start:#x}")
    return found


def report(scene: Scene, kinds: rt_passes_table.Kinds, layer: rt_trace.Layer) -> bool:
    """Print all of it; whether the goal is met."""
    print(f"\n## Passes through the layer: {scene.what}\n")
    print(rt_passes_table.summary(kinds, layer))
    print("\nInstructions of a pass by source file, in the mean:\n")
    print(rt_passes_table.files(kinds, layer))
    print("\nBy function, and the longest stretch with interrupts held:\n")
    for kind, paths in kinds.items():
        longest = rt_passes_table.longest_held(paths, layer)
        print(f"- {kind}: {rt_passes_table.functions(paths, layer)}.")
        print(f"  Held for {len(longest)}: {rt_passes_table.made_of(longest, layer)}.")
    judged = rt_passes_table.goals(kinds, layer)
    print("\n| goal | found | |\n| --- | --- | --- |", *judged, sep="\n", flush=True)
    return all(goal.met for goal in judged)


def measure(flavour: str, milliseconds: int) -> bool:
    """Measure all scenes on one host kernel, and print them; whether the goals are met."""
    layer = layer_of(flavour)
    with machine_of(flavour, ("-dfilter", _WATCHED)) as machine:
        prepare(machine)
        machine.load()
        met = []
        for scene in SCENES:
            with progress.step(f"{flavour}: passes through the layer, {scene.what}"):
                kinds = passes(machine, scene, layer, milliseconds)
            met.append(report(scene, kinds, layer))
        machine.assert_dmesg_clean()
    return all(met)
