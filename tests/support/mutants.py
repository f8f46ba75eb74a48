"""The product with one defect: for tests/system/test_teeth.py, which shows that tests see it."""

from __future__ import annotations

import base64
import gzip
import shlex
from dataclasses import dataclass
from pathlib import Path

from lab import build, cache, kernels, progress
from lab.command import run
from lab.kernels import Kernel
from lab.machine import Machine
from lab.paths import CACHE, SRC

_MUTANTS = CACHE / "build" / "mutants"
#: What the Makefile needs to build modules.
_SOURCES = ("Makefile", "kernel", "tests/modules")
#: What one command may write: Linux takes arguments of 128 KiB.
_CHUNK = 60000


class MutationError(ValueError):
    """A mutation does not fit the source; the text says which and why."""


@dataclass(frozen=True)
class Mutation:
    """A defect: a text of a module's source and what stands there instead.

    ``file`` is a path in the repository, below ``kernel`` or ``tests/modules``.
    """

    file: str
    old: str
    new: str

    @property
    def target(self) -> str:
        """The Makefile's target that builds the file."""
        return "modules" if self.file.startswith("kernel/") else "test-modules"

    @property
    def modules(self) -> str:
        """Where that target leaves the modules which the file is a part of; * for any text."""
        path = Path(self.file)
        if path.parts[0] == "kernel" and path.suffix in (".c", ".S"):
            return f"shimos_{path.parts[1]}.ko"
        if path.parts[:2] == ("tests", "modules") and path.suffix == ".c":
            # One of several files lies in a folder with the module's name.
            name = path.stem if len(path.parts) == 3 else f"shimos_{path.parts[2]}"
            return f"tests/modules/{name}.ko"
        raise MutationError(f"{self.file}: not the source of one module")

    def apply(self, tree: Path) -> None:
        """Change the file in a copy of the repository."""
        file = tree / self.file
        text = file.read_text()
        if (count := text.count(self.old)) != 1:
            raise MutationError(f"{self.file}: found {count} times, not once: {self.old!r}")
        file.write_text(text.replace(self.old, self.new))


def built(kernel: Kernel, mutation: Mutation) -> dict[str, bytes]:
    """Build the product with a mutation; returns the modules that have it by their names, without debug information.

    Each kernel has one tree for all mutations: make builds what differs from the last one.
    """
    build.test_modules(kernel)
    source, out = _MUTANTS / kernel.version / "source", _MUTANTS / kernel.version / "out"
    what = f"building {mutation.modules} with a defect for {kernel.version}"
    with cache.lock(f"mutant-{kernel.flavour}"), progress.step(what):
        if not out.exists():
            out.parent.mkdir(parents=True, exist_ok=True)
            run("cp", "-a", CACHE / "build" / kernel.version, out)
        cache.remove(source)
        for part in _SOURCES:
            (source / part).parent.mkdir(parents=True, exist_ok=True)
            run("cp", "-a", SRC / part, source / part)
        mutation.apply(source)
        build.run_make(mutation.target, out, f"KVER={kernel.version}", source=source, root=kernel.builder)
        made = out / mutation.modules
        stripped = out / "stripped.ko"
        run("strip", "--strip-debug", "-o", stripped, made)
        return {made.name: stripped.read_bytes()}


def install(machine: Machine, flavour: str, mutation: Mutation) -> None:
    """Put the modules with the mutation where the machine has those for that kernel.

    Partitions that are started from now on have the defect, and so has the host if it is that
    kernel: what it has loaded of SHIMOS is loaded anew.
    """
    version = machine.versions[flavour]
    (kernel,) = kernels.get(flavour)
    tests = mutation.target == "test-modules"
    folder = f"/usr/lib/shimos-test/{version}" if tests else f"/usr/lib/modules/{version}/updates/dkms"
    for name, data in built(kernel, mutation).items():
        replace(machine, f"{folder}/{name}", data)
    if flavour == machine.flavour and not tests:
        _reload(machine)


def replace(machine: Machine, path: str, data: bytes) -> None:
    """Write a file of any size over one that the machine has."""
    quoted = shlex.quote(path)
    text = base64.b64encode(gzip.compress(data)).decode()
    machine.run(f"test -f {quoted} && rm -f /tmp/replace")
    for at in range(0, len(text), _CHUNK):
        machine.run(f"echo {text[at : at + _CHUNK]} >>/tmp/replace")
    # A new file: what has the old one open or mapped keeps it.
    machine.run(f"base64 -d /tmp/replace | gunzip >{quoted}.new && chmod --reference={quoted} {quoted}.new")
    machine.run(f"mv {quoted}.new {quoted} && rm /tmp/replace")


def _reload(machine: Machine) -> None:
    # The list has those first that nothing depends on.
    loaded = machine.run("awk '/^shimos_/ {print $1}' /proc/modules").lines
    for module in loaded:
        machine.run(f"rmmod {module}")
    for module in reversed(loaded):
        machine.run(f"modprobe {module}")
