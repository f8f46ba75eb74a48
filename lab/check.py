"""``./test``: quick checks of every part, then pytest.

    ./test [PYTEST-ARGUMENTS]

With arguments that choose tests, only these run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from lab import build, cache, kernels, progress, source
from lab.command import CommandError, run
from lab.paths import CACHE, SRC

_TOOL = SRC / "tool"
_PYTHON = ("lab", "tests", "bench")

# What checkpatch says about a patch to Linux and not about modules beside it:
# a compat header compares versions and renames types, init is user space.
_CHECKPATCH_IGNORE = (
    *("FILE_PATH_CHANGES", "SPDX_LICENSE_TAG", "LINUX_VERSION_CODE"),
    *("CONSTANT_COMPARISON", "NEW_TYPEDEFS", "EMBEDDED_FUNCTION_NAME"),
)


def ruff() -> None:
    """Python: lint and format."""
    run("ruff", "check", "--no-fix", SRC)
    run("ruff", "format", "--check", SRC)


def mypy() -> None:
    """Python: types."""
    run("mypy", *(SRC / d for d in _PYTHON if (SRC / d).is_dir()))


def shell_syntax() -> None:
    """Shell scripts: syntax."""
    for script in (
        "demo",
        "test",
        ".ci/run",
        "lab/enter",
        "lab/inside",
        "lab/make-root",
        "bench/start",
        "bench/ikc",
        "bench/kml",
        "bench/run",
        "bench/check",
        "lab/debug/build",
        "lab/debug/run",
    ):
        run("dash", "-n", SRC / script)
    for script in ("host-init", "host-shell", "host-initramfs", "partition-init"):
        run("busybox", "sh", "-n", SRC / "lab" / "guest" / script)
    run("dash", "-n", SRC / "bench" / "guest" / "init")


def rust_format() -> None:
    """Tool, libraries and benchmark: format."""
    for place in ("tool", "lib/rust", "lib/rust-kml", "bench/ring/rtrb"):
        run("cargo", "fmt", "--check", cwd=SRC / place)


def clippy() -> None:
    """Tool and libraries: clippy."""
    run("cargo", "clippy", "--locked", "--all-targets", "--", "-D", "warnings", cwd=_TOOL)


def rust_tests() -> None:
    """Tool and libraries: unit tests."""
    run("cargo", "test", "--locked", cwd=_TOOL)


def module_warnings() -> None:
    """Modules: no warnings on any supported kernel, with sparse."""
    for kernel in kernels.get("6.12", "6.1", "6.12-security", "6.1-security", "6.12-rt", "6.1-rt"):
        text = _everything_said(kernel).read_text()
        bad = [line for line in text.splitlines() if re.search(r"warning:|error:|WARNING", line)]
        # Sparse of Debian 13 does not know all that kernel headers contain;
        # only what it says about our files counts.
        ours = [line for line in bad if "/usr/src/" not in line and "Skipping BTF" not in line]
        if ours:
            raise CommandError("\n".join(ours))


def _everything_said(kernel: kernels.Kernel) -> Path:
    """What the compiler and sparse said when all modules were built for a kernel, kept until one of them changes."""

    def compile_all(log: Path) -> None:
        # A folder of its own, so that everything is compiled again.
        out = CACHE / "build" / f"{kernel.version}-check"
        cache.remove(out)
        log.write_text(build.run_make("modules", out, f"KVER={kernel.version}", "SPARSE=2"))

    key = cache.digest(kernel.version, SRC / "kernel", SRC / "Makefile", Path("/usr/bin/sparse"))
    return cache.make(f"said-{kernel.flavour}", key, f"checking the modules for {kernel.version}", compile_all)


def checkpatch() -> None:
    """Modules: checkpatch."""
    files = [
        p for d in ("kernel", "tests/modules") for p in sorted((SRC / d).rglob("*")) if p.suffix in (".c", ".h", ".S")
    ]
    ignore = ",".join(_CHECKPATCH_IGNORE)
    options = ("--no-tree", "--terse", "--show-types", "--no-summary", "--max-line-length=100", f"--ignore={ignore}")
    run("perl", source.checkpatch(), *options, "-f", *files, cwd=SRC)


def unit_tests() -> None:
    """Modules: unit tests in user space, with sanitizers."""
    _make("check")


def ikc_tests() -> None:
    """IKC: unit tests, fuzzers and killing of ring and allocator, with sanitizers."""
    _make("check-ikc")


def vring_tests() -> None:
    """Virtqueues: unit tests, fuzzers and deaths of both ends, with sanitizers."""
    _make("check-vring")


def ikc_model() -> None:
    """IKC: all interleavings of ring and allocator."""
    _make("check-model")


def library() -> None:
    """C library: its test, with sanitizers, and the example."""
    _make("lib", "OUT=build/lib")


def _make(target: str, *variables: str) -> None:
    # In a copy: build products do not belong into the source tree.
    copy = CACHE / "build" / "check"
    copy.mkdir(parents=True, exist_ok=True)
    for name in ("Makefile", "kernel", "tests", "lib", "examples"):
        # what was renamed or removed must not be built again
        run("rm", "-rf", copy / name)
        run("cp", "-a", SRC / name, copy)
    run("make", target, *variables, cwd=copy)


CHECKS: tuple[Callable[[], None], ...] = (
    ruff,
    mypy,
    shell_syntax,
    rust_format,
    clippy,
    rust_tests,
    module_warnings,
    checkpatch,
    unit_tests,
    ikc_tests,
    vring_tests,
    ikc_model,
    library,
)


def quick_checks() -> list[str]:
    """Run all checks, also after one failed; returns the failed ones' names."""
    failed = []
    for check in CHECKS:
        name = (check.__doc__ or "").splitlines()[0].rstrip(".")
        begin = time.monotonic()
        try:
            check()
        except CommandError as error:
            failed.append(name)
            print(f"FAIL  {name}\n{error}", flush=True)
        else:
            print(f"ok    {name} ({time.monotonic() - begin:.1f} s)", flush=True)
    return failed


def main(arguments: list[str]) -> int:
    """Checks and tests; 0 if all is good.  Pytest's summary comes last."""
    failed: list[str] = []
    if not any(not a.startswith("-") for a in arguments):
        # More machines than cores would be late too often.
        workers = min(os.cpu_count() or 1, 4)
        arguments = ["--numprocesses", str(workers), "--dist", "loadgroup", *arguments]
        with progress.step("quick checks"):
            kernels.get("6.12", "6.1")
            failed = quick_checks()
    with progress.step("building everything under test"):
        build.everything()
    # What failed above is said again where it will be seen.
    os.environ["SHIMOS_FAILED_CHECKS"] = "\n".join(failed)
    status = subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=SRC, check=False).returncode
    return 1 if failed else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
