"""The measured comparison: `bench/run`.

Native Linux, SHIMOS, KVM and Xen do the same work on the same machine: the lab's,
with four emulated CPUs.  A first machine's clock tells time as the emulator makes
it; a second one's counts instructions, for work that nothing else runs beside.
What was measured is kept in bench/report/results.jsonl, by git commit: an
interrupted run goes on where it was.  bench/report/ then holds the report.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.compare import host, report, xen
from bench.compare.here import Here
from bench.compare.kvm import kvm
from bench.compare.others import Others
from bench.compare.results import CLOCKS, Clock, Measurement, Results
from bench.compare.shimos import shimos
from bench.compare.system import System
from bench.compare.workload import ALL, Workload
from bench.compare.workloads import WORKLOADS
from lab import progress
from lab.boot import BootError
from lab.command import run as command
from lab.machine import Machine
from lab.paths import SRC

REPORT = SRC / "bench" / "report"


@dataclass(frozen=True)
class Boot:
    """A machine, and the systems that share one boot of it, in this order."""

    machine: Callable[[bool], Machine]
    systems: dict[str, Callable[[Machine, float], AbstractContextManager[System]]]


BOOTS = (Boot(host.machine, {"native": host.native, "shimos": shimos, "kvm": kvm}), Boot(xen.machine, {"xen": xen.xen}))


def here_boot(cache: Path) -> Sequence[Boot]:
    """Return this machine, and what shares one boot of it."""
    return (replace(BOOTS[0], machine=lambda _: Here(cache, host.copies())),)


#: Guests do not come up while the emulator counts instructions, by a fault of its own (docs/lab.md).
COUNTED = ("native", "shimos")
_MEASURED = (
    *("kernel", "tool", "lib", "lab", "bench/guest", "bench/programs", "bench/compare/workloads"),
    *(f"bench/compare/{file}.py" for file in ("disks", "host", "here", "shimos", "kvm", "xen", "system")),
)
QUICK, FULL = 0.25, 1.0
#: Runs of one boot.
_A_TURN = 5


@dataclass(frozen=True)
class Plan:
    """What shall be there at the end."""

    systems: tuple[str, ...]
    workloads: tuple[Workload, ...]
    clocks: tuple[Clock, ...]
    runs: int
    scale: float
    commit: str

    def pending(self, results: Results, system: str, clock: Clock) -> list[tuple[Workload, int]]:
        """Return what is missing, run after run."""
        if system not in self.systems or (clock == "instructions" and system not in COUNTED):
            return []
        return [
            (w, run)
            for w in self.workloads
            if system in w.systems and clock in w.clocks
            for run in range(self._runs(w, clock))
            if not results.has(system, w.name, clock, run, self.commit)
        ]

    @property
    def turns(self) -> list[int]:
        """How many runs there shall be after each boot."""
        return [*range(_A_TURN, self.runs, _A_TURN), self.runs]

    def _runs(self, workload: Workload, clock: Clock) -> int:
        # A count repeats to the last digit; the second one shows that it does.
        return 2 if clock == "instructions" else max(1, round(self.runs * workload.runs))


def version(quick: bool) -> str:
    """Return the commit whose results belong together: the last one that changed what is measured or how.

    A short run's do not mix with a long one's.
    """
    commit = command("git", "-C", str(SRC), "log", "-1", "--format=%h", "--abbrev=12", "--", *_MEASURED).strip()
    dirty = command("git", "-C", str(SRC), "status", "--porcelain", "--", *_MEASURED).strip()
    return f"{commit}{'-dirty' if dirty else ''}{'-quick' if quick else ''}"


@contextmanager
def booted(boot: Boot, clock: Clock) -> Iterator[Machine]:
    """Yield the machine, booted and prepared; it is switched off afterwards."""
    with progress.step(f"booting the machine of {', '.join(boot.systems)} ({clock})"):
        machine = boot.machine(clock == "instructions").start()
    try:
        host.prepare(machine)
        yield machine
    finally:
        machine.stop()


def measure(plan: Plan, results: Results, system: System, clock: Clock, todo: Sequence[tuple[Workload, int]]) -> bool:
    """Run what is pending on a system; False if that died."""
    for workload, run in todo:
        began, others = time.monotonic(), Others(system.machine.process)
        value, error = None, ""
        try:
            value = workload.run(system)
        except Exception as failure:  # whatever it is, hours of other work must go on
            error = f"{type(failure).__name__}: {failure}"[:2000]
        busy = None if error else round(others.cpus(), 2)
        results.add(Measurement(system.name, workload.name, clock, run, plan.commit, value, error, busy))
        said = f"{value:.6g} {workload.unit}" if value is not None else f"FAILED: {error[:300]}"
        progress.say(f"{system.name:7} {workload.name:14} run {run}: {said} ({time.monotonic() - began:.1f} s)")
        if error and not system.alive():
            return False
    return True


def everything(plan: Plan, results: Results, boots: Sequence[Boot] = BOOTS) -> None:
    """Measure all systems on all clocks."""
    # In turns, so that a busy hour of the computer falls on all of them.
    for clock, runs, boot in itertools.product(plan.clocks, plan.turns, boots):
        part = replace(plan, runs=runs)
        for _ in range(2):  # what a death left undone gets a new machine: the old one may be the reason
            pending = any(part.pending(results, system, clock) for system in boot.systems)
            if not pending or one_boot(part, results, boot, clock):
                break


def one_boot(plan: Plan, results: Results, boot: Boot, clock: Clock) -> bool:
    """Run what is pending of a machine's systems; False if it, or one of them, died."""
    try:
        with booted(boot, clock) as machine:
            lived = [one_system(plan, results, boot, name, machine, clock) for name in boot.systems]
            if any(lived):
                report.keep_facts(results.directory, clock, "-".join(boot.systems), report.facts(machine))
            return all(lived)
    except (BootError, AssertionError) as failure:
        progress.say(f"no machine for {', '.join(boot.systems)}: {str(failure)[-1500:]}")
        return False


