"""Plugins of the emulator, which see each instruction that it executes."""

from __future__ import annotations

from pathlib import Path

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
