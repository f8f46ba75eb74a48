"""What is measured: one workload is one row of the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bench.compare.results import Clock
from bench.compare.statistics import Better
from bench.compare.system import System
from lab.arch import ARCHES

ALL = ("native", "shimos", "kvm", "xen")


@dataclass(frozen=True)
class Workload:
    """``run`` measures once and returns the figure, in ``unit``."""

    name: str
    what: str
    unit: str
    run: Callable[[System], float]
    better: Better = "lower"
    systems: tuple[str, ...] = ALL
    #: Of the machine, as Debian calls them.
    arches: tuple[str, ...] = tuple(ARCHES)
    #: On which clocks; instructions make sense where the machine does nothing else.
    clocks: tuple[Clock, ...] = ("times",)
    #: Whose native figure it is compared with, if not its own.
    base: str = ""
    #: What the papers have, as they put it.
    paper: Mapping[str, str] = field(default_factory=dict)
    #: Why SHIMOS is behind native Linux, if it is.
    why: str = ""
    #: Left out by --quick, unless it is named.
    long: bool = False
    #: Needs the lab's network around the machine.
    around: bool = False
    #: More than the usual runs, or fewer.
    runs: float = 1.0


@dataclass(frozen=True)
class Group:
    """One table."""

    name: str
    title: str
    workloads: tuple[Workload, ...]
    #: What is to be said beside it: how it is measured, and why figures are as they are.
    notes: tuple[str, ...]
    #: What the emulator charges differently from hardware, in the words of the report.
    charges: str
