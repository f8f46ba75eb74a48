"""Debian's programs that serve devices to virtual machines, and to partitions."""

from __future__ import annotations

import functools
from pathlib import Path

from lab import cache
from lab.apt import Apt
from lab.arch import Arch
from lab.command import run


@functools.cache
def virtiofsd(arch: Arch) -> Path:
    """Fetch virtiofsd, which needs libraries that the machine has; returns its path."""

    def fetch(place: Path) -> None:
        place.mkdir()
        apt = Apt(arch)
        with cache.lock("kernels"):
            apt.update()
            archive = apt.download("virtiofsd", place)
        run("dpkg-deb", "-x", archive, place)
        archive.unlink()

    made = cache.make(f"virtiofsd{arch.suffix}", arch.name, f"fetching virtiofsd for {arch.name}", fetch)
    return made / "usr/libexec/virtiofsd"
