"""What `bench/rt --passes` makes of a trace: passes through the layer, instruction by instruction.  No machine.

A pass begins when Linux or a program is left, and ends with the VMRUN that lets one of them go
on.  Between the two the layer holds all interrupts, but for the few instructions of its window,
in which those that wait come in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, takewhile

#: The addresses of all instructions of a pass, in their order, from the layer's beginning.
Path = tuple[int, ...]
#: Passes of a kind: how many went each way.
Paths = Counter[Path]

_TRACE = re.compile(r"Trace (\d+): \S+ \[[0-9a-f]+/([0-9a-f]+)/")
_NOT_DONE = re.compile(r"Stopped execution of TB chain before \S+ \[([0-9a-f]+)\]")
_INSTRUCTION = re.compile(r"^ +([0-9a-f]+):\t(\S+)", re.MULTILINE)


class Unreadable(ValueError):
    """A listing of the layer is not what it is when all is well; the text says why."""


@dataclass(frozen=True)
class Place:
    """Where an instruction comes from: its file, its function, and whoever that was inlined into, innermost first."""

    file: str
    function: str
    within: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True)
class Layer:
    """What is known of the layer's text."""

    vmrun: int
    after: int  # where it goes on when whoever ran was left
    window: frozenset[int]  # where interrupts are let in
    places: Mapping[int, Place]
    opens: frozenset[int]  # where a window begins
    comes: frozenset[int]  # the first instruction of an interrupt
    closes: int  # after this one no other interrupt comes into the window


def addresses(listing: str) -> list[str]:
    """Return where the instructions of a listing by objdump are, for addr2line."""
    return [at for at, _ in _INSTRUCTION.findall(listing)]


def parse_layer(listing: str, lines: str) -> Layer:
    """Read what objdump -d and addr2line -a -i -f -s say of the layer's ELF file."""
    code = [(int(at, 16), mnemonic) for at, mnemonic in _INSTRUCTION.findall(listing)]
    places = _parse_places(lines)
    if len(places) != len(code):
        raise Unreadable(f"{len(places)} of {len(code)} instructions of the layer have a place")
    vmrun = _only(code, "vmrun")
    opens = frozenset(at for at, mnemonic in code if mnemonic == "stgi")
    return Layer(code[vmrun][0], code[vmrun + 1][0], _windows(code), places, opens, _comes(code, places), _closes(code))


def _only(code: list[tuple[int, str]], mnemonic: str) -> int:
    found = [index for index, (_, each) in enumerate(code) if each == mnemonic]
    if len(found) != 1:
        raise Unreadable(f"the layer has {len(found)} instructions {mnemonic}, not one")
    return found[0]


def _comes(code: list[tuple[int, str]], places: Mapping[int, Place]) -> frozenset[int]:
    """Return where the stubs of the vectors begin, each with its first PUSH."""
    stubs = [(at, mnemonic[:4]) for at, mnemonic in code if places[at].function == "layer_stubs"]
    return frozenset(at for (_, last), (at, each) in pairwise([(0, ""), *stubs]) if each == "push" != last)


def _closes(code: list[tuple[int, str]]) -> int:
    """Return what disables interrupts for whoever was interrupted, just before that goes on.

    An NMI has an IRETQ of its own, behind that of the others.
    """
    ends = [index for index, (_, mnemonic) in enumerate(code) if mnemonic == "iretq"]
    found = [at for at, mnemonic in code[: min(ends, default=0)] if mnemonic == "andl"]
    if not found:
        raise Unreadable("the layer has nothing that closes its window")
    return found[-1]


def _windows(code: list[tuple[int, str]]) -> frozenset[int]:
    """Return what stands between each STGI and the CLGI after it."""
    inside, is_open = set(), False
    for at, mnemonic in code:
        is_open = is_open and mnemonic != "clgi"
        if is_open:
            inside.add(at)
        is_open = is_open or mnemonic == "stgi"
    if not inside or is_open:
        raise Unreadable("the layer has no window with an end")
    return frozenset(inside)


def _parse_places(text: str) -> dict[int, Place]:
    places = {}
    for block in re.split(r"^(?=0x[0-9a-f]+$)", text, flags=re.MULTILINE)[1:]:
        at, function, line, *outer = block.splitlines()
        # the compiler has names of its own for parts of a function
        name, *within = (each.split(".")[0] for each in (function, *outer[::2]))
        file, _, number = line.partition(":")
        # "82 (discriminator 2)", or "?" where it is not known
        known = number.split(" ")[0]
        places[int(at, 16)] = Place(file, name, tuple(within), int(known) if known.isdigit() else 0)
    return places


