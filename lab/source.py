"""The source of Debian's kernel, for what only it contains: checkpatch and kernel-doc."""

from __future__ import annotations

from pathlib import Path

from lab import cache
from lab.apt import Apt
from lab.command import run
from lab.paths import CACHE

_SCRIPTS = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch", "kernel-doc")

#: In the cache.  What is there is not looked for again, so other scripts need another name.
_NAME = "linux-scripts"


def _package() -> str:
    """Return Debian 13's versioned source package, through the meta package."""
    with cache.lock("kernels"):
        Apt().update()
        return Apt().behind("linux-source/trixie", "linux-source-")


def checkpatch() -> Path:
    """Return the path of checkpatch.pl with its data files beside it."""
    return _scripts() / "checkpatch.pl"


def kernel_doc() -> Path:
    """Return the path of kernel-doc, which reads the comments of its form."""
    return _scripts() / "kernel-doc"


def _scripts() -> Path:
    known = sorted(CACHE.glob(f"{_NAME}-*"))
    return known[-1] if known else _fetch()


def _fetch() -> Path:
    def build(target: Path) -> None:
        work = target.with_suffix(".work")
        cache.remove(work)
        work.mkdir()
        archive = Apt().download(package, work)
        target.mkdir()
        # A tar in a tar, of which a few files are wanted.
        members = [f"{package}/scripts/{s}" for s in _SCRIPTS]
        inner = f"./usr/src/{package}.tar.xz"
        script = 'set -e; dpkg-deb --fsys-tarfile "$1" | tar -xO "$2" | tar -xJ --strip-components=2 -C "$3" '
        run("sh", "-c", script + " ".join(members), "sh", archive, inner, target)
        cache.remove(work)

    package = _package()
    return cache.make(_NAME, cache.digest(package, *_SCRIPTS), f"fetching scripts from {package}", build)
