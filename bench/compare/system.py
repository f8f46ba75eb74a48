"""What is compared: a system is one or two kernels that work, and one that owns the devices.

The papers write {1/2, 1/2} for two kernels of two CPUs, each with one instance of
the work, and {2/4} for two instances on one kernel of four.  ``System.jobs(1)`` and
``System.jobs(2)`` are these configurations.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from lab.machine import Machine
from lab.shell import Result

#: Where the root that all kernels have is mounted on the host.
NATIVE = "/native"
CHROOT = f"chroot {NATIVE} "
HOST, WEB, DB = "10.0.2.15", "10.0.2.16", "10.0.2.17"
#: What a partition, guest or domain gets.
MEMORY_MIB = 1024


class Shell(Protocol):
    """The host or a console."""

    def run(self, command: str, timeout: float = 60.0, check: bool = True) -> Result:
        """Run a command; see lab.shell."""


@dataclass(frozen=True)
class Kernel:
    """Where work runs, and the devices as that kernel sees them."""

    name: str
    address: str
    shell: Shell
    ram: str
    work: str
    prefix: str = ""

    def run(self, command: str, timeout: float = 600) -> str:
        """Run a command in the common root; returns its output."""
        if self.prefix:
            command = f"{self.prefix}sh -c {shlex.quote(command)}"
        return self.shell.run(command, timeout=timeout).output


def _as_it_is(_: int) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass(frozen=True)
class System:
    """One column of the tables, up and running."""

    name: str
    machine: Machine
    scale: float
    owner: Kernel
    #: The two that work; native Linux is both.
    pair: tuple[Kernel, Kernel]
    #: Makes it a machine with as many CPUs as that number of jobs has.
    shaped: Callable[[int], AbstractContextManager[None]] = field(default=_as_it_is)
    #: What one workload measures for another by the way.
    kept: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def jobs(self, count: int) -> Iterator[list[Kernel]]:
        """Yield the kernels for so many instances of the work, CPUs in proportion."""
        with self.shaped(count):
            yield list(self.pair[2 - count :])

    def count(self, full: int) -> int:
        """Return how often something is done."""
        return max(1, int(full * self.scale))

    @property
    def peer_address(self) -> str:
        """How the second kernel reaches the first."""
        return "127.0.0.1" if self.name == "native" else self.pair[0].address

    def alive(self) -> bool:
        """Return whether all its kernels still answer."""
        try:
            return all(k.run("true", timeout=30) == "" for k in {self.owner, *self.pair})
        except AssertionError:
            return False


def together(kernels: list[Kernel], work: Callable[[Kernel], float]) -> list[float]:
    """Do the work on all of them at once; returns each one's figure."""
    with ThreadPoolExecutor(len(kernels)) as pool:
        return list(pool.map(work, kernels))
