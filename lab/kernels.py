"""Stock Debian kernels: found through the meta packages, never by version.

An image is downloaded and unpacked into the cache, not installed.  The headers
are installed in the tool root, because their links are absolute.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

from lab import cache, progress
from lab.command import CommandError, run
from lab.paths import CACHE

#: What the lab calls a kernel: suite and meta-package flavour.
FLAVOURS = {
    "6.12": ("trixie", "cloud"),
    "6.1": ("bookworm", "cloud"),
    "6.12-rt": ("trixie", "rt"),
    # for every kind of hardware, and the one that can be Xen's first domain
    "6.12-generic": ("trixie", ""),
    "6.1-rt": ("bookworm", "rt"),
    # what an updated machine runs: stable releases change the kernel's interfaces, too
    "6.12-security": ("trixie-security", "cloud"),
    "6.1-security": ("bookworm-security", "cloud"),
}

_KERNELS = CACHE / "kernels"
_LISTS = Path("/var/lib/apt/lists")
_LISTS_FRESH = 24 * 3600.0


@dataclass(frozen=True)
class Kernel:
    """A stock kernel in the cache."""

    flavour: str
    version: str  # as uname -r prints it
    root: Path  # holds boot/ and lib/modules/

    @property
    def image(self) -> Path:
        return self.root / "boot" / f"vmlinuz-{self.version}"

    @property
    def modules(self) -> Path:
        return self.root / "lib" / "modules" / self.version


def get(*flavours: str) -> list[Kernel]:
    """The kernels, with their headers installed in the tool root."""
    with cache.lock("kernels"):
        found = [_cached(f) for f in flavours]
        if all(k and _has_headers(k.version) for k in found):
            return [k for k in found if k]
        with progress.step(f"fetching stock Debian kernels and headers: {', '.join(flavours)}"):
            try:
                return _fetch(flavours)
            except CommandError:
                # The archive moved on to newer versions since the lists were
                # read or the kernels were cached: start from what it has now.
                update(force=True)
                for flavour in flavours:
                    if not _has_headers(_version(_KERNELS / flavour)):
                        cache.remove(_KERNELS / flavour)
                return _fetch(flavours)


def _fetch(flavours: tuple[str, ...]) -> list[Kernel]:
    versions = {}
    for flavour in flavours:
        kernel = _cached(flavour)
        versions[flavour] = kernel.version if kernel else _resolve(flavour)
    headers = [f"linux-headers-{v}" for v in versions.values() if not _has_headers(v)]
    if headers:
        update()
        apt = ("apt-get", "-q", "-y", "--no-install-recommends")
        environment = {"DEBIAN_FRONTEND": "noninteractive"}
        run("dpkg", "--configure", "-a", env=environment)  # after an interrupted run
        run(*apt, "-o", "Dpkg::Options::=--force-unsafe-io", "install", *headers, env=environment)
    for flavour, version in versions.items():
        if not _cached(flavour):
            _download(flavour, version)
    return [_at(_KERNELS / f) for f in flavours]


def update(force: bool = False) -> None:
    """Read the package lists if they are missing or old; call it under the lock."""
    lists = [p.stat().st_mtime for p in _LISTS.glob("*_Packages*")]
    if force or not lists or time.time() - _LISTS.stat().st_mtime > _LISTS_FRESH:
        run("apt-get", "-q", "update")
        _LISTS.touch()


def _resolve(flavour: str) -> str:
    update()
    suite, kind = FLAVOURS[flavour]
    meta = f"linux-image-{kind}-amd64/{suite}".replace("--", "-")
    # The suite must be named: Debian 12's security archive carries 6.12 too.
    depends = run("apt-cache", "depends", meta)
    match = re.search(r"Depends: linux-image-(\d\S+)", depends)
    if not match:
        raise CommandError(f"no kernel behind {meta}:\n{depends}")
    return match[1]


def download(package: str, place: Path) -> Path:
    """Fetch a package of Debian's, which may name a suite, into an empty directory; its file."""
    run("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package, cwd=place)
    (file,) = place.glob("*.deb")
    return file


def _download(flavour: str, version: str) -> None:
    target = _KERNELS / flavour
    new = _KERNELS / f"{flavour}.new"
    cache.remove(new)
    new.mkdir(parents=True)
    package = download(f"linux-image-{version}", new)
    run("dpkg-deb", "-x", package, new / "unpacked")
    unpacked = new / "unpacked"
    (new / "lib").mkdir()
    for library in ("usr/lib/modules", "lib/modules"):
        if (unpacked / library).is_dir():
            (unpacked / library).rename(new / "lib" / "modules")
    (unpacked / "boot").rename(new / "boot")
    cache.remove(unpacked)
    package.unlink()
    run("depmod", "-b", new, version)
    (new / "version").write_text(version)
    new.rename(target)


def _cached(flavour: str) -> Kernel | None:
    root = _KERNELS / flavour
    return _at(root) if root.is_dir() else None


def _version(root: Path) -> str:
    file = root / "version"
    return file.read_text() if file.exists() else ""


def _at(root: Path) -> Kernel:
    return Kernel(root.name, _version(root), root)


def _has_headers(version: str) -> bool:
    return bool(version) and Path("/lib/modules", version, "build", "Makefile").exists()
