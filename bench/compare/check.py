"""A guard against getting slower: `bench/check`.

Counts instructions of what repeats to the last digit, on native Linux and on a
partition, and compares with bench/baseline.json: more than 5 % above it fails.
So does a partition that takes over 1 % more than native Linux where no neighbour works.
Counts hold for one architecture and kernel version; `--update` writes a new
baseline, to be committed with the reason.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench.compare import host, run
from bench.compare.results import Results
from bench.compare.workloads import WORKLOADS
from lab.arch import ARCHES, DEFAULT, Arch
from lab.cache import remove
from lab.kernels import get
from lab.paths import CACHE, SRC

BASELINE = SRC / "bench" / "baseline.json"
TOLERANCE = 0.05
#: What a kernel does by itself, on one CPU; and by how much a partition's may be behind native Linux' there.
ALONE = ("getpid", "fork", "pipe")
BEHIND = 0.01
#: Single ones scatter by a hundredth: a tick more or less, other pages.
RUNS = 4
#: What is ours, and what it stands on.
SYSTEMS = ("native", "shimos")
#: What two CPUs do at once does not repeat so well, for it depends on who is first; and ping says
#: whole microseconds, of which it takes a dozen.
UNSTEADY = frozenset({"pipe-other", "unix-other", "ping", "ram-seqread-128k-8"})


@dataclass(frozen=True)
class Line:
    """One comparison."""

    what: str
    before: float | None
    now: float | None
    tolerance: float = TOLERANCE

    @property
    def change(self) -> float | None:
        """Of the count; None if one of the two is missing."""
        return self.now / self.before - 1 if self.before and self.now else None

    @property
    def bad(self) -> bool:
        """Too many more, or not measured any more."""
        if self.before is None:
            return False
        return self.change is None or self.change > self.tolerance

    def __str__(self) -> str:
        before, now = (f"{v:,.4g}" if v else "-" for v in (self.before, self.now))
        change = f"{self.change:+.1%}" if self.change is not None else ""
        return f"| {self.what} | {before} | {now} | {change} | {'WORSE' if self.bad else 'ok'} |"


def compare(before: Mapping[str, float], now: Mapping[str, float]) -> list[Line]:
    """Compare all that one of the two has."""
    return [Line(what, before.get(what), now.get(what)) for what in sorted({*before, *now})]


def beside_native(now: Mapping[str, float]) -> list[Line]:
    """Compare a partition's counts with native's, of what a kernel does by itself."""
    return [Line(work, now.get(f"native {work}"), now.get(f"shimos {work}"), BEHIND) for work in ALONE]


def table(before: str, lines: list[Line]) -> None:
    """Print them."""
    print(f"| what | {before} | now | change | |\n| --- | --- | --- | --- | --- |", *lines, sep="\n")


def count(directory: Path, arch: Arch) -> dict[str, float]:
    """Return instructions by ``system workload``; the least of some runs, for noise only adds."""
    chosen = tuple(
        w for w in WORKLOADS if "instructions" in w.clocks and arch.name in w.arches and w.name not in UNSTEADY
    )
    plan = run.Plan(SYSTEMS, chosen, ("instructions",), RUNS, run.QUICK, "check")
    file = directory / f"check{arch.suffix}.jsonl"
    remove(file)
    results = Results(file)
    run.everything(plan, results, (replace(run.BOOTS[0], machine=partial(host.machine, arch=arch.name)),))
    found = {}
    for workload in chosen:
        for system in SYSTEMS:
            values = results.values(system, workload.name, "instructions", "check")
            if values:
                found[f"{system} {workload.name}"] = float(f"{min(values):.4g}")
    return found


def main() -> int:
    """Compare with the baseline; status 1 if anything got worse."""
    parser = argparse.ArgumentParser(
        prog="bench/check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arch", choices=ARCHES, default=DEFAULT.name, help="the machine's")
    parser.add_argument("--update", action="store_true", help="what is counted now is the baseline from now on")
    args = parser.parse_args()
    arch = ARCHES[args.arch]
    (kernel,) = get("6.12", arch=arch)
    now = count(CACHE, arch)
    baselines = json.loads(BASELINE.read_text())
    if args.update:
        baselines[arch.name] = {"kernel": kernel.version, "instructions": now}
        BASELINE.write_text(json.dumps(baselines, indent=1, sort_keys=True) + "\n")
        print(f"the baseline has {len(now)} counts of {arch.name} now")
        return 0
    baseline = baselines[arch.name]
    lines = compare(baseline["instructions"], now)
    table("baseline", lines)
    if baseline["kernel"] != kernel.version:
        print(
            f"\nThe baseline is of kernel {baseline['kernel']}, this is {kernel.version}: native's changes are the kernel's."
        )
    print("\nA partition beside native Linux:\n")
    beside = beside_native(now)
    table("native", beside)
    for limit, found in ((TOLERANCE, lines), (BEHIND, beside)):
        worse = [line.what for line in found if line.bad]
        if worse:
            print(f"\nMore than {limit:.0%} worse: {', '.join(worse)}")
    changes = [line.change for line in lines if line.change is not None]
    if changes:
        print(f"\nMiddle of all changes: {statistics.median(changes):+.1%}")
    return 1 if any(line.bad for line in (*lines, *beside)) else 0


if __name__ == "__main__":
    raise SystemExit(main())
