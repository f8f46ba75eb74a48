"""How fast partitions start and what they cost: `bench/start`.

Measured on the lab's machine, inside it, by its own clock: from `shimos run` to
the first line that the partition's own init prints on its console; the same for
`shimos restart`; and the host memory that a running partition takes beyond its
own.  Times of an emulated machine tell whether a goal is met there, not how
fast hardware is.
"""

from __future__ import annotations

import argparse
import statistics

from lab.machine import LAB_INITRD, Machine

#: The goals of issue 2.
RUN_SECONDS, RESTART_SECONDS, OVERHEAD_BYTES = 4.0, 3.0, 2 << 20

_UNTIL_INIT = "shimos console web --read-only </dev/null | grep -q -m{count} lab-init:"


def timed(machine: Machine, command: str) -> float:
    """Seconds that a command takes by the machine's clock."""
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
    """All rows for one partition kernel."""
    run = f"shimos run web --cpus 2-3 --memory 1G --kernel {machine.vmlinuz(flavour)} --initrd {LAB_INITRD}"
    runs, restarts, overheads = [], [], []
    for _ in range(rounds):
        free = machine.mem_free()
        runs.append(timed(machine, f"{run} && {_UNTIL_INIT.format(count=1)}"))
        overheads.append((free - machine.mem_free() - (1 << 30)) / (1 << 20))
        restarts.append(timed(machine, f"shimos restart --force web && {_UNTIL_INIT.format(count=2)}"))
        machine.run("shimos rm --force web")
    met = report(f"run to init, {flavour}", runs, "s", RUN_SECONDS)
    met &= report(f"restart to init, {flavour}", restarts, "s", RESTART_SECONDS)
    met &= report(f"host memory beyond its own, {flavour}", overheads, "MiB", OVERHEAD_BYTES / (1 << 20))
    return met


def main() -> int:
    """Measure and print; status 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--host", default="6.12", help="host kernel")
    args = parser.parse_args()
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
