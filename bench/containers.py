"""How soon containers start, and what their files and sockets cost: `bench/containers`.

Start: the same bundle by crun, by ``shimos-oci`` with a partition that is started for it, and
with one that waits.  ``create`` and ``start`` by themselves, without podman.

Files and sockets: see shares.py.  All figures are times of an emulator: only what stands beside
each other can be compared.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from contextlib import contextmanager

from bench import shares
from lab.machine import Machine
from lab.stage import containers

#: The aims of the issue: seconds from ``create`` to the program's first line.
COLD_SECONDS, WARM_SECONDS = 5.0, 1.0
PARTS = ("create", "start to the first line", "all of it", "delete")


def once(machine: Machine, runtime: str) -> list[float]:
    """Return the seconds of each part of a container's life."""
    steps = (
        f"{runtime} create --bundle /tmp/b c </dev/null >/tmp/out",
        f"{runtime} start c; until [ -s /tmp/out ]; do :; done",
        f"until {runtime} state c | grep -q stopped; do :; done",
        f"{runtime} delete c",
    )
    clock = "echo $EPOCHREALTIME >>/tmp/times"
    script = f"rm -f /tmp/times; {clock}; " + "".join(f"{step}; {clock}; " for step in steps)
    lines = machine.run(f"{script} cat /tmp/times; rm /tmp/out", timeout=120).lines
    made, begun, ended, deleted = [float(line) - float(lines[0]) for line in lines[-4:]]
    return [made, begun - made, begun, deleted - ended]


@contextmanager
def warm(machine: Machine) -> Iterator[str]:
    """Have partitions wait; yields the command that waits for one of them."""
    containers.pool(machine, "1-3", 2)
    yield "until [ $(ls /run/shimos-oci/.pool/ready | wc -l) = 2 ]; do sleep 0.1; done"
    containers.end_pool(machine)


def starts(rounds: int) -> bool:
    """Print the table of starts; True if the aims are met."""
    with Machine() as machine:
        containers.prepare(machine)
        containers.bundle(machine, '"echo", "begun"')

        def several(runtime: str, ready: str = "true") -> list[list[float]]:
            found = []
            # the first one fills caches: the partitions' initrd among them
            for _ in range(rounds + 1):
                machine.run(ready, timeout=180)
                found.append(once(machine, runtime))
            return found[1:]

        columns = {"crun": several("crun"), "cold": several("shimos-oci")}
        with warm(machine) as ready:
            columns["warm"] = several("shimos-oci", ready)
        machine.assert_dmesg_clean()
    print(f"\n| seconds, median of {rounds} | {' | '.join(columns)} |\n| --- |{' --- |' * len(columns)}")
    for number, part in enumerate(PARTS):
        cells = [statistics.median(values[number] for values in found) for found in columns.values()]
        print(f"| {part} | {' | '.join(f'{cell:.2f}' for cell in cells)} |")
    met = True
    for name, aim in (("cold", COLD_SECONDS), ("warm", WARM_SECONDS)):
        value = statistics.median(values[2] for values in columns[name])
        met &= value <= aim
        print(f"\n{name}: {value:.2f} s, aim {aim:g} s, {'met' if value <= aim else 'MISSED'}")
    return met


def main() -> int:
    """Measure and print; status 1 if an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="starts of each kind")
    parser.add_argument("--seconds", type=int, default=5, help="of each load on files")
    parser.add_argument("--only", choices=("starts", "shares"), help="one of the tables")
    args = parser.parse_args()
    met = True
    if args.only != "shares":
        met = starts(args.rounds)
    if args.only != "starts":
        shares.table(args.seconds)
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
