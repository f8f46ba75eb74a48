"""The source of Debian's kernel, for what only it contains: checkpatch."""

from __future__ import annotations

from pathlib import Path

from lab import cache
from lab.apt import Apt
from lab.command import run
from lab.paths import CACHE

_SCRIPTS = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")


def _package() -> str:
    """Debian 13's versioned source package, through the meta package."""
    with cache.lock("kernels"):
        Apt().update()
        return Apt().behind("linux-source/trixie", "linux-source-")


def checkpatch() -> Path:
    """Path of checkpatch.pl with its data files beside it."""
    known = sorted(CACHE.glob("checkpatch-*"))
    if known:
        return known[-1] / _SCRIPTS[0]

    def build(target: Path) -> None:
        work = target.with_suffix(".work")
        cache.remove(work)
        work.mkdir()
        archive = Apt().download(package, work)
        target.mkdir()
        # A tar in a tar, of which three files are wanted.
        members = [f"{package}/scripts/{s}" for s in _SCRIPTS]
        inner = f"./usr/src/{package}.tar.xz"
        script = 'set -e; dpkg-deb --fsys-tarfile "$1" | tar -xO "$2" | tar -xJ --strip-components=2 -C "$3" '
        run("sh", "-c", script + " ".join(members), "sh", archive, inner, target)
        cache.remove(work)

    package = _package()
    return cache.make("checkpatch", cache.digest(package), f"fetching checkpatch from {package}", build) / _SCRIPTS[0]
