"""How fast partitions start and what they cost: `bench/start`.

Measured on the lab's machine, inside it, by its own clock: from `shimos run` to
the first line that the partition's own init prints on its console; the same for
`shimos restart`; and the host memory that a running partition takes beyond its
own.  Times of an emulated machine tell whether a goal is met there, not how
fast hardware is.  With --count, instructions instead, on each architecture.
"""

from __future__ import annotations

import argparse
import statistics

from bench import start_count
from bench.start_command import UNTIL_INIT, command
from lab.machine import Machine

#: The goals of issue 2.
RUN_SECONDS, RESTART_SECONDS, OVERHEAD_BYTES = 4.0, 3.0, 2 << 20


def timed(machine: Machine, command: str) -> float:
    """Return the seconds that a command takes by the machine's clock."""
    out = machine.run(f"s=$EPOCHREALTIME; {command} >/dev/null; e=$EPOCHREALTIME; echo $s $e", timeout=120).output
    start, end = map(float, out.split()[-2:])
    return end - start


def report(what: str, values: list[float], unit: str, goal: float) -> bool:
    """Print one row; True if the median meets the goal."""
    middle = statistics.median(values)
    verdict = "met" if middle <= goal else "MISSED"
    print(
        f"| {what} | {middle:.2f} {unit} | {min(values):.2f} to {max(values):.2f} | {len(values)} | {goal:g} {unit} | {verdict} |"
    )
    return middle <= goal


def measure(machine: Machine, flavour: str, rounds: int) -> bool:
    """Print all rows for one partition kernel."""
    run = command(machine, flavour)
    runs, restarts, overheads = [], [], []
    for _ in range(rounds):
        free = machine.mem_free()
        runs.append(timed(machine, f"{run} && {UNTIL_INIT.format(count=1)}"))
        overheads.append((free - machine.mem_free() - (1 << 30)) / (1 << 20))
        restarts.append(timed(machine, f"shimos restart --force web && {UNTIL_INIT.format(count=2)}"))
        machine.run("shimos rm --force web")
    met = report(f"run to init, {flavour}", runs, "s", RUN_SECONDS)
    met &= report(f"restart to init, {flavour}", restarts, "s", RESTART_SECONDS)
    met &= report(f"host memory beyond its own, {flavour}", overheads, "MiB", OVERHEAD_BYTES / (1 << 20))
    return met


def main() -> int:
    """Measure and print; status 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="starts of each kernel")
    parser.add_argument("--host", default="6.12", help="host kernel")
    parser.add_argument("--count", action="store_true", help="instructions instead of time, on amd64 and arm64")
    args = parser.parse_args()
    if args.count:
        return 0 if start_count.table(args.rounds) else 1
    with Machine(kernel=args.host) as machine:
        print(
            f"host {machine.versions[args.host]}, accelerator {machine.accelerator}, 4 CPUs, 1 GiB partition on CPUs 2-3\n"
        )
        print("| what | median | range | runs | goal | |\n| --- | --- | --- | --- | --- | --- |")
        results = [measure(machine, flavour, args.rounds) for flavour in ("6.1", "6.12")]
        machine.assert_dmesg_clean()
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
