"""The quick checks of every part, side by side; what has not changed since it passed is not done again."""

from __future__ import annotations

import itertools
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab import build, cache, contracts, dates, kernels, scripts, source, tier
from lab.arch import AMD64, ARM64
from lab.command import CommandError, run
from lab.paths import CACHE, SRC

Check = Callable[[], None]

_TOOL = SRC / "tool"
_PYTHON = ("lab", "tests", "bench")
_RUST = ("tool", "tool/unpack", "lib/rust", "lib/rust-kml", "bench/ring/rtrb", "rt/embassy")

# What checkpatch says about a patch to Linux and not about modules beside it:
# a compat header compares versions and renames types, init is user space.
_CHECKPATCH_IGNORE = (
    *("FILE_PATH_CHANGES", "SPDX_LICENSE_TAG", "LINUX_VERSION_CODE"),
    *("CONSTANT_COMPARISON", "NEW_TYPEDEFS", "EMBEDDED_FUNCTION_NAME"),
)

#: Of every architecture and version one, and one more where headers have most that is different: pages that are larger.
_MODULE_KERNELS = {AMD64: ("6.12", "6.1"), ARM64: ("6.12-16k", "6.1")}
#: Of the same versions, built by the tests that boot them; what is said of them is the same as far as anybody has seen.
_MORE_KERNELS = {
    AMD64: ("6.12-security", "6.1-security", "6.12-rt", "6.1-rt", "7.3", "6.12-bookworm", "sid"),
    ARM64: ("6.12",),
}


def ruff() -> None:
    """Python: lint and format."""
    # A program without a suffix is known by its first line.
    programs = [script.path for script in scripts.find(SRC) if script.interpreter == "python"]
    run("ruff", "check", "--no-fix", SRC, *programs)
    run("ruff", "format", "--check", SRC, *programs)


def mypy() -> None:
    """Python: types."""
    run("mypy", *(SRC / d for d in _PYTHON if (SRC / d).is_dir()))


def shell_scripts() -> None:
    """Shell scripts: syntax, and what shellcheck knows."""
    scripts.check_shell(scripts.find(SRC))


def rust_format() -> None:
    """Everything in Rust: format."""
    for place in _RUST:
        run("cargo", "fmt", "--check", cwd=SRC / place)


def clippy() -> None:
    """Tool and libraries: clippy."""
    dates.date_tree()
    run("cargo", "clippy", "--profile", "lab", "--locked", "--all-targets", "--", "-D", "warnings", cwd=_TOOL)


def rust_tests() -> None:
    """Tool and libraries: unit tests."""
    dates.date_tree()
    run("cargo", "test", "--profile", "lab", "--locked", cwd=_TOOL)


def module_warnings() -> None:
    """Modules: no warnings, with sparse, on each supported version; with --all on every supported kernel."""
    for kernel in _checked_kernels():
        text = _everything_said(kernel).read_text()
        bad = [line for line in text.splitlines() if re.search(r"warning:|error:|WARNING", line)]
        # Sparse of Debian 13 does not know all that kernel headers contain;
        # only what it says about our files counts.
        ours = [line for line in bad if "/usr/src/" not in line and "Skipping BTF" not in line]
        if ours:
            raise CommandError("\n".join(ours))


def _checked_kernels() -> Iterator[kernels.Kernel]:
    for some in (_MODULE_KERNELS, _MORE_KERNELS) if tier.everything() else (_MODULE_KERNELS,):
        for arch, names in some.items():
            yield from kernels.get(*names, arch=arch)


def _everything_said(kernel: kernels.Kernel) -> Path:
    """Return what the compiler and sparse said when all modules were built for a kernel, kept until one changes."""

    def compile_all(log: Path) -> None:
        log.write_text(build.modules_anew(kernel))

    key = cache.digest(kernel.version, SRC / "kernel", SRC / "Makefile", Path("/usr/bin/sparse"))
    return cache.make(f"said-{kernel.name}", key, f"checking the modules for {kernel.version}", compile_all)


def checkpatch() -> None:
    """Modules and real-time programs: checkpatch."""
    files = [path for path in inputs("kernel", "rt", "tests/modules") if path.suffix in (".c", ".h", ".S")]
    ignore = ",".join(_CHECKPATCH_IGNORE)
    options = ("--no-tree", "--terse", "--show-types", "--no-summary", "--max-line-length=100", f"--ignore={ignore}")
    run("perl", source.checkpatch(), *options, "-f", *files, cwd=SRC)


def kernel_docs() -> None:
    """Modules: what crosses files says how it is used, as kernel-doc."""
    files = {path: path.read_text() for path in inputs("kernel") if path.suffix in (".c", ".h")}
    # That a file has no such comment is worth a warning to it.
    commented = [path for path, text in files.items() if "/**" in text]
    run("perl", source.kernel_doc(), "-none", "-Werror", *commented, cwd=SRC)
    if words := contracts.complaints({str(path.relative_to(SRC)): text for path, text in files.items()}):
        raise CommandError("\n".join(words))


