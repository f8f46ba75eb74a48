"""Building what is under test, through the repository's Makefile.

A process builds each thing once, however many machines it starts: only to see that nothing is
to be done takes make and cargo ten seconds.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

from lab import cache, files, progress
from lab.command import run
from lab.kernels import Kernel
from lab.paths import CACHE, SRC

_BUILD = CACHE / "build"
_TESTS = "usr/lib/shimos-test"


def run_make(target: str, out: Path, *variables: str, source: Path = SRC) -> str:
    """Make a target of the Makefile of the repository, or of a copy of it, in ``out``; returns all that was said."""
    out.mkdir(parents=True, exist_ok=True)
    return run("make", "--no-print-directory", "-C", source, f"-j{os.cpu_count()}", target, f"OUT={out}", *variables)


@functools.cache
def modules(kernel: Kernel) -> list[Path]:
    """The modules for one kernel; make decides what has to be built again."""
    out = _BUILD / kernel.version
    with cache.lock(f"build-{kernel.flavour}"), progress.step(f"building modules for {kernel.version}"):
        run_make("modules", out, f"KVER={kernel.version}")
    return sorted(out.glob("shimos_*.ko"))


def _cargo(*options: str) -> Path:
    """Build static binaries; returns where they are."""
    # A static glibc program needs --target, else cargo would build its own
    # proc-macro plugins statically, which cannot be.
    target = "x86_64-unknown-linux-gnu"
    flags = {"RUSTFLAGS": "-C target-feature=+crt-static"}
    run("cargo", "build", "--release", "--locked", "--target", target, *options, cwd=SRC / "tool", env=flags)
    return CACHE / "target" / target / "release"


@functools.cache
def tool() -> Path:
    """The ``shimos`` tool, a static binary."""
    with cache.lock("build-tool"), progress.step("building the shimos tool"):
        return _cargo() / "shimos"


@functools.cache
def init() -> Path:
    """The static init that the tool puts into a partition's initrd."""
    out = _BUILD / "init"
    with cache.lock("build-init"):
        run_make("init", out)
    return out / "init"


def everything() -> dict[str, Path]:
    """Tool, init and the tests' programs by their places on a machine."""
    parts = {"usr/lib/shimos/init": init(), **test_programs()}
    if "tool" not in os.environ.get("SHIMOS_LAB_WITHOUT", ""):
        parts["usr/bin/shimos"] = tool()
    return parts


@functools.cache
def test_programs() -> dict[str, Path]:
    """Programs that only tests use, static, by their places on a machine."""
    parts = {f"{_TESTS}/extract-vmlinux": SRC / "tests/programs/extract-vmlinux"}
    out = _BUILD / "test-programs"
    out.mkdir(parents=True, exist_ok=True)
    with cache.lock("build-test-programs"), progress.step("building the tests' programs"):
        for source in sorted((SRC / "tests" / "programs").glob("*.c")):
            program = out / source.stem
            places = ("kernel/include", "kernel/include/uapi", "kernel/ikc", "lib/c")
            include = [f"-I{SRC / place}" for place in places]
            run("gcc", "-static", "-O2", "-Wall", "-Werror", *include, "-o", program, source, "-lpthread")
            parts[f"{_TESTS}/{source.stem}"] = program
    with cache.lock("build-tool"):
        parts[f"{_TESTS}/kml_getpid"] = _cargo("-p", "shimos-kml", "--example", "getpid") / "examples" / "getpid"
    return parts


@functools.cache
def test_modules(kernel: Kernel) -> list[Path]:
    """Modules that only tests use: partitions and hosts that misbehave."""
    out = _BUILD / kernel.version
    with cache.lock(f"build-{kernel.flavour}"), progress.step(f"building the tests' modules for {kernel.version}"):
        run_make("test-modules", out, f"KVER={kernel.version}")
    return sorted((out / "tests").rglob("*.ko"))


def payload(kernels: list[Kernel], parts: dict[str, Path]) -> Path:
    """Everything under test and the lab's own scripts, as an initramfs part.

    ``parts`` are files by their place on the machine.  Modules get there too,
    with the indexes that depmod makes for them.
    """
    built = {k: modules(k) for k in kernels}
    for kernel in kernels:
        parts = parts | {f"{_TESTS}/{kernel.version}/{m.name}": m for m in test_modules(kernel)}
    guest = SRC / "lab" / "guest"
    scripts = {"lab/init": guest / "host-init", "lab/shell": guest / "host-shell"}
    contents: list[str | bytes | Path] = [Path(__file__)]
    for kernel, objects in built.items():
        contents += [kernel.version, *objects]
    for where, source in (parts | scripts).items():
        contents += [where, source]
    key = cache.digest(*contents)

    def make(target: Path) -> None:
        tree = target.with_suffix(".tree")
        cache.remove(tree)
        root = tree / "payload"
        for where, source in (parts | scripts).items():
            (root / where).parent.mkdir(parents=True, exist_ok=True)
            run("cp", source, root / where)
            (root / where).chmod(0o755 if source.stat().st_mode & 0o100 or where in scripts else 0o644)
        for kernel, objects in built.items():
            _add_modules(root, kernel, objects)
        files.cpio(tree, target)
        cache.remove(tree)

    name = "payload-" + "-".join(k.flavour for k in kernels)
    return cache.make(name, key, "packing what is under test", make)


def _add_modules(root: Path, kernel: Kernel, objects: list[Path]) -> None:
    if not objects:
        return
    base = root / "usr/lib/modules" / kernel.version
    updates = base / "updates" / "dkms"
    updates.mkdir(parents=True)
    # depmod must see all modules of the kernel; links will do.
    scratch = root.parent / "depmod"
    library = scratch / "lib" / "modules"
    library.mkdir(parents=True)
    run("cp", "-al", kernel.modules, library / kernel.version)
    cache.remove(library / kernel.version / "updates")
    for index in (library / kernel.version).glob("modules.*"):
        if index.name not in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            index.unlink()  # a link: depmod must not write into the cache
    linked = library / kernel.version / "updates" / "dkms"
    linked.mkdir(parents=True)
    for module in objects:
        run("cp", module, updates / module.name)
        run("strip", "--strip-debug", updates / module.name)
        run("cp", updates / module.name, linked / module.name)
    run("depmod", "-b", scratch, kernel.version)
    for index in (library / kernel.version).glob("modules.*"):
        run("cp", index, base / index.name)
    cache.remove(scratch)
