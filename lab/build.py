"""Building what is under test, through the repository's Makefile.

A process builds each thing once, however many machines it starts: only to see that nothing is
to be done takes make and cargo ten seconds.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path

from lab import builder, cache, daemons, dates, files, host, progress
from lab.apt import development
from lab.arch import AMD64, DEFAULT, Arch
from lab.command import CommandError, run
from lab.kernels import Kernel
from lab.paths import CACHE, SRC

_BUILD = CACHE / "build"
_TESTS = "usr/lib/shimos-test"
#: How often the timer of rt/programs/latency.c comes on the machines, and how long task.c works there.
RT_ACTIVATIONS = 1000
RT_SECONDS = 2

#: Test programs that are made of the processor's own instructions.
_OF_AMD64 = ("float_check", "kml_", "stale_code")

#: Names parts that shall not be on the machines, "tool" or "modules", for trying out.
_WITHOUT = "SHIMOS_LAB_WITHOUT"

#: Cargo's profile of the tool on the machine: "lab", which is built quickly, unless told.
#: Benchmarks say "release", which is what a package has.
PROFILE_VARIABLE = "SHIMOS_TOOL_PROFILE"


def run_make(target: str, out: Path, *variables: str, source: Path = SRC, root: Path | None = None) -> str:
    """Make a target of the Makefile of the repository, or of a copy of it, in ``out``; returns all that was said.

    With ``root`` that is done there, in a root of lab/builder.py.
    """
    out.mkdir(parents=True, exist_ok=True)
    dates.date_tree()
    words = ("make", "--no-print-directory", f"--directory={source}", f"-j{os.cpu_count()}", target, f"OUT={out}")
    return builder.run_in(root, *words, *variables) if root else run(*words, *variables)


def _run_make_for(kernel: Kernel, target: str, *more: str) -> str:
    """Make a target for a kernel, where its modules are built."""
    words = (f"KVER={kernel.version}", *variables(kernel.arch), *more)
    return run_make(target, _BUILD / kernel.version, *words, root=kernel.builder)


def variables(arch: Arch) -> list[str]:
    """Return make's variables for an architecture."""
    return [] if arch.native else [f"ARCH={arch.name}"]


@functools.cache
def modules(kernel: Kernel) -> list[Path]:
    """Build the modules for one kernel; make decides what has to be built again."""
    out = _BUILD / kernel.version
    with cache.lock(f"build-{kernel.name}"), progress.step(f"building modules for {kernel.version}"):
        _run_make_for(kernel, "modules")
    return sorted(out.glob("shimos_*.ko"))


def modules_anew(kernel: Kernel) -> str:
    """Compile all modules for one kernel, read by sparse; returns all that was said.

    They are what ``modules()`` finds then: nothing is compiled twice.
    """
    out = _BUILD / kernel.version
    with cache.lock(f"build-{kernel.name}"):
        cache.remove(out / "tree")
        return _run_make_for(kernel, "modules", "SPARSE=1")


def layer(kernel: Kernel) -> Path:
    """Return the ELF file of SPUMONE's layer, with what a debugger wants to know of it, once the modules are built."""
    return _BUILD / kernel.version / "tree" / "spumone" / "layer" / "layer.elf"


def _cargo(arch: Arch, *options: str) -> Path:
    """Build static binaries, as tool/.cargo says; returns where they are."""
    profile = os.environ.get(PROFILE_VARIABLE) or "lab"
    development(arch)
    dates.date_tree()
    run("cargo", "build", "--profile", profile, "--locked", "--target", arch.rust, *options, cwd=SRC / "tool")
    return CACHE / "target" / arch.rust / profile


@functools.cache
def tool(arch: Arch = DEFAULT) -> Path:
    """Build the ``shimos`` tool, a static binary; returns its path."""
    with cache.lock("build-tool"), progress.step(f"building the shimos tool ({arch.name})"):
        return _cargo(arch, "-p", "shimos") / "shimos"


@functools.cache
def init(arch: Arch = DEFAULT) -> Path:
    """Build the static init that the tool puts into a partition's initrd; returns its path."""
    out = _BUILD / f"init{arch.suffix}"
    development(arch)
    with cache.lock("build-init"):
        run_make("init", out, *variables(arch))
    return out / "init"


