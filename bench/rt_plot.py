"""The histogram of `bench/rt`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

from bench.rt_figures import Row

mpl.use("Agg")
from matplotlib import pyplot as plt


def draw(file: Path, rows: Sequence[Row]) -> None:
    """Write how many activations were how late, a curve for each run."""
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    for row in rows:
        late = sorted(row.latencies.buckets.items())
        if late:
            label = f"{row.kernel}: {row.who}, Linux {row.load}"
            axes.step([least for least, _ in late], [count for _, count in late], where="post", label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("cycles from the deadline to the handler, or cyclictest's thread")
    axes.set_ylabel("activations")
    if rows:
        axes.legend(fontsize=7)
    figure.savefig(file)
    plt.close(figure)