def unit_tests() -> None:
    """Modules: unit tests in user space, with sanitizers."""
    _make("check")


def ikc_tests() -> None:
    """IKC: unit tests, fuzzers and killing of ring and allocator, with sanitizers."""
    _make("check-ikc")


def vring_tests() -> None:
    """Virtqueues: unit tests, fuzzers and deaths of both ends, with sanitizers."""
    _make("check-vring")


def layer_tests() -> None:
    """SPUMONE's layer: unit tests and fuzzers of its logic, with sanitizers."""
    _make("check-layer")


def rt_images() -> None:
    """Real-time programs: unit tests with sanitizers, what the images are, and a run in a process."""
    _make("check-rt")


def rt_clippy() -> None:
    """Real-time programs in Rust: clippy."""
    _make("clippy-rt")


def ikc_model() -> None:
    """IKC: all interleavings of ring and allocator."""
    _make("check-model")


def library() -> None:
    """C library: its test, with sanitizers, and the example."""
    _make("lib", f"OUT={_BUILD}/lib")


#: Build products do not belong into the source tree; each target has a folder of its own there.
_BUILD = CACHE / "build" / "check"


def _make(target: str, *variables: str) -> None:
    with cache.lock(f"check-{target}"):
        dates.date_tree()
        run("make", "--no-print-directory", target, f"BUILD={_BUILD}", *variables, cwd=SRC)


def inputs(*places: str) -> list[Path]:
    """List the tree's files at or below these places."""
    return [path for path in scripts.source_files(SRC) if any(path.is_relative_to(SRC / place) for place in places)]


#: What runs one after the other, for cargo lets one in at a time; the longest chain comes first.
_CHAINS: tuple[tuple[Check, ...], ...] = (
    (module_warnings,),
    (rust_format, clippy, rust_tests),
    (ikc_model,),
    (mypy,),
    (checkpatch, kernel_docs),
    (vring_tests,),
    (ikc_tests,),
    (unit_tests,),
    (layer_tests,),
    (rt_images, rt_clippy),
    (library,),
    (ruff,),
    (shell_scripts,),
)

CHECKS: tuple[Check, ...] = tuple(itertools.chain.from_iterable(_CHAINS))

#: What these checks read beside the tool root.  They say the same as long as all of it is the same.
_READS: dict[Check, tuple[str, ...]] = {
    checkpatch: ("kernel", "rt", "tests/modules", "lab/checks.py"),
    kernel_docs: ("kernel", "lab/checks.py", "lab/contracts.py"),
    unit_tests: ("Makefile", "kernel", "tests/host"),
    ikc_tests: ("Makefile", "kernel", "tests/host"),
    vring_tests: ("Makefile", "kernel", "tests/host"),
    rt_images: ("Makefile", "kernel/include", "kernel/ikc", "rt", "tests/host", "tests/rt"),
    rt_clippy: ("Makefile", "rt", "tests/host/rt-images"),
    ikc_model: ("Makefile", "kernel", "tests/host"),
    library: ("Makefile", "kernel", "lib", "examples", "rt/programs"),
    rust_tests: ("tool", "lib", "kernel", "lab/checks.py"),
}


def unless_unchanged(name: str, files: list[Path], check: Check) -> bool:
    """Do a check unless it passed with these files; returns whether that was so."""
    passed = CACHE / "passed" / name
    # Compilers and their libraries; kernels' headers come and go with what else the lab does.
    packages = [line for line in run("dpkg-query", "-W").splitlines() if not line.startswith("linux-")]
    key = cache.digest(*files, "\n".join(packages))
    if not tier.everything() and passed.exists() and passed.read_text() == key:
        return True
    passed.unlink(missing_ok=True)
    check()
    passed.parent.mkdir(exist_ok=True)
    passed.write_text(key)
    return False


_printing = threading.Lock()


def _chain(checks: tuple[Check, ...]) -> list[str]:
    """Run checks in turn and print each one's result; returns the failed ones' names."""
    failed = []
    for check in checks:
        name = (check.__doc__ or "").splitlines()[0].rstrip(".")
        begin = time.monotonic()
        try:
            reads = _READS.get(check)
            if reads is None:
                check()
                unchanged = False
            else:
                unchanged = unless_unchanged(check.__name__, inputs(*reads), check)
        except CommandError as error:
            failed.append(name)
            text = f"FAIL  {name}\n{error}"
        else:
            text = f"ok (unchanged)  {name}" if unchanged else f"ok    {name} ({time.monotonic() - begin:.1f} s)"
        with _printing:
            print(text, flush=True)
    return failed


def quick_checks() -> list[str]:
    """Run all checks, as many chains at a time as there are cores; returns the failed ones' names."""
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return list(itertools.chain.from_iterable(pool.map(_chain, _CHAINS)))