def products(arch: Arch = DEFAULT) -> dict[str, Path]:
    """Build tool and init, and name the partitions' initrd; returns them by their places on a machine."""
    parts = {"usr/lib/shimos/init": init(arch), "boot/lab-initrd.img": host.partition_initrd(arch)}
    if "tool" not in os.environ.get(_WITHOUT, ""):
        parts["usr/bin/shimos"] = tool(arch)
    return parts


def packages(out: Path, *variables: str) -> Path:
    """Build the Debian packages below ``out``; returns where they are."""
    dates.date_tree()
    run("make", "-C", SRC, "deb", f"BUILD={out}", *variables)
    return out / "deb"


@functools.cache
def test_programs(arch: Arch) -> dict[str, Path]:
    """Programs that only tests use, static or scripts, by their places on a machine."""
    parts = {
        f"{_TESTS}/{script.name}": script for script in sorted((SRC / "tests" / "guest").iterdir()) if script.is_file()
    }
    out = _BUILD / f"test-programs{arch.suffix}"
    out.mkdir(parents=True, exist_ok=True)
    with cache.lock("build-test-programs"), progress.step(f"building the tests' programs ({arch.name})"):
        for source in sorted((SRC / "tests" / "programs").glob("*.c")):
            if arch.name != "amd64" and source.stem.startswith(_OF_AMD64):
                continue
            program = out / source.stem
            places = ("kernel/include", "kernel/include/uapi", "kernel/ikc", "lib/c")
            include = [f"-I{SRC / place}" for place in places]
            gcc = f"{arch.triple}-gcc"
            run(gcc, "-static", "-s", "-O2", "-Wall", "-Werror", *include, "-o", program, source, "-lpthread")
            parts[f"{_TESTS}/{source.stem}"] = program
        run_make("examples", out, *variables(arch))
        parts |= {f"{_TESTS}/{name}": out / name for name in ("pendulum_panel", "pendulum_linux")}
    parts[f"{_TESTS}/virtiofsd"] = daemons.virtiofsd(arch)
    return parts | (_kml_and_rt(out) if arch.kml_and_rt else {})


def _kml_and_rt(out: Path) -> dict[str, Path]:
    with cache.lock("build-tool"):
        run_make("rt-tests", out, f"RT_ACTIVATIONS={RT_ACTIVATIONS}", f"RT_SECONDS={RT_SECONDS}")
        parts = {f"{_TESTS}/{image.name}": image for image in (out / "rt").glob("*.elf")}
        parts[f"{_TESTS}/kml_getpid"] = _cargo(AMD64, "-p", "shimos-kml", "--example", "getpid") / "examples" / "getpid"
    return parts


@functools.cache
def test_modules(kernel: Kernel) -> list[Path]:
    """Modules that only tests use: partitions and hosts that misbehave."""
    out = _BUILD / kernel.version
    with cache.lock(f"build-{kernel.name}"), progress.step(f"building the tests' modules for {kernel.version}"):
        _run_make_for(kernel, "test-modules")
    return sorted((out / "tests").rglob("*.ko"))


#: Bytes of the disk with what is under test: the same for all, for it is a part of each machine.
_PAYLOAD_SIZE = 192 << 20
#: As many payloads stay in the cache, for machines of other configurations.
_PAYLOADS = 12

# What the products are made from: to ask make and cargo takes ten seconds, and each process
# would ask again.
_TOOLCHAIN = ("lab/packages.txt", "lab/make-root", "Makefile", "lab/build.py")
_MODULES = (*_TOOLCHAIN, "kernel")
_TEST_MODULES = (*_MODULES, "tests/modules")
_PROGRAMS = (*_TOOLCHAIN, "tool", "lib", "kernel/include", "kernel/init")
_TEST_PROGRAMS = (
    *_TOOLCHAIN,
    *("tests/programs", "tests/guest", "tests/rt"),
    # one of them is in the tool's workspace
    *("tool", "lib", "kernel/include", "kernel/ikc", "rt", "examples", "docs/realtime.md"),
)


def _sources(names: tuple[str, ...]) -> list[Path]:
    return [path for name in names if (path := SRC / name).exists()]


def trees(kernels: list[Kernel], tests: bool) -> list[Callable[[], Path]]:
    """Return what lays out each part of a payload: it does not matter which comes first, and all may at once."""
    arch = kernels[0].arch
    found: list[Callable[[], Path]] = [functools.partial(programs_tree, arch)]
    found += [functools.partial(modules_tree, kernel) for kernel in kernels]
    if tests:
        found += [functools.partial(test_programs_tree, arch)]
        found += [functools.partial(test_modules_tree, kernel) for kernel in kernels]
    return found


