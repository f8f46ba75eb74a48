"""One plot for each table: times native's speed."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

from bench.compare.results import Clock
from bench.compare.tables import TITLES, Row, told
from bench.compare.workload import Group

mpl.use("Agg")
from matplotlib import pyplot as plt

_COLOURS = {"shimos": "#2a6f97", "kvm": "#e07a2f", "xen": "#7a7a7a"}
_BAR = 0.8


def draw(directory: Path, group: Group, clock: Clock, found: list[Row]) -> str | None:
    """Write SVG and PNG; returns their stem, or None if there is nothing to compare."""
    systems = [s for s in _COLOURS if any(r.cells[s].speed is not None for r in found)]
    shown = [r for r in found if any(r.cells[s].speed is not None for s in systems)]
    if not shown:
        return None
    figure, axes = plt.subplots(figsize=(8, 0.8 + 0.28 * len(shown) * (len(systems) + 0.6)), layout="constrained")
    height = _BAR / len(systems)
    for number, system in enumerate(systems):
        places = [row + number * height for row in range(len(shown))]
        speeds = [r.cells[system].speed or 0 for r in shown]
        bars = axes.barh(places, speeds, height, label=TITLES[system], color=_COLOURS[system])
        labels = axes.bar_label(bars, [f"{s:.2f}" if s else "" for s in speeds], padding=3, fontsize=8)
        for label in labels:  # not through the line of native's speed
            label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5})
    axes.set_yticks([row + _BAR / 2 - height / 2 for row in range(len(shown))], [r.workload.what for r in shown])
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.margins(x=0.12)
    axes.set_xlabel(f"times native Linux' speed, by {told(clock)}")
    axes.legend(fontsize=8)
    axes.set_title(group.title, fontsize=10)
    stem = f"{group.name}-{clock}"
    for kind in ("svg", "png"):
        figure.savefig(directory / f"{stem}.{kind}", dpi=120)
    plt.close(figure)
    return stem