def one_system(plan: Plan, results: Results, boot: Boot, name: str, machine: Machine, clock: Clock) -> bool:
    """Run what is pending of one system; False if it died."""
    todo = plan.pending(results, name, clock)
    if not todo:
        return True
    with progress.step(f"measuring {name} ({clock}, {len(todo)} runs)"):
        try:
            with boot.systems[name](machine, plan.scale) as system:
                if measure(plan, results, system, clock, todo):
                    return True
        except AssertionError as failure:
            progress.say(f"{name} did not come up or go: {str(failure)[-1500:]}")
    progress.say(f"{name} died")
    return False


def main() -> int:
    """Measure what is missing, then write the report."""
    parser = argparse.ArgumentParser(
        prog="bench/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [w.name for w in WORKLOADS]
    parser.add_argument("--quick", action="store_true", help="shorter runs of less, within 25 minutes on 2 cores")
    parser.add_argument("--only", nargs="+", choices=names, metavar="WORK", help=f"only these: {', '.join(names)}")
    parser.add_argument("--systems", help=f"only these, by commas: {','.join(ALL)} (with --quick xen only if named)")
    parser.add_argument("--clocks", default="times,instructions", help="only one of the two")
    parser.add_argument("--runs", type=int, help="how often (3 with --quick, else 10, the papers' number)")
    parser.add_argument("--here", type=Path, metavar="CACHE", help=argparse.SUPPRESS)
    parser.add_argument("--report", action="store_true", help="measure nothing, only write the report anew")
    args = parser.parse_args()
    chosen = [w for w in WORKLOADS if (w.name in args.only if args.only else not (args.quick and w.long))]
    if args.here:  # CPUs that count no instructions, and nothing around the machine
        chosen = [w for w in chosen if not w.around]
        args.clocks = "times"
    # Xen's domains take four minutes to come up in the emulator, and half an hour to measure.
    systems = tuple(args.systems.split(",")) if args.systems else tuple(s for s in ALL if s != "xen" or not args.quick)
    plan = Plan(
        systems,
        tuple(chosen),
        tuple(c for c in CLOCKS if c in args.clocks.split(",")),
        args.runs or (3 if args.quick else 10),
        QUICK if args.quick else FULL,
        version(args.quick),
    )
    results = Results(REPORT / "results.jsonl")
    if not args.report:
        everything(plan, results, here_boot(args.here) if args.here else BOOTS)
    page = report.write(REPORT, results, plan.commit)
    progress.say(f"the report: {Path('bench/report') / page.name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
