"""Fill docs/matrix.md: each of Debian's kernels as host, with each of them as partition.

make matrix                        all of them, the newest that the archive has; an hour or more
make matrix KERNELS="6.12 7.3"     only these, printed and not written

A pair is good if all of its steps are: see ``STEPS``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from lab import faults, kernels, ledger, progress
from lab.devices import Disk
from lab.machine import Machine
from lab.paths import SRC
from lab.stage.partitions import show, start, wait_state

#: The kernels for clouds of each suite, as lab/kernels.py calls them.
FLAVOURS = tuple(sorted(name for name, (_, kind) in kernels.FLAVOURS.items() if kind.startswith("cloud-")))
PAGE = SRC / "docs" / "matrix.md"
_DISK = "data"
_HEAD = """\
# Kernels beside each other

Written by `make matrix` on {date}: each of Debian's kernels as host, with each of them as partition, on an emulated x86-64 machine.
A pair is good if the partition starts, says which kernel it runs, answers pings, reads a shared disk rightly, panics and is told so, restarts, powers off when asked to, and leaves a clean log.

"""


class StepError(AssertionError):
    """A step of a pair went wrong; the text says how."""


@dataclass(frozen=True)
class Pair:
    """A machine, and what its partition runs."""

    machine: Machine
    flavour: str

    def runs(self, command: str) -> str:
        """Return what a command in the partition prints."""
        console = self.machine.partition("k")
        try:
            return console.run(command).output.strip()
        finally:
            console.close()


def _start(pair: Pair) -> None:
    start(pair.machine, "k", pair.flavour, more=f"--disk {pair.machine.disk(_DISK)}")


def _version(pair: Pair) -> None:
    _want(pair.runs("uname -r; nproc").split(), [pair.machine.versions[pair.flavour], "2"])


def _ping(pair: Pair) -> None:
    pair.machine.run("shimos ping -c 20 -i 0 k")


def _disk(pair: Pair) -> None:
    wait = "until [ -b /dev/vda ]; do usleep 50000; done; "
    here = pair.machine.run(f"md5sum <{pair.machine.disk(_DISK)}").output.split()[0]
    _want(pair.runs(f"{wait}md5sum </dev/vda").split()[0], here)


def _panic(pair: Pair) -> None:
    pair.machine.partition("k").send(b"echo c >/proc/sysrq-trigger\n")
    wait_state(pair.machine, "k", "crashed")
    pair.machine.release_consoles()
    _want("sysrq triggered crash" in pair.machine.run("shimos logs k").output, True)


def _restart(pair: Pair) -> None:
    pair.machine.run("shimos restart k", timeout=120)
    _want(show(pair.machine, "k")["state"], "running")


def _stop(pair: Pair) -> None:
    pair.machine.run("shimos stop k", timeout=60)
    _want(show(pair.machine, "k")["cause"], "poweroff")


def _clean(pair: Pair) -> None:
    log = pair.machine.run("shimos logs k").output
    _want(faults.unclean(log) + faults.unclean(pair.machine.dmesg()), [])


#: What a pair must do, in this order.
STEPS: dict[str, Callable[[Pair], None]] = {
    "start": _start,
    "version": _version,
    "ping": _ping,
    "disk": _disk,
    "panic": _panic,
    "restart": _restart,
    "stop": _stop,
    "clean log": _clean,
}


def _want(found: object, wanted: object) -> None:
    if found != wanted:
        raise StepError(f"{found!r} where {wanted!r} was expected")


def _in_short(text: str) -> str:
    """Return what the tool says in a failure's text, or else its first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("shimos: ")]
    return (said or lines or ["no reason given"])[-1 if said else 0][:200]


def trouble(pair: Pair, steps: dict[str, Callable[[Pair], None]]) -> str:
    """Run all steps; returns the first that fails, and how, or nothing.  The partition is removed."""
    try:
        for name, step in steps.items():
            try:
                step(pair)
            except AssertionError as error:
                return f"{name}: {_in_short(str(error))}"
        return ""
    finally:
        pair.machine.release_consoles()
        # a start that failed has left none
        pair.machine.run("shimos rm --force k", timeout=60, check=False)


@dataclass
class Matrix:
    """What was found: by host and partition nothing, if the pair is good, or its trouble."""

    versions: dict[str, str]
    cells: dict[tuple[str, str], str] = field(default_factory=dict)

    def markdown(self) -> str:
        """Return the table, and what is wrong with pairs that are not good."""
        names = list(self.versions)
        lines = [
            f"| host | {' | '.join(f'with {name}' for name in names)} |",
            f"|{' --- |' * (len(names) + 1)}",
        ]
        notes: list[str] = []
        for host in names:
            row = []
            for guest in names:
                found = self.cells.get((host, guest))
                row.append("not tried" if found is None else f"no [{len(notes) + 1}]" if found else "yes")
                if found:
                    notes.append(f"{len(notes) + 1}. {host} with {guest}: {found}")
            lines.append(f"| {host}: {self.versions[host]} | {' | '.join(row)} |")
        return "\n".join([*lines, *(["", *notes] if notes else [])]) + "\n"


def fill(flavours: list[str]) -> Matrix:
    """Try each pair."""
    matrix = Matrix({kernel.flavour: kernel.version for kernel in kernels.get(*flavours)})
    for host in flavours:
        try:
            _fill_row(matrix, host, flavours)
        except (AssertionError, RuntimeError) as error:
            # The machine of this host does not come up, or died: what it has not tried is the same.
            for guest in flavours:
                matrix.cells.setdefault((host, guest), f"host: {_in_short(str(error))}")
    return matrix


def _fill_row(matrix: Matrix, host: str, flavours: list[str]) -> None:
    with Machine(kernel=host, partitions=flavours, disks=[Disk(_DISK, "16M")]) as machine:
        machine.run(f"modprobe shimos_backend && seq 1000000 | head -c 4M >{machine.disk(_DISK)}")
        for guest in flavours:
            with progress.step(f"{host} with {guest}"):
                matrix.cells[host, guest] = trouble(Pair(machine, guest), STEPS)
            print(f"{host} with {guest}: {matrix.cells[host, guest] or 'good'}", flush=True)


def main() -> int:
    """Fill the matrix; 1 if a pair is not good."""
    parser = argparse.ArgumentParser(
        prog="make matrix", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", nargs="*", help=f"of {', '.join(FLAVOURS)}")
    chosen = parser.parse_args().kernels
    if unknown := [name for name in chosen if name not in FLAVOURS]:
        parser.error(f"there is no kernel {', '.join(unknown)}, only {', '.join(FLAVOURS)}")
    ledger.begin()
    kernels.renew(*(chosen or FLAVOURS))
    matrix = fill(chosen or list(FLAVOURS))
    table = matrix.markdown()
    if chosen:
        print(f"\n{table}")
    else:
        PAGE.write_text(_HEAD.format(date=time.strftime("%Y-%m-%d")) + table)
        print(f"written: {PAGE.relative_to(SRC)}")
    return 1 if any(matrix.cells.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
