"""Figure 4 of "SPUMONE" (2011): how many lines of the systems that share a CPU had to be changed.  No machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lab.paths import SRC

#: What the paper counts, and Rust.
_COUNTED = ("*.c", "*.h", "*.S", "*.rs", "Makefile", "Kbuild")
#: The paper's table: lines added to Linux and removed from it.
PAPER = (
    ("SPUMONE, Linux 2.6.24.3", "161", "8"),
    ("RTLinux 3.2, Linux 2.6.9", "2,798", "1,131"),
    ("RTAI 3.6.2, Linux 2.6.19", "5,920", "163"),
    ("OK Linux, Linux 2.6.24", "28,149", "-"),
)
#: Ours: the kernels are Debian's own files; rt/freertos/kernel.sha256 holds FreeRTOS's, and cargo embassy's, to what
#: their authors published.
OURS = (
    ("SHIMOS, Debian's Linux 6.12 and 6.1", "0", "0"),
    ("SHIMOS, FreeRTOS V11.2.0", "0", "0"),
    ("SHIMOS, embassy-executor 0.10.0", "0", "0"),
)
#: What is there instead, beside them.
INSTEAD = (
    ("the module of Linux's side", ("kernel/spumone",), "kernel/spumone/layer"),
    ("the layer", ("kernel/spumone/layer",), ""),
    ("FreeRTOS's port", ("rt/freertos",), ""),
    ("embassy's port", ("rt/embassy",), ""),
    ("the board, which any program may use", ("rt/board",), ""),
)


def lines(folders: Sequence[str], but: str = "", source: Path = SRC) -> int:
    """Count the lines, without blank ones, of all that the paper would count in these folders."""
    files = {file for folder in folders for pattern in _COUNTED for file in (source / folder).rglob(pattern)}
    kept = [file for file in files if not (but and file.is_relative_to(source / but))]
    return sum(bool(line.strip()) for file in kept for line in file.read_text().splitlines())


def table() -> str:
    """Return figure 4, and the lines that are there instead."""
    rows = [f"| {' | '.join(row)} |" for row in (*OURS, *PAPER)]
    instead = [f"| {what} | {lines(folders, but):,} |" for what, folders, but in INSTEAD]
    return "\n".join(
        [
            "| lines of the operating systems (paper: figure 4) | added | removed |",
            "| --- | --- | --- |",
            *rows,
            "",
            "| lines beside them | |",
            "| --- | --- |",
            *instead,
        ]
    )
