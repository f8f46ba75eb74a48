"""Debian's cyclictest, on a disk of its own."""

from __future__ import annotations

from pathlib import Path

from lab import cache, files
from lab.apt import Apt
from lab.command import run


def cyclictest() -> Path:
    """Return a disk with Debian's cyclictest, for the machine's root does not have it."""

    def make(target: Path) -> None:
        place = target.with_suffix(".tree")
        cache.remove(place)
        place.mkdir()
        with cache.lock("kernels"):
            Apt().update()
        package = Apt().download("rt-tests/trixie", place)
        run("dpkg-deb", "-x", package, place / "unpacked")
        files.ext4(place / "unpacked", target, 1 << 20, "bench-rt")
        cache.remove(place)

    return cache.make("bench-rt.ext4", cache.digest(Path(__file__)), "fetching cyclictest", make)