def cut(trace: Iterable[str], base: int, layer: Layer) -> Iterator[Path]:
    """Yield all whole passes of a trace of single instructions; the layer begins at ``base``."""
    passes: dict[str, list[int]] = {}
    for line in trace:
        if match := _TRACE.match(line):
            cpu, at = match[1], int(match[2], 16) - base
            if at == layer.after:
                passes[cpu] = []
            if cpu not in passes or at not in layer.places:
                continue
            passes[cpu].append(at)
            if at == layer.vmrun:
                yield tuple(passes.pop(cpu))
        elif match := _NOT_DONE.match(line):
            _take_back(passes, int(match[1], 16) - base)


def _take_back(passes: dict[str, list[int]], at: int) -> None:
    """Forget an instruction that was not done, and comes again: the last of somebody's, as one thread runs all CPUs."""
    for done in passes.values():
        if done and done[-1] == at:
            done.pop()


def held(path: Path, layer: Layer) -> list[Path]:
    """Return the stretches of a pass in which it holds interrupts.

    One that comes in ends one and begins another; it may have closed the window behind it.
    """
    stretches: list[list[int]] = [[]]
    is_open = False
    for at in path:
        is_open = at in layer.opens or (is_open and at != layer.closes)
        let_in = is_open and at in layer.window
        if let_in or at in layer.comes:
            stretches.append([])
        if not let_in:
            stretches[-1].append(at)
    return [tuple(stretch) for stretch in stretches if stretch]


LINUX, PROGRAM = "Linux", "program"

#: Why somebody was left, by the function that deals with it.
_WHY = {
    "layer_timer_fired": "timer",
    "layer_vectors_acknowledged": "interrupt of Linux's",
    "guests_arrive": "a program arrives",
    "layer_guests_ring": "bell",
    "layer_guests_begin": "calls: begin a program",
    "layer_guests_end": "calls: end a program",
    "layer_guests_send": "calls: move a program",
    "layer_guests_charge": "calls: measure an exit",
    "layer_protect": "calls: protect",
    "exit_own_interrupts": "calls: timer on or off",
    "exit_wrmsr": "writes EFER",
    "layer_protect_fault": "touches protected memory",
    "layer_rt_end": "ends",
    "rt_ask": "calls: deadline",
    "rt_ring_host": "calls: bell",
    "rtos_halt": "halts",
    "layer_fpu_take": "floating point",
}
#: If it was for none of these.
_ELSE = {
    "exit_call": "calls: deadline",
    "rtos_call": "calls",
    "layer_window": "an interrupt that is gone",
    "exit_linux": "enables interrupts",
}
#: The first thing of which all passes have the same.
_COMMON = "layer_guests_look"


@dataclass(frozen=True, order=True)
class Kind:
    """Who was left, why, and who goes on."""

    left: str
    why: str
    next: str

    def __str__(self) -> str:
        return f"{self.left}: {self.why} → {self.next}"


def _functions(path: Iterable[int], layer: Layer) -> dict[str, None]:
    """Return all functions that it goes through, in order, and those first that others were inlined into."""
    seen: dict[str, None] = {}
    for at in path:
        place = layer.places[at]
        seen |= dict.fromkeys((*reversed(place.within), place.function))
    return seen


def kind_of(path: Path, layer: Layer) -> Kind:
    """Tell a pass by the functions that it goes through."""
    begins = _functions(takewhile(lambda at: layer.places[at].function != _COMMON, path), layer)
    why = [_WHY[name] for name in begins if name in _WHY] + [text for name, text in _ELSE.items() if name in begins]
    functions = _functions(path, layer)
    return Kind(
        PROGRAM if "layer_rtos_exit" in functions else LINUX,
        why[0] if why else "something else",
        PROGRAM if "layer_rtos_give" in functions else LINUX,
    )


def sort(passes: Iterable[Path], layer: Layer) -> dict[Kind, Paths]:
    """Return all passes by their kinds, the most frequent first."""
    kinds: dict[Kind, Paths] = {}
    for path, count in Counter(passes).items():
        kinds.setdefault(kind_of(path, layer), Counter())[path] = count
    return dict(sorted(kinds.items(), key=lambda item: -item[1].total()))
