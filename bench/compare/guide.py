"""The report's beginning: what is compared, how to read it, and all of it in one table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from statistics import median

from bench.compare.results import Clock
from bench.compare.tables import BEHIND, TITLES, Row, told

#: From here on SHIMOS counts as faster than native Linux: as far from it as BEHIND.
AHEAD = 1 / BEHIND
_SYSTEMS = {
    "native": "one Linux kernel that has the machine: all four CPUs, unless a row says otherwise",
    "shimos": "kernels side by side, each with CPUs, memory and devices of its own, nothing underneath:"
    " the host and one or two partitions, stock kernels all",
    "kvm": "guests of the host's Linux, by QEMU, with virtio disks and networks",
    "xen": "domains on Xen, with its own disks and networks; what is compared with native runs in domains without privileges",
}
_READING = """\
`{1/2}` is the papers' way to say who works: one process on a kernel that has two CPUs.
`{1/2, 1/2}` are two such kernels at the same time, each with its process; `{2/4}` is one kernel of four CPUs with both.

A plot has one bar for each row and system: how many times native Linux' speed it reached.
Beyond the black line it is faster than native Linux, short of it slower, whatever the unit; the figures themselves are below the plot.
"""


def text(systems: Iterable[str]) -> str:
    """Return what the systems with results are, and how to read plots and rows, in Markdown."""
    found = set(systems)
    lines = [f"| {TITLES[name]} | {what} |" for name, what in _SYSTEMS.items() if name in found]
    return "\n".join(["## What is compared", "", "| system | what it is |", "| --- | --- |", *lines, "", _READING])


def overview(groups: Iterable[tuple[str, Clock, list[Row]]]) -> str:
    """Return a row for each table: how many of its rows SHIMOS wins, and its middle ratio, in Markdown.

    ``groups`` has the title, the clock and the rows of each.  Empty if nothing can be compared.
    """
    lines = []
    for title, clock, rows in groups:
        speeds = [speed for row in rows if (speed := row.cells["shimos"].speed) is not None]
        if not speeds:
            continue
        ahead = sum(speed > AHEAD for speed in speeds)
        behind = sum(speed < BEHIND for speed in speeds)
        counts = f"{ahead} | {len(speeds) - ahead - behind} | {behind}"
        lines.append(
            f"| [{title}](#{anchor(title)}) | {told(clock)} | {len(speeds)} | {counts} | {median(speeds):.2f} |"
        )
    if not lines:
        return ""
    near = f"{1 - BEHIND:.0%}"
    head = f"| work | by | rows | faster | within {near} | slower | middle row, x native |"
    return "\n".join(["## SHIMOS beside native Linux, at a glance", "", head, "|" + " --- |" * 7, *lines])


def anchor(title: str) -> str:
    """Return the name by which a heading is linked to, as GitHub and the page have it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
