"""Debian roots in which modules are built for kernels that the tool root has no compiler for: sid's.

A kernel's headers name the compiler that it was built with, and whoever uses that kernel builds with it.
Sid's would bring sid's C library into the tool root.
"""

from __future__ import annotations

from pathlib import Path

from lab import apt, cache
from lab.arch import NATIVE, Arch
from lab.command import run
from lab.paths import CACHE

#: Whose kernels want one.
SUITES = ("sid",)
_PACKAGES = ("make",)
_LEFT_OUT = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*")

# Where the tree and the cache are is the same inside.
_RUN = """
set -e
for place in /src /cache; do
    mkdir -p "$0$place"
    mount --bind "$place" "$0$place"
done
mount -t proc proc "$0/proc"
exec chroot "$0" "$@"
"""


def _name(suite: str, arch: Arch) -> str:
    return f"builder-{suite}{arch.suffix}"


def _key(suite: str, version: str, arch: Arch) -> str:
    return cache.digest(apt.source(suite), version, arch.name, Path(__file__))


def root(suite: str, version: str, arch: Arch) -> Path:
    """Return where the root for a kernel of a suite is, or will be."""
    return CACHE / f"{_name(suite, arch)}-{_key(suite, version, arch)}"


def make(suite: str, version: str, arch: Arch) -> None:
    """Make the root for a kernel, unless it is there: the newest that the suite has, for it has no headers of another."""

    def build(target: Path) -> None:
        run(
            "mmdebstrap",
            *("--variant=apt", f"--architectures={','.join(dict.fromkeys([NATIVE.name, arch.name]))}"),
            f"--include={','.join([*_PACKAGES, f'linux-headers-{version}:{arch.name}'])}",
            "--dpkgopt=force-unsafe-io",
            *(f"--dpkgopt=path-exclude={path}" for path in _LEFT_OUT),
            suite,
            target,
            apt.source(suite),
        )

    what = f"making a Debian {suite} in which modules for {version} are built"
    cache.make(_name(suite, arch), _key(suite, version, arch), what, build)


def run_in(place: Path, *words: str | Path) -> str:
    """Run a program in such a root, with the tree and the cache where they are here; returns what it printed."""
    return run("unshare", "--mount", "--propagation", "unchanged", "sh", "-c", _RUN, place, *words)
