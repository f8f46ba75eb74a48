"""Figure 4 of the paper and ours.  No machine."""

from __future__ import annotations

from pathlib import Path

from bench.rt_lines import INSTEAD, lines, table


def test_what_is_counted(tmp_path: Path) -> None:
    """As in the paper: C, assembly and makefiles; nothing of a part that has a row of its own, nothing twice."""
    for name, text in (("a.c", "one\n\n  \ntwo\n"), ("Kbuild", "x\n"), ("b.md", "no\n"), ("part/c.S", "1\n2\n3\n")):
        file = tmp_path / "side" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert lines(["side"], source=tmp_path) == 6
    assert lines(["side", "side/part"], source=tmp_path) == 6
    assert lines(["side"], "side/part", tmp_path) == 3


def test_the_table() -> None:
    text = table()
    assert "| SPUMONE, Linux 2.6.24.3 | 161 | 8 |" in text and "| SHIMOS, FreeRTOS V11.2.0 | 0 | 0 |" in text
    assert all(lines(folders, but) > 100 for _, folders, but in INSTEAD)