def payload(kernels: list[Kernel], tests: bool) -> Path:
    """Build everything under test, as an ext4 disk, if a source has changed; returns its path.

    Files lie where they have their places on the machine.  Only with ``tests`` is there what only tests use.
    """
    arch = kernels[0].arch
    laid_out = [tree() for tree in trees(kernels, tests)]

    def make(target: Path) -> None:
        union = target.with_suffix(".tree")
        cache.remove(union)
        union.mkdir()
        for tree in laid_out:
            run("cp", "-al", f"{tree}/.", union)
        try:
            files.ext4_of(union, target, _PAYLOAD_SIZE)
        except CommandError as error:
            raise CommandError(
                f"what is under test cannot be put on its disk of {_PAYLOAD_SIZE >> 20} MiB: {error}"
            ) from error
        cache.remove(union)

    name = "payload-" + "-".join(k.flavour for k in kernels) + arch.suffix + ("" if tests else "-alone")
    key = cache.digest(*(tree.name for tree in laid_out))
    return cache.make(name, key, "packing what is under test", make, keep=_PAYLOADS)


def _laid_out(name: str, key: str, what: str, parts: Callable[[], dict[str, Path]]) -> Path:
    """Lay out parts, each at its place; returns the tree."""

    def make(target: Path) -> None:
        target.mkdir()
        for where, source in parts().items():
            _install(source, target / where)

    return cache.make(name, key, what, make, keep=2)


def programs_tree(arch: Arch) -> Path:
    """Lay out tool, init and the partitions' initrd; returns the tree."""
    key = cache.digest(
        os.environ.get(_WITHOUT, ""),
        os.environ.get(PROFILE_VARIABLE, ""),
        host.partition_initrd(arch).name,
        *_sources(_PROGRAMS),
    )
    what = f"building the programs under test ({arch.name})"
    return _laid_out(f"programs-tree{arch.suffix}", key, what, lambda: products(arch))


def test_programs_tree(arch: Arch) -> Path:
    """Lay out the tests' programs; returns the tree."""
    key = cache.digest(*_sources(_TEST_PROGRAMS))
    what = f"building all of the tests' programs ({arch.name})"
    return _laid_out(f"test-programs-tree{arch.suffix}", key, what, lambda: test_programs(arch))


def modules_tree(kernel: Kernel) -> Path:
    """Lay out the modules for a kernel, with depmod's indexes; returns the tree."""
    without = os.environ.get(_WITHOUT, "")

    def make(target: Path) -> None:
        target.mkdir()
        _add_modules(target, kernel, [] if "modules" in without else modules(kernel))

    key = cache.digest(kernel.version, without, *_sources(_MODULES))
    return cache.make(f"modules-tree-{kernel.name}", key, f"building all modules for {kernel.version}", make, keep=2)


def test_modules_tree(kernel: Kernel) -> Path:
    """Lay out the tests' modules for a kernel; returns the tree."""
    without = os.environ.get(_WITHOUT, "")

    def make(target: Path) -> None:
        target.mkdir()
        for module in [] if "modules" in without else test_modules(kernel):
            _install_module(module, target / _TESTS / kernel.version / module.name, kernel.arch)

    key = cache.digest(kernel.version, without, *_sources(_TEST_MODULES))
    what = f"building all of the tests' modules for {kernel.version}"
    return cache.make(f"test-modules-tree-{kernel.name}", key, what, make, keep=2)


def _install(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    run("cp", source, target)
    target.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)


def _install_module(module: Path, target: Path, arch: Arch) -> None:
    """Install it without what only a debugger wants, which each machine would unpack."""
    _install(module, target)
    run(f"{arch.triple}-strip", "--strip-debug", target)


def _add_modules(root: Path, kernel: Kernel, objects: list[Path]) -> None:
    if not objects:
        return
    base = root / "usr/lib/modules" / kernel.version
    updates = base / "updates" / "dkms"
    updates.mkdir(parents=True)
    # depmod must see all modules of the kernel; links will do.
    scratch = root.with_suffix(".depmod")
    cache.remove(scratch)
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
        _install_module(module, updates / module.name, kernel.arch)
        run("cp", updates / module.name, linked / module.name)
    run("depmod", "-b", scratch, kernel.version)
    for index in (library / kernel.version).glob("modules.*"):
        run("cp", index, base / index.name)
    cache.remove(scratch)
