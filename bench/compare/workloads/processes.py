"""System calls, processes, context switches, pipes: what one kernel does by itself."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from bench.compare.system import Kernel, System, together
from bench.compare.workload import Group, Workload

#: Always at the same addresses: where a program, its libraries and its stack are decides how many page
#: tables fork copies, on arm64 by several percent.
MICRO = "setarch --addr-no-randomize /bench/micro"


def micro(kernel: Kernel, work: str, count: int) -> float:
    """Return nanoseconds of one turn."""
    return float(kernel.run(f"{MICRO} {work} {count}"))


def loop(work: str, count: int, jobs: int = 1, unit: float = 1) -> Callable[[System], float]:
    """Measure as many instances at once, as in the papers; ``unit`` is how many nanoseconds count as one."""

    def run(system: System) -> float:
        with system.jobs(jobs) as kernels:
            return statistics.mean(together(kernels, lambda k: micro(k, work, system.count(count)))) / unit

    return run


def _single(name: str, what: str, count: int, paper: dict[str, str] | None = None) -> Workload:
    unit, size = ("ns", 1) if name == "getpid" else ("us", 1000)
    return Workload(name, what, unit, loop(name, count, unit=size), clocks=("times", "instructions"), paper=paper or {})


GROUP = Group(
    "processes",
    "System calls, processes, context switches",
    (
        _single("getpid", "getpid {1/2}", 100_000, {"shimos": "1.00", "kvm": "−56 %", "xen": "−56 %"}),
        _single("fork", "forkwait {1/2}", 1000, {"shimos": "1.00", "xen": "0.28"}),
        Workload(
            "fork-2",
            "forkwait {1/2, 1/2}, native {2/4}",
            "us",
            loop("fork", 2000, 2, unit=1000),
            paper={"shimos": "1.26", "xen": "0.34"},
        ),
        _single("exec", "vfork, exec, wait {1/2}", 400),
        _single("switch", "context switch, 2 processes, one CPU", 3000),
        _single("pipe", "pipe round trip, one CPU", 3000),
        _single("pipe-other", "pipe round trip, two CPUs", 2000),
        _single("unix", "AF_UNIX stream round trip, one CPU", 3000),
        _single("unix-other", "AF_UNIX stream round trip, two CPUs", 2000),
    ),
    (
        "One kernel with two CPUs does the work, the other one is idle; native Linux has two of its CPUs switched off."
        " In {1/2, 1/2} each kernel does it, beside native Linux with four CPUs, which does it twice: the mean of both.",
        "A partition's kernel runs in ring 0 on its own CPUs and nobody intercepts what it does: instruction counts"
        " differ from native only by what its timers and its smaller machine make of it.",
    ),
    "Nested paging costs a real machine up to 24 memory accesses for a missing TLB entry instead of 4, fork and exec"
    " most of all; an emulator walks both tables in software and keeps the result, see the last table. A wake-up of"
    " another CPU is an IPI, which in a guest leaves it twice on hardware without AVIC.",
)
