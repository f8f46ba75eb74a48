"""What inter-kernel communication costs: `bench/ikc`.

Three tables.  The ring in user space on two real CPUs of this machine, beside a
bare cache line and published queues (bench/ring.py).  Kernels on the lab's machine:
round trips and packets a second, beside an interrupt between two CPUs of one kernel
and a pipe; times there are an emulator's, so only the ratios within the table mean
something.  And the instructions of each step, counted by the emulator; a round trip's with
the host's APICs in either mode, too (`--only modes`).

The paper's figures are from section 5 of SHIMOS 2009 (2 GHz cores).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench import plugin
from lab import progress
from lab.machine import Machine
from lab.spec import X2APIC
from lab.stage.traffic import Kernel, ikc, kernels, send_all

#: The issue's goal for doorbells per packet under load.
DOORBELLS = 0.05
PAPER_RTT_US, PAPER_PACKETS = 2.7, 1.2e6

MODULES = ("shimos_ikc_test", "shimos_ikc_bench")
WEB = (("web", "6.1", "2-3"),)
PIPE = "/usr/lib/shimos-test/pipe_rtt"


@dataclass
class Times:
    """Round trips in nanoseconds, a median and 99th percentile for each run."""

    medians: list[float]
    p99s: list[float]

    @property
    def median(self) -> float:
        """Return the median of the runs' medians, in nanoseconds."""
        return statistics.median(self.medians)

    def text(self) -> str:
        """Return microseconds: the median of medians, their range, the median 99th percentile."""
        return (
            f"{self.median / 1000:.1f} us ({min(self.medians) / 1000:.1f} to {max(self.medians) / 1000:.1f})"
            f" | {statistics.median(self.p99s) / 1000:.1f} us"
        )


def values(text: str) -> dict[str, float]:
    """Read `name value` lines."""
    return {name: float(value) for name, value in (line.split() for line in text.splitlines() if line.strip())}


def bench(kernel: Kernel, command: str, prefix: str = "") -> dict[str, float]:
    """Run one command of the benchmark's module; see tests/modules/shimos_ikc_bench.c."""
    script = f"echo {command} >/proc/ikc_bench && cat /proc/ikc_bench"
    return values(kernel.shell.run(f"{prefix}sh -c '{script}'", timeout=120).output)


def polling(host: Kernel, web: Kernel, count: int) -> dict[str, float]:
    """Measure while both sides poll: web serves in the background meanwhile."""
    web.shell.run("(echo serve 60000 >/proc/ikc_bench) >/dev/null 2>&1 & echo $! >/serve")
    found = bench(host, f"poll 1 {count}")
    web.shell.run("kill -9 $(cat /serve); while [ -d /proc/$(cat /serve) ]; do :; done")
    return found


def ping(machine: Machine, options: str, count: int) -> dict[str, float]:
    """Run `shimos ping`: programs, through the echo service of the other kernel."""
    text = machine.run(f"shimos ping --json -i 0 -c {count} {options} web", timeout=120).output
    trip = json.loads(text)["round_trip"]
    return {"median": trip["median_ns"], "p99": trip["p99_ns"]}


def round_trips(machine: Machine, found: list[Kernel], rounds: int, count: int) -> dict[str, Times]:
    """Measure all kinds of round trips, in turns."""
    host, web = found
    kinds: dict[str, Callable[[], dict[str, float]]] = {
        "IPI within one kernel (smp_call_function_single)": lambda: bench(host, f"ipi 1 {count}", "taskset -c 0 "),
        "pipe within one kernel, two processes": lambda: values(machine.run(f"{PIPE} 0 1 {count}").output),
        "packet, doorbell both ways": lambda: bench(host, f"bell 1 {count}"),
        "packet, both sides poll": lambda: polling(host, web, count),
        "programs: shimos ping": lambda: ping(machine, "", count),
        "programs: shimos ping --poll": lambda: ping(machine, "--poll", count),
    }
    times = {name: Times([], []) for name in kinds}
    for _ in range(rounds):
        for name, run in kinds.items():
            result = run()
            times[name].medians.append(result["median"])
            times[name].p99s.append(result["p99"])
    return times


def print_round_trips(times: dict[str, Times]) -> None:
    """Print the table of round trips, with each median beside that of the IPI."""
    ipi = next(iter(times.values())).median
    print("| round trip | median (range of runs) | 99th percentile | times the IPI | paper |")
    print("| --- | --- | --- | --- | --- |")
    for name, row in times.items():
        paper = f"{PAPER_RTT_US} us" if "doorbell" in name else ""
        print(f"| {name} | {row.text()} | {row.median / ipi:.2f} | {paper} |")


