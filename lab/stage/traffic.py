"""Three kernels that talk: what the tests of IKC share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from lab.machine import Machine
from lab.shell import Result, ShellError
from lab.stage.partitions import initrd_with, remove, start

PROC = "/proc/ikc_test"


class Shell(Protocol):
    """The host or a partition."""

    def run(self, command: str, timeout: float = 60.0, check: bool = True) -> Result: ...


@dataclass
class Kernel:
    """A kernel with the traffic module in it."""

    name: str
    number: int
    shell: Shell

    def command(self, text: str, timeout: float = 300) -> None:
        """Give the module a command; see tests/modules/ikc_test/main.c."""
        self.shell.run(f"echo {text} >{PROC}", timeout)

    def results(self) -> dict[str, int]:
        """Return what the module has counted."""
        lines = self.shell.run(f"cat {PROC}").output.splitlines()
        return {name: int(value) for name, value in (line.split() for line in lines if line.strip())}


def area(machine: Machine) -> dict[str, int]:
    """Return the host's view of the shared area."""
    return dict(ikc(machine)["area"])


def ikc(machine: Machine) -> dict[str, Any]:
    """Return everything that ``shimos ikc`` knows."""
    found: dict[str, Any] = json.loads(machine.run("shimos ikc --json").output)
    return found


def load(machine: Machine, module: str = "shimos_ikc_test") -> None:
    """Load one of the tests' modules on the host."""
    machine.run(f"insmod /usr/lib/shimos-test/{machine.versions[machine.flavour]}/{module}.ko")


#: Name, kernel and CPUs of two partitions.
TWO = (("web", "6.1", "2-3"), ("db", "6.12", "1"))
TRAFFIC = ("shimos_ikc_test",)
NO_CMDLINES: Mapping[str, str] = MappingProxyType({})


def two_kernels(machine: Machine) -> None:
    """Stage: TWO partitions run, and all three kernels have the traffic module."""
    _bring_up(machine, TWO, TRAFFIC, (), NO_CMDLINES)


def _bring_up(
    machine: Machine,
    partitions: tuple[tuple[str, str, str], ...],
    modules: tuple[str, ...],
    programs: tuple[str, ...],
    cmdlines: Mapping[str, str],
) -> None:
    for module in modules:
        load(machine, module)
    for name, flavour, cpus in partitions:
        files = {f"/{m}.ko": f"{m}.ko" for m in modules} | {f"/bin/{Path(p).name}": p for p in programs}
        initrd = initrd_with(machine, flavour, files)
        more = f"--cmdline '{cmdlines[name]}'" if cmdlines.get(name) else ""
        start(machine, name, flavour, cpus, more=f"--initrd {initrd} {more}")
        for module in modules:
            machine.partition(name).run(f"insmod /{module}.ko")


@contextmanager
def kernels(
    machine: Machine,
    partitions: tuple[tuple[str, str, str], ...] = TWO,
    modules: tuple[str, ...] = TRAFFIC,
    programs: tuple[str, ...] = (),
    cmdlines: Mapping[str, str] = NO_CMDLINES,
) -> Iterator[list[Kernel]]:
    """Yield the host and partitions, all with the modules loaded; numbers in that order.

    ``cmdlines`` are added to partitions' command lines, by name.
    On a machine with the stage two_kernels they run already.
    """
    if machine.spec.stage is not two_kernels:
        _bring_up(machine, partitions, modules, programs, cmdlines)
    names = [name for name, _, _ in partitions]
    found = [Kernel("host", 0, machine)]
    found += [Kernel(name, number, machine.partition(name)) for number, name in enumerate(names, 1)]
    assert [k["name"] for k in ikc(machine)["kernels"]] == [k.name for k in found]
    try:
        yield found
    except Exception as error:
        # What they were doing is gone a moment later.
        machine.diagnosis.note()
        error.add_note(_state(machine, found))
        raise
    finally:
        machine.release_consoles()
        for name, _, _ in partitions:
            machine.run(f"[ ! -e /sys/class/shimos/{name} ] || shimos rm --force {name}", timeout=60)
        for module in reversed(modules):
            machine.run(f"rmmod {module}")


def _state(machine: Machine, found: list[Kernel]) -> str:
    """Describe kernels in trouble: their counts and logs, then where all CPUs are."""
    said = []
    for kernel in found:
        try:
            output = kernel.shell.run(f"cat {PROC}; dmesg | tail -n 10", timeout=20, check=False).output
        except (ShellError, OSError, ValueError) as error:
            output = f"no answer: {error.__class__.__name__}"
        said.append(f"--- {kernel.name}:\n{output}")
    return "\n".join([*said, "--- CPUs:", machine.diagnosis.cpus_text()])


def send_all(found: list[Kernel], count: int, kind: str) -> None:
    """Send from every kernel to every other, all at once; returns when all has arrived."""
    for kernel in found:
        for peer in found:
            if peer is not kernel:
                kernel.command(f"send {peer.number} {count} {kind}")
    for kernel in found:
        for peer in found:
            if peer is not kernel:
                kernel.command(f"until {peer.number} {count}")


def assert_correct(found: list[Kernel], packets: int) -> None:
    """Check that nothing was lost, reordered, doubled or damaged."""
    for kernel in found:
        results = kernel.results()
        for peer in (p.number for p in found if p is not kernel):
            assert results[f"error.{peer}"] == 0, (kernel.name, results)
            assert results[f"received.{peer}"] == packets, (kernel.name, results)
            assert results[f"wrong.{peer}"] == 0, (kernel.name, results)
            assert results[f"data_wrong.{peer}"] == 0, (kernel.name, results)


__all__ = ["Kernel", "area", "assert_correct", "ikc", "kernels", "load", "remove", "send_all"]
