"""How fast the IKC ring is beside its anchors: `lab/enter python3 -m bench.ring`.

Two threads on two real CPUs of this machine, in one program (bench/ring): the
round trip of a packet beside that of a bare cache line, and one-way throughput
beside published single-producer, single-consumer queues.  All take turns in many
short rounds, in several processes, because where memory lies matters too.  Each
is run with its waiting sides looking again at once and after a `pause`; the
better median counts.

Like stands against like: message by message against message by message, batches
against batches.  Only ours can tell whether its reader sleeps; "asked" means that
the writer asks (ikc_must_ring(), a full barrier) after each message or batch.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent / "ring"

#: The goals: times the anchor's round trip at most, times the anchor's throughput at least.
ROUND_TRIP, THROUGHPUT = 1.3, 0.9


@dataclass(frozen=True)
class Result:
    """One contender, waiting in one way: nanoseconds per message or round trip, of every round."""

    name: str
    kind: str
    slots: int
    pause: bool
    ns: list[float]

    @property
    def median(self) -> float:
        """The middle round."""
        return statistics.median(self.ns)

    @property
    def spread(self) -> tuple[float, float]:
        """The middle half of the rounds."""
        low, _, high = statistics.quantiles(self.ns, n=4)
        return low, high

    def time(self) -> str:
        """Return a round trip as it is printed."""
        low, high = self.spread
        return f"{self.median:.0f} ns ({low:.0f} to {high:.0f}, best {min(self.ns):.0f})"

    def rate(self) -> str:
        """Return a throughput as it is printed, in millions a second."""
        low, high = (1000 / ns for ns in reversed(self.spread))
        return f"{1000 / self.median:.1f} M/s ({low:.1f} to {high:.1f}, best {1000 / min(self.ns):.1f})"


@dataclass(frozen=True)
class Row:
    """One comparison of the table."""

    what: str
    ours: Result
    anchor: Result
    goal: float | None

    @property
    def ratio(self) -> float:
        """Ours to the anchor's, of times or of rates."""
        ratio = self.ours.median / self.anchor.median
        return ratio if self.ours.kind == "ping" else 1 / ratio

    @property
    def verdict(self) -> str:
        """Whether the goal is met, if there is one."""
        if self.goal is None:
            return "-"
        met = self.ratio <= self.goal if self.ours.kind == "ping" else self.ratio >= self.goal
        return "met" if met else "MISSED"

    def __str__(self) -> str:
        ours, anchor = (
            (self.ours.time(), self.anchor.time())
            if self.ours.kind == "ping"
            else (self.ours.rate(), self.anchor.rate())
        )
        sign = "≤" if self.ours.kind == "ping" else "≥"
        goal = "-" if self.goal is None else f"{sign} {self.goal}"
        return f"| {self.what} | {ours} | {self.anchor.name}: {anchor} | {self.ratio:.2f} | {goal} | {self.verdict} |"


def two_cpus() -> tuple[int, int]:
    """Choose two CPUs that we may use: on different cores of one package, if there are."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        raise SystemExit(f"bench.ring needs two CPUs to itself, this process may use only CPU {allowed[0]}")

    def topology(cpu: int, what: str) -> str:
        try:
            return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/{what}").read_text().strip()
        except OSError:
            return ""

    first = allowed[0]

    def distance(cpu: int) -> tuple[bool, bool, int]:
        return (
            topology(cpu, "physical_package_id") != topology(first, "physical_package_id"),
            topology(cpu, "core_id") == topology(first, "core_id"),
            cpu,
        )

    return first, min(allowed[1:], key=distance)


def cpu_model() -> str:
    """Return what the processor calls itself."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "unknown CPU")


def measure(cpus: tuple[int, int], processes: int, rounds: int, messages: int) -> list[Result]:
    """Build everything, run it so many times, and put all rounds together."""
    results: dict[tuple[str, str, int, bool], Result] = {}
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["make", "--silent", "-j2", "-C", HERE, f"OUT={directory}"], check=True)
        for _ in range(processes):
            command = [f"{directory}/ring", *map(str, (*cpus, rounds, messages))]
            out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            for line in out.splitlines():
                one = json.loads(line)
                key = (one["name"], one["kind"], one["slots"], bool(one["pause"]))
                results.setdefault(key, Result(*key, ns=[])).ns.extend(one["ns"])
    return list(results.values())


def compare(results: list[Result]) -> list[Row]:
    """Return the rows of the table."""

    def best(kind: str, *names: str, slots: int | None = None) -> Result:
        """Return the fastest of these, or of all queues that are not ours."""
        return min(
            (
                result
                for result in results
                if result.kind == kind
                and slots in (None, result.slots)
                and (result.name in names if names else not result.name.startswith("ours"))
            ),
            key=lambda result: result.median,
        )

    each_way = best("ping", "cache line each way")
    rows = [
        Row("round trip, asked", best("ping", "ours, asked"), each_way, ROUND_TRIP),
        Row("round trip, both known to poll", best("ping", "ours"), each_way, ROUND_TRIP),
        # Two rings cannot be one line; how far that is from the least there could be.
        Row("round trip, asked", best("ping", "ours, asked"), best("ping", "the same line both ways"), None),
    ]
    for slots in (256, 1024):
        one, batch = best("one", slots=slots), best("batch", slots=slots)
        rows += [
            Row(f"one by one, {slots} slots, asked", best("one", "ours, asked", slots=slots), one, THROUGHPUT),
            Row(f"one by one, {slots} slots, not asked", best("one", "ours", slots=slots), one, THROUGHPUT),
            Row(f"batches of 16, {slots} slots, asked", best("batch", "ours, asked", slots=slots), batch, THROUGHPUT),
        ]
    # Not what the ring is for: half of each slot is its header.
    rows.append(Row("8 bytes, one by one, 256 slots, not asked", best("word", "ours"), best("word"), None))
    return rows


def main() -> int:
    """Measure and print; status 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: some seconds in all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rounds there")
    args = parser.parse_args()
    cpus = two_cpus()
    processes, rounds, messages = (3, 20, 10000) if args.quick else (8, 50, 20000)
    results = measure(cpus, processes, rounds, messages)
    rows = compare(results)
    print(
        f"{cpu_model()}, CPUs {cpus[0]} and {cpus[1]}; messages of 56 bytes, packets of 48 for the round trip;\n"
        f"{processes} processes of {rounds} rounds of {messages} messages (a tenth for round trips); medians, middle half, best\n"
    )
    print("| what | ours | anchor | ratio | goal | |\n| --- | --- | --- | --- | --- | --- |")
    print(*rows, sep="\n")
    if args.json:
        table = [{"what": row.what, "ratio": row.ratio, "goal": row.goal, "verdict": row.verdict} for row in rows]
        everything = {
            "cpu": cpu_model(),
            "cpus": cpus,
            "table": table,
            "results": [asdict(result) for result in results],
        }
        args.json.write_text(json.dumps(everything) + "\n")
    return 1 if any(row.verdict == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
