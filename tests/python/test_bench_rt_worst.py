"""What `bench/rt --worst` makes of the layer's last instructions.  No machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.rt_trace import Layer, Place, Unreadable
from bench.rt_worst import cut, latest, records_maximum, way

BASE = 0xFF73F97D80712000
PLACES = {
    1: Place("entry.S", "layer_enter"),  # where it goes on
    3: Place("exit.c", "exit_linux"),
    4: Place("rtos.c", "layer_rtos_exit"),
    5: Place("late.c", "late_record", line=2),
    6: Place("late.c", "late_record", line=3),
    7: Place("guests.c", "layer_guests_look"),
    8: Place("rtos.c", "layer_rtos_give"),
    9: Place("exit.c", "exit_linux"),
    20: Place("entry.S", "layer_enter"),  # VMRUN
}
LAYER = Layer(20, 1, frozenset(), PLACES, frozenset(), frozenset(), 0)
TO_LINUX, TO_PROGRAM, BEGUN = (1, 3, 7, 20), (1, 3, 7, 8, 20), (1, 4, 5, 6)


def _kept(*at: int) -> list[int]:
    return [0, 0, *(BASE + each for each in at)]


def test_passes_of_what_was_kept() -> None:
    """The end of one that had begun before is none; the last one has only begun."""
    assert cut(_kept(7, 20, *TO_LINUX, *BEGUN), BASE, LAYER) == [TO_LINUX, BEGUN]


def test_the_passes_that_led_to_it() -> None:
    """Those up to the last that a program was entered by, three at most."""
    assert latest([TO_LINUX, TO_PROGRAM, BEGUN], LAYER) == [TO_LINUX, TO_PROGRAM]
    assert latest([TO_PROGRAM, *[TO_LINUX] * 3, TO_PROGRAM, BEGUN], LAYER) == [TO_LINUX, TO_LINUX, TO_PROGRAM]
    with pytest.raises(Unreadable, match="no program is entered in 2 passes"):
        latest([TO_LINUX, BEGUN], LAYER)


def test_its_way() -> None:
    assert (
        way((1, 3, 9, 7, 3, 20), LAYER)
        == "layer_enter 1, exit_linux 2, layer_guests_look 1, exit_linux 1, layer_enter 1"
    )


def test_where_a_maximum_is_recorded(tmp_path: Path) -> None:
    source = tmp_path / "late.c"
    source.write_text("count++;\nif (cycles > l->max)\n\tl->max = cycles;\n")
    assert records_maximum(LAYER, source) == 6
    source.write_text("count++;\n")
    with pytest.raises(Unreadable, match="0 lines"):
        records_maximum(LAYER, source)
