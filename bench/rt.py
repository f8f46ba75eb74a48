"""How late interrupts are in a real-time partition, and what it costs Linux: `bench/rt`.

Figures 6, 7 and 3 of "SPUMONE" (2011).  A program with a deadline each millisecond shares the
only CPU of a machine whose clock counts instructions, so a cycle is an instruction and a
nanosecond.  Linux is idle, or works, or works and keeps interrupts off for 2 ms again and again.
On the same machine, and on a real-time kernel, cyclictest does the same by Linux itself.  And
"without separation" is a layer with one change, which makes the program wait until Linux has
interrupts enabled.

A nice spinner keeps Linux from sleeping: while it sleeps, the emulator's clock follows the computer's.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench import (
    rt_alone,
    rt_guarded,
    rt_guarded_table,
    rt_lines,
    rt_lock,
    rt_moves,
    rt_passes,
    rt_plot,
    rt_throughput,
    rt_worst,
)
from bench.rt_figures import (
    ALONE,
    ANCHOR,
    IDLE,
    MASKED,
    OURS,
    PAPER_COST,
    WIDTH,
    WITHOUT,
    WORK,
    Latencies,
    Row,
    cycles_per_second,
    goals,
    parse_cyclictest,
    parse_latency,
    table,
)
from bench.rt_machine import BACKGROUND, IMAGE, SLOWEST, machine_of, prepare, remove_ctl, start_ctl
from lab import build, cache, progress
from lab.machine import Machine
from lab.paths import CACHE
from lab.stage import rt
from lab.stage.partitions import PROGRAMS, WAIT_FOR
from lab.stage.samples import Samples
from tests.support import mutants
from tests.support.mutants import Mutation

HOSTS = ("6.12", "6.1")
REALTIME = "6.12-rt"
LOADS = (IDLE, WORK, MASKED)
#: Without separation each latency is another one, and the program's console keeps 64 KiB of them.
MOST_WITHOUT = 10_000
#: Figure 3's samples.
COST_SAMPLES = 5
#: For so long each instruction of the layer is written down, which takes a minute a second.
PASSES_MILLISECONDS = 1000

#: Linux goes on until it has interrupts enabled, and the processor tells the layer when that is.
WAITS = Mutation(
    "kernel/spumone/layer/arch/x86/next.c",
    "\t\tg = next_rtos();\n\t\tif (g) {\n",
    """\
		g = next_rtos();
		if (g && layer_current == &layer_linux && !(layer_vmcb.save.rflags & X86_FLAGS_IF)) {
			next_to_own();
			layer_vectors_tell();
			return;
		}
		if (g) {
""",
)


def image(activations: int) -> Path:
    """Build rt/programs/latency.c for as many activations."""
    out = CACHE / "build" / f"bench-rt-{activations}"
    with cache.lock("build-bench-rt"), progress.step("building the program that is measured"):
        build.run_make("rt", out, f"RT_ACTIVATIONS={activations}")
    return out / "rt" / "latency.elf"


def exits(machine: Machine) -> tuple[int, float]:
    """Return how often anybody was left for the layer, and when that was."""
    text = machine.run("shimos rt --json; cat /proc/uptime").output
    found, _, uptime = text.rpartition("}")
    return sum(vcpu["exits"] for vcpu in json.loads(found + "}")["cpus"]), float(uptime.split()[0])


def partition(machine: Machine, load: str, seconds: int) -> tuple[str, Latencies]:
    """Run the program once; what it said, and what that means."""
    with rt.busy(machine, *BACKGROUND[load]), rt.awake(machine):
        start_ctl(machine)
        before, began = exits(machine)
        machine.run(
            f"{WAIT_FOR} -t {4 * seconds + 30} value 'stopped|crashed' /sys/class/shimos/ctl/state",
            timeout=SLOWEST * (4 * seconds + 30),
        )
        after, ended = exits(machine)
        text = machine.run("shimos logs --console ctl", timeout=SLOWEST).output
        remove_ctl(machine)
    return text, parse_latency(text, (after - before) / (ended - began))


def anchor(machine: Machine, load: str, seconds: int, cycles: int) -> Latencies:
    """Run Debian's cyclictest once: a thread of the highest priority, woken each millisecond."""
    with rt.busy(machine, *BACKGROUND[load]), rt.awake(machine):
        text = machine.run(
            f"/mnt/usr/bin/cyclictest -q -m -p 99 -i 1000 -D {seconds} -h 10000", timeout=SLOWEST * (seconds + 30)
        ).output
    return parse_cyclictest(text, seconds * 1000, cycles)


class Measuring:
    """All runs, as far as they have come."""

    def __init__(self, activations: int):
        self.seconds = activations // 1000
        self.image = image(activations).read_bytes()
        self.short = min(activations, MOST_WITHOUT)
        self.rows: list[Row] = []
        self.cycles = 0
        self.cost: tuple[Samples, Samples] | None = None

    def _add(self, machine: Machine, who: str, load: str, latencies: Latencies) -> None:
        self.rows.append(Row(machine.flavour, who, load, latencies))
        print(table(self.rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)

    def partitions(self, machine: Machine, who: str, loads: tuple[str, ...], seconds: int) -> None:
        """Measure a real-time partition."""
        machine.load()
        for load in loads:
            with progress.step(f"{machine.flavour}: {who}, Linux {load}"):
                text, found = partition(machine, load, seconds)
            self.cycles = cycles_per_second(text)
            self._add(machine, who, load, found)

    def anchors(self, machine: Machine) -> None:
        """Measure cyclictest."""
        for load in LOADS:
            with progress.step(f"{machine.flavour}: {ANCHOR}, Linux {load}"):
                found = anchor(machine, load, self.seconds, self.cycles)
            self._add(machine, ANCHOR, load, found)

    def host(self, flavour: str) -> None:
        """Measure all that a host kernel is good for."""
        with machine_of(flavour) as machine:
            prepare(machine)
            machine.put(IMAGE, self.image)
            self.partitions(machine, OURS, LOADS, self.seconds)
            if flavour == HOSTS[0]:
                self.anchors(machine)
                self.cost = figure_3(machine)
            machine.assert_dmesg_clean()

    def alone(self) -> None:
        """Measure the program when Linux, which had the CPU, has gone; by the layer, to the entry."""
        found = rt_alone.measure(HOSTS[0], self.seconds * 1000)
        self.rows.append(Row(HOSTS[0], OURS, ALONE, found))

    def realtime_kernel(self) -> None:
        """Measure what Linux itself can do."""
        with machine_of(REALTIME) as machine:
            prepare(machine)
            self.anchors(machine)

    def without(self) -> None:
        """Measure with the layer that waits for Linux."""
        with machine_of(HOSTS[0]) as machine:
            mutants.install(machine, HOSTS[0], WAITS)
            prepare(machine)
            machine.put(IMAGE, image(self.short).read_bytes())
            self.partitions(machine, WITHOUT, (WORK, MASKED), self.short // 1000)


def seconds_of(machine: Machine, command: str) -> float:
    """Return the seconds that a command takes by the machine's clock."""
    text = machine.run(f"bash -c 'TIMEFORMAT=%R; time {command} >/dev/null'", timeout=SLOWEST * 30).output
    return float(re.findall(r"^(\d+\.\d+)\s*$", text, re.MULTILINE)[-1])


def figure_3(machine: Machine) -> tuple[Samples, Samples]:
    """Time a job on Linux alone, and beside a program that only takes its timer's interrupts; in turn."""
    alone, beside = [], []
    with progress.step("what a tick of 1 kHz costs a job of Linux"):
        seconds_of(machine, rt.COMPILE)
        for _ in range(COST_SAMPLES):
            alone.append(seconds_of(machine, rt.COMPILE))
            start_ctl(machine, f"{PROGRAMS}/latency-endless.elf")
            beside.append(seconds_of(machine, rt.COMPILE))
            remove_ctl(machine)
    return Samples.of(alone), Samples.of(beside)


def print_cost(alone: Samples, beside: Samples) -> None:
    """Print figure 3."""
    print("\n| a job of Linux, median (least to most) | alone | beside a 1 kHz program | cost | paper (figure 3) |")
    print("| --- | --- | --- | --- | --- |")
    spent = [f"{s.median:.3f} s ({min(s.values):.3f} to {max(s.values):.3f})" for s in (alone, beside)]
    print(
        f"| compiling Python modules | {' | '.join(spent)} | {beside.median / alone.median - 1:+.2%} | {PAPER_COST:+.1%} |"
    )


def parts(text: str) -> tuple[float, ...]:
    """Return parts of a core, each from 0 to less than 1."""
    found = tuple(map(float, text.split(",")))
    if not all(0 <= part < 1 for part in found):
        raise ValueError(text)
    return found


def main() -> int:
    """Measure and print; 2 if a goal is not met."""
    parser = argparse.ArgumentParser(
        prog="bench/rt", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--activations", type=int, default=100_000, help="of each run, whole thousands (100,000)")
    parser.add_argument("--quick", action="store_true", help="2,000 of them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers and histograms, too")
    parser.add_argument("--histogram", type=Path, metavar="FILE", help="draw them as SVG")
    parser.add_argument(
        "--passes",
        type=int,
        nargs="?",
        const=PASSES_MILLISECONDS,
        metavar="MS",
        help=f"only count the instructions of each pass through the layer, for so many of the machine's milliseconds ({PASSES_MILLISECONDS})",
    )
    parser.add_argument(
        "--moves", action="store_true", help="only measure for how long a program that moves is on no CPU"
    )
    parser.add_argument(
        "--worst",
        action="store_true",
        help="only show what the layer did when the program was entered later than ever, with --protected",
    )
    add_parts = partial(parser.add_argument, type=parts, nargs="?", const=rt_throughput.PARTS, metavar="PART,...")
    add_parts(
        "--throughput",
        help="only run hackbench beside programs that take these parts of a core, as in 0.2,0.8 (figure 9)",
    )
    add_parts("--lock", help="only let all CPUs want one lock beside such programs (figure 8)")
    parser.add_argument(
        "--guarded",
        action="store_true",
        help="only count what a guard under a partition costs it: system calls, forks, page faults, pipes, a shared disk",
    )
    args = parser.parse_args()
    activations = 2000 if args.quick else args.activations
    if activations < 1000 or activations % 1000:
        parser.error("--activations: whole thousands")
    host = HOSTS[0]
    only: list[tuple[object, Callable[[], bool]]] = [
        (args.guarded, lambda: rt_guarded_table.report(rt_guarded.measure(host))),
        (args.lock, lambda: rt_lock.report(host, args.lock)),
        (args.moves, lambda: rt_moves.report(host)),
        (args.passes, lambda: rt_passes.measure(host, args.passes)),
        (args.throughput, lambda: rt_throughput.report(host, args.throughput)),
        (args.worst, lambda: rt_worst.measure(host, image(activations).read_bytes(), activations)),
    ]
    for wanted, report_it in only:
        if wanted:
            return 0 if report_it() else 2
    measuring = Measuring(activations)
    for flavour in HOSTS:
        measuring.host(flavour)
    measuring.alone()
    measuring.without()
    measuring.realtime_kernel()
    return report(measuring, args.json, args.histogram)


def report(found: Measuring, file: Path | None, histogram: Path | None) -> int:
    """Print everything; the exit status."""
    print(
        f"\nLatencies in cycles, of which a second of the emulated clock has {found.cycles:,}: an instruction is one."
    )
    print("cyclictest says microseconds, which are converted by that clock. Percentiles are the upper ends of")
    print(
        f"buckets: of {WIDTH} cycles, cyclictest's of {round(found.cycles / 1_000_000):,}. The paper's figures 6 and 7 are plots without numbers.\n"
    )
    print(table(found.rows))
    print("\nThe emulator's limits: leaving a guest, empty TLBs and nested page tables cost nothing there;")
    print("on hardware each exit takes some thousand cycles.")
    if found.cost:
        print_cost(*found.cost)
    print(f"\n{rt_lines.table()}")
    judged = goals(found.rows, found.cycles)
    print("\n| goal | found | |\n| --- | --- | --- |", *judged, sep="\n")
    if file:
        cost = [list(samples.values) for samples in found.cost or ()]
        records = {"cycles_per_second": found.cycles, "rows": [row.record() for row in found.rows], "job_seconds": cost}
        file.write_text(json.dumps(records, indent=1) + "\n")
    if histogram:
        rt_plot.draw(histogram, found.rows)
    return 0 if all(goal.met for goal in judged) else 2


if __name__ == "__main__":
    raise SystemExit(main())
