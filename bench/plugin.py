"""Plugins of the emulator, which see each instruction that it executes."""

from __future__ import annotations

import mmap
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab import cache
from lab.command import run
from lab.machine import Machine
from lab.paths import SRC


class Watched(Machine):
    """A machine whose emulator is told a file of this run, so it is nobody's clone."""

    TEMPLATES = False


def build(name: str) -> Path:
    """Return bench/emulator/NAME.c as the emulator loads it, built if need be."""
    source = SRC / "bench" / "emulator" / f"{name}.c"

    def make(target: Path) -> None:
        run("gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", target, source)

    return cache.make(f"emulator-{name}.so", cache.digest(source), f"building the emulator's plugin {name}", make)


#: Tells how many instructions the machine has executed so far.
Reader = Callable[[], int]


@contextmanager
def counting(**options: Any) -> Iterator[tuple[Machine, Reader]]:
    """Yield a machine with these options, and what tells the instructions of all its CPUs so far."""
    with tempfile.NamedTemporaryFile() as file:
        extra = (*options.pop("extra", ()), "-plugin", f"{build('count')},total={file.name}")
        with Watched(extra=extra, **options) as machine:
            # The emulator has given the file its size.
            total = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            yield machine, lambda: int(struct.unpack("Q", total)[0])
