"""What `bench/rt --passes` makes of a trace of the layer.  No machine."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from bench.rt_passes_table import LONGEST_HELD, files, functions, goals, longest_held, made_of, summary
from bench.rt_trace import (
    LINUX,
    PROGRAM,
    Kind,
    Layer,
    Path,
    Place,
    Unreadable,
    addresses,
    cut,
    held,
    kind_of,
    parse_layer,
    sort,
)

LISTING = """
layer.elf:     file format elf64-x86-64

0000000000000080 <layer_enter>:
      80:\tpush   %rax
      81:\tvmrun
      84:\tpush   %rdi
0000000000000085 <layer_window>:
      85:\tstgi
      88:\tnop
      89:\tclgi
      8c:\tret
0000000000000090 <layer_stubs>:
      8d:\tpush   $0x0
      8e:\tpush   $0x0
      8f:\tjmp    90
      90:\tandl   $0xfffffdff,0x18(%rsp)
      98:\tiretq
      a0:\tandl   $0x0,%eax
      a8:\tiretq
"""
LINES = """0x0000000000000080
layer_enter
entry.S:62
0x0000000000000081
layer_enter
entry.S:65
0x0000000000000084
rt_wants
rt.c:76
layer_rt_ready
rt.c:82 (discriminator 2)
layer_guests_first.part.0
guests.c:166
0x0000000000000085
layer_window
entry.S:107
0x0000000000000088
layer_window
entry.S:108
0x0000000000000089
layer_window
entry.S:111
0x000000000000008c
layer_window
entry.S:112
0x000000000000008d
layer_stubs
entry.S:120
0x000000000000008e
layer_stubs
entry.S:120
0x000000000000008f
layer_stubs
entry.S:120
0x0000000000000090
layer_stubs
entry.S:140
0x0000000000000098
layer_stubs
entry.S:142
0x00000000000000a0
layer_stubs
entry.S:152
0x00000000000000a8
layer_stubs
entry.S:170
"""


def test_what_is_known_of_the_layer() -> None:
    assert addresses(LISTING) == ["80", "81", "84", "85", "88", "89", "8c", "8d", "8e", "8f", "90", "98", "a0", "a8"]
    layer = parse_layer(LISTING, LINES)
    assert (layer.vmrun, layer.after, layer.window) == (0x81, 0x84, frozenset({0x88}))
    assert (layer.opens, layer.comes, layer.closes) == (frozenset({0x85}), frozenset({0x8D}), 0x90)
    assert layer.places[0x84] == Place("rt.c", "rt_wants", ("layer_rt_ready", "layer_guests_first"), 76)
    assert layer.places[0x8C] == Place("entry.S", "layer_window", line=112)


def test_a_layer_that_cannot_be_cut() -> None:
    with pytest.raises(Unreadable, match="2 instructions vmrun"):
        parse_layer(LISTING.replace("nop", "vmrun"), LINES)
    with pytest.raises(Unreadable, match="6 of 14 instructions"):
        parse_layer(LISTING, LINES.partition("0x000000000000008c")[0])
    with pytest.raises(Unreadable, match="no window with an end"):
        parse_layer(LISTING.replace("clgi", "nop"), LINES)
    with pytest.raises(Unreadable, match="nothing that closes its window"):
        parse_layer(LISTING.replace("andl", "and"), LINES)


BASE = 0xFF73F97D80712000
#: Addresses of the layer that the tests make up: each number is an instruction of a function.
FUNCTIONS = {
    1: ("entry.S", "layer_enter"),  # where it goes on
    2: ("entry.S", "layer_enter"),
    3: ("exit.c", "exit_linux"),
    4: ("rtos.c", "layer_rtos_exit"),
    5: ("rtos.c", "rtos_halt"),
    6: ("timer.c", "layer_timer_fired"),
    7: ("guests.c", "layer_guests_look"),
    8: ("rtos.c", "layer_rtos_give"),
    9: ("vectors.c", "layer_vectors_give"),
    10: ("entry.S", "layer_window"),
    11: ("entry.S", "layer_window"),  # open
    12: ("entry.S", "layer_window"),
    13: ("exit.c", "exit_call"),
    14: ("entry.S", "layer_stubs"),  # closes the window
    15: ("entry.S", "layer_stubs"),  # an interrupt comes
    20: ("entry.S", "layer_enter"),  # VMRUN
}
LAYER = Layer(
    20, 1, frozenset({11}), {at: Place(*place) for at, place in FUNCTIONS.items()}, frozenset({10}), frozenset({15}), 14
)


def _trace(*at: int, cpu: int = 0) -> list[str]:
    return [f"Trace {cpu}: 0x7fb1a0a99140 [00000000/{BASE + each:016x}/18d0c2b0/ff022201] \n" for each in at]


def _cut(*lines: str) -> list[Path]:
    return list(cut(lines, BASE, LAYER))


def test_passes_are_whole() -> None:
    """The end of one that had begun before is none, nor is one in which the layer was left for good."""
    assert _cut(*_trace(3, 20, 1, 3, 9, 20, 1, 3)) == [(1, 3, 9, 20)]
    assert _cut(*_trace(1, 13, 1, 3, 20)) == [(1, 3, 20)]
    # launched: it begins elsewhere
    assert _cut(*_trace(20, 2, 20, 1, 20)) == [(1, 20)]


def test_what_is_not_the_layers_does_not_count() -> None:
    assert _cut("IN: \n", *_trace(1, 3, 5000, 9, 20)) == [(1, 3, 9, 20)]


def test_an_instruction_that_was_not_done_counts_once() -> None:
    stopped = f"Stopped execution of TB chain before 0x7fb1a0aa8240 [{BASE + 3:016x}] \n"
    assert _cut(*_trace(1, 3), stopped, *_trace(3, 9, 20)) == [(1, 3, 9, 20)]
    elsewhere = f"Stopped execution of TB chain before 0x7fb1a0aa8240 [{BASE + 5000:016x}] \n"
    assert _cut(*_trace(1, 3), elsewhere, *_trace(9, 20)) == [(1, 3, 9, 20)]


def test_each_cpu_has_its_own_passes() -> None:
    first, second = _trace(1, 3, 9, 20), _trace(1, 4, 8, 20, cpu=1)
    mixed = [line for pair in zip(first, second, strict=True) for line in pair]
    assert _cut(*mixed) == [(1, 3, 9, 20), (1, 4, 8, 20)]


def test_what_is_held() -> None:
    """An interrupt that comes in by the window holds others until it is over."""
    assert held((1, 3, 10, 11, 12, 7, 20), LAYER) == [(1, 3, 10), (12, 7, 20)]
    assert held((1, 3, 10, 11, 6, 11, 12, 20), LAYER) == [(1, 3, 10), (6,), (12, 20)]
    assert held((1, 3, 20), LAYER) == [(1, 3, 20)]


def test_a_window_that_is_closed_lets_nothing_in() -> None:
    """Not before it is opened again."""
    assert held((1, 10, 11, 15, 6, 14, 11, 12, 7, 10, 11, 20), LAYER) == [(1, 10), (15, 6, 14, 11, 12, 7, 10), (20,)]


def test_an_interrupt_ends_a_stretch() -> None:
    """It was let in, though before the first instruction of the window, or after its last."""
    assert held((1, 10, 15, 6, 12, 15, 6, 20), LAYER) == [(1, 10), (15, 6, 12), (15, 6, 20)]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ((1, 3, 10, 11, 6, 12, 7, 8, 20), Kind(LINUX, "timer", PROGRAM)),
        ((1, 3, 10, 11, 12, 7, 9, 20), Kind(LINUX, "an interrupt that is gone", LINUX)),
        ((1, 3, 13, 7, 9, 20), Kind(LINUX, "calls: deadline", LINUX)),
        ((1, 4, 5, 7, 9, 20), Kind(PROGRAM, "halts", LINUX)),
        # a deadline that has come meanwhile is not why it was left
        ((1, 4, 5, 7, 10, 11, 6, 12, 8, 20), Kind(PROGRAM, "halts", PROGRAM)),
        ((1, 3, 7, 9, 20), Kind(LINUX, "enables interrupts", LINUX)),
        ((1, 4, 7, 8, 20), Kind(PROGRAM, "something else", PROGRAM)),
    ],
)
def test_why_it_was_left(path: Path, kind: Kind) -> None:
    assert kind_of(path, LAYER) == kind


def test_who_was_inlined_tells_it_too() -> None:
    halts = Place("rt.c", "layer_rt_halt", ("rtos_halt", "layer_rtos_exit"))
    inlined = replace(LAYER, places={**LAYER.places, 5: halts})
    assert kind_of((1, 5, 7, 9, 20), inlined) == Kind(PROGRAM, "halts", LINUX)


TICK, HALT = (1, 3, 10, 11, 6, 12, 7, 8, 20), (1, 4, 5, 7, 9, 20)
LONG_HALT = (1, 4, 5, *[7] * 250, 9, 20)


def test_tables() -> None:
    kinds = sort([TICK, HALT, HALT, LONG_HALT], LAYER)
    assert list(kinds) == [Kind(PROGRAM, "halts", LINUX), Kind(LINUX, "timer", PROGRAM)]
    halts, ticks = summary(kinds, LAYER).splitlines()[2:]
    assert halts == "| program | halts | Linux | 3 | 6 | 6 | 255 | 255 |"
    assert ticks == "| Linux | timer | program | 1 | 9 | 9 | 9 | 5 |"
    head, _, halts, ticks = files(kinds, LAYER).splitlines()
    assert head == "| pass | entry.S | exit.c | guests.c | rtos.c | timer.c | vectors.c | all |"
    assert halts == "| program: halts → Linux | 2.0 |  | 84.0 | 2.0 |  | 1.0 | 89.0 |"
    assert ticks == "| Linux: timer → program | 5.0 | 1.0 | 1.0 | 1.0 | 1.0 |  | 9.0 |"
    paths = kinds[Kind(PROGRAM, "halts", LINUX)]
    assert functions(paths, LAYER).startswith("layer_guests_look 84.0, layer_enter 2.0, ")
    assert made_of(longest_held(paths, LAYER), LAYER).startswith("layer_guests_look 250, layer_enter 2, ")


def test_the_goal_can_be_missed() -> None:
    kind = Kind(PROGRAM, "halts", LINUX)

    def met(length: int) -> bool:
        (goal,) = goals({kind: Counter({(1, *[7] * (length - 2), 20): 1})}, LAYER)
        assert goal.found == str(length)
        return goal.met

    assert met(LONGEST_HELD)
    assert not met(LONGEST_HELD + 1)