def throughput(machine: Machine, found: list[Kernel], rounds: int, count: int) -> bool:
    """Print packets a second, one way and both at once, and doorbells per packet; True if the goal is met."""
    host, web = found
    rates: dict[str, list[float]] = {"one way": [], "both ways at once": []}
    before = {(q["receiver"], q["sender"]): q for q in ikc(machine)["queues"] if q["queue"] == 1}
    for _ in range(rounds):
        host.command(f"send 1 {count} plain")
        web.command(f"until 0 {count}")
        rates["one way"].append(count / web.results()["receive_ns.0"] * 1e9)
        send_all(found, count, "plain")
        both = web.results()["receive_ns.0"], host.results()["receive_ns.1"]
        rates["both ways at once"].append(2 * count / max(both) * 1e9)
    after = {(q["receiver"], q["sender"]): q for q in ikc(machine)["queues"] if q["queue"] == 1}
    packets = sum(after[k]["packets"] - before[k]["packets"] for k in after)
    rung = sum(after[k]["doorbells"] - before[k]["doorbells"] for k in after)
    perf = [json.loads(machine.run("shimos perf --time 2 --json web", timeout=60).output) for _ in range(rounds)]
    rates["programs: shimos perf, 64 bytes"] = [p["messages_per_second"] for p in perf]
    print("\n| throughput | packets/s, median (range of runs) | paper |\n| --- | --- | --- |")
    for name, found_rates in rates.items():
        paper = f"{PAPER_PACKETS / 1e6} M" if name == "one way" else ""
        low, high = min(found_rates) / 1e6, max(found_rates) / 1e6
        print(f"| {name} | {statistics.median(found_rates) / 1e6:.2f} M ({low:.2f} to {high:.2f}) | {paper} |")
    met = bool(rung / packets < DOORBELLS)
    programs = statistics.median(p["doorbells_per_message"] for p in perf)
    print("\n| doorbells per packet under load | | goal | |\n| --- | --- | --- | --- |")
    print(f"| between kernels | {rung / packets:.4f} | < {DOORBELLS} | {'met' if met else 'MISSED'} |")
    programs_met = bool(programs < DOORBELLS)
    print(f"| between programs | {programs:.4f} | < {DOORBELLS} | {'met' if programs_met else 'MISSED'} |")
    return met and programs_met


def instructions() -> None:
    """Print how many instructions the steps of a packet take."""
    with (
        progress.step("booting a machine that counts instructions"),
        Machine(icount=True) as machine,
        kernels(machine, WEB, MODULES) as found,
    ):
        host, web = found
        for _ in range(2):  # the second time everything is in place; the ring holds a call's packets
            call = bench(host, "call 1 60")
            read = bench(web, "read")
        ring = bench(host, "ring 1 500")
        bell = bench(host, "bell 1 500")
        ipi = bench(host, "ipi 1 500", "taskset -c 0 ")
        machine.assert_dmesg_clean()
    print("\n| instructions, counted by the emulator | |\n| --- | --- |")
    print(f"| ikc_write | {call['write']:.0f} |")
    print(f"| ikc_notify that need not ring | {call['write_notify'] - call['write']:.0f} |")
    print(f"| ikc_write, and ikc_notify that rings | {ring['median']:.0f} |")
    print(f"| ikc_read | {read['read']:.0f} |")
    print(f"| round trip with doorbells, both kernels | {bell['median']:.0f} |")
    print(f"| IPI round trip within one kernel | {ipi['median']:.0f} |")


#: Round trips of which the instructions of all CPUs are counted: a few, and so many more.
FEW, MORE = 1000, 20_000


def round_trip(options: Mapping[str, Any]) -> float:
    """Return how many instructions all CPUs execute for a round trip with doorbells, on a machine with these options.

    By a plugin of the emulator's, for with a clock that counts them it ends itself in x2APIC mode ("Bad icount read").
    """
    with (
        plugin.counting(one_thread=True, **options) as (machine, read),
        kernels(machine, WEB, MODULES) as found,
    ):

        def taken(count: int) -> int:
            began = read()
            bench(found[0], f"bell 1 {count}")
            return read() - began

        taken(FEW)  # with all of it in place
        few = taken(FEW)
        return (taken(FEW + MORE) - few) / MORE


def modes() -> bool:
    """Print what a round trip takes with the host's APICs in either mode; True if it is cheaper in x2APIC mode."""
    with progress.step("counting round trips, with the host in xAPIC mode"):
        xapic = round_trip({})
    with progress.step("counting round trips, with the host in x2APIC mode"):
        x2apic = round_trip(X2APIC)
    print("\n| instructions of all CPUs | host in xAPIC mode | in x2APIC mode |\n| --- | --- | --- |")
    print(f"| round trip with doorbells | {xapic:.0f} | {x2apic:.0f} |")
    return x2apic < xapic


def lab(rounds: int, count: int) -> bool:
    """Print the tables of the lab's machine; True if the goals are met."""
    with Machine() as machine, kernels(machine, WEB, MODULES) as found:
        print(f"\nhost {machine.versions['6.12']} on CPUs 0-1, partition {machine.versions['6.1']} on CPUs 2-3,")
        print(f"accelerator {machine.accelerator}; {rounds} runs of {count} round trips\n")
        print_round_trips(round_trips(machine, found, rounds, count))
        met = throughput(machine, found, rounds, count * 50)
        machine.assert_dmesg_clean()
    instructions()
    return modes() and met


def main() -> int:
    """Print all tables; status 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each measurement in the lab")
    parser.add_argument("--count", type=int, default=5000, help="round trips per run")
    parser.add_argument("--quick", action="store_true", help="a short run of everything")
    parser.add_argument("--only", choices=["modes"], help="this table only")
    args = parser.parse_args()
    if args.only:
        return 0 if modes() else 1
    if args.quick:
        args.rounds, args.count = 3, 1000
    ring = [sys.executable, "-m", "bench.ring", *(["--quick"] if args.quick else [])]
    met = subprocess.run(ring, check=False).returncode == 0
    met &= lab(args.rounds, args.count)
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
