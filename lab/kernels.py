"""Stock Debian kernels: found through the meta packages, never by version.

An image is downloaded and unpacked into the cache, not installed.  The headers
are installed in the tool root, because their links are absolute; those of
another architecture, or of a suite that the tool root does not have, are
unpacked there.  Sid's are in a root of sid (lab/builder.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from lab import builder, cache, progress
from lab.apt import Apt
from lab.arch import AMD64, DEFAULT, NATIVE, Arch
from lab.command import CommandError, run
from lab.paths import CACHE

#: What the lab calls a kernel: suite, and what its meta package's name ends with for an architecture.
FLAVOURS = {
    "6.12": ("trixie", "cloud-{}"),
    "6.1": ("bookworm", "cloud-{}"),
    "6.12-rt": ("trixie", "rt-{}"),
    # for every kind of hardware, and the one that can be Xen's first domain
    "6.12-generic": ("trixie", "{}"),
    "6.1-rt": ("bookworm", "rt-{}"),
    # with pages of 16 KiB; only arm64 has it
    "6.12-16k": ("trixie", "{}-16k"),
    # what an updated machine runs: stable releases change the kernel's interfaces, too
    "6.12-security": ("trixie-security", "cloud-{}"),
    "6.1-security": ("bookworm-security", "cloud-{}"),
    # the newest that Debian has for its stable release
    "7.3": ("trixie-backports", "cloud-{}"),
    # the newest that Debian 12 has got from its backports
    "6.12-bookworm": ("bookworm-backports", "cloud-{}"),
    # what the next stable release is made from; it moves
    "sid": ("sid", "cloud-{}"),
}

_KERNELS = CACHE / "kernels"


@dataclass(frozen=True)
class Kernel:
    """A stock kernel in the cache."""

    flavour: str
    version: str  # as uname -r prints it
    root: Path  # holds boot/ and lib/modules/
    arch: Arch = DEFAULT

    @property
    def name(self) -> str:
        """What things of it are called in the cache."""
        return f"{self.flavour}{self.arch.suffix}"

    @property
    def suite(self) -> str:
        """Return the suite of Debian's that it is from."""
        return FLAVOURS[self.flavour][0]

    @property
    def builder(self) -> Path | None:
        """Return the root in which modules for it are built; none: that is the tool root."""
        return builder.root(self.suite, self.version, self.arch) if self.suite in builder.SUITES else None

    @property
    def image(self) -> Path:
        """Return the kernel's compressed image."""
        return self.root / "boot" / f"vmlinuz-{self.version}"

    @property
    def unpacked(self) -> Path:
        """Return the same kernel as what boots soonest, once the lab has made that; arm64's images are not packed."""
        return self.root / "boot" / f"vmlinux-{self.version}" if self.arch is AMD64 else self.image

    @property
    def modules(self) -> Path:
        """Return the directory of Debian's modules for it."""
        return self.root / "lib" / "modules" / self.version


def get(*flavours: str, arch: Arch = DEFAULT) -> list[Kernel]:
    """Return the kernels, with their headers in the tool root."""
    with cache.lock("kernels"):
        found = [_cached(f, arch) for f in flavours]
        if all(k and _has_headers(k) for k in found):
            return [k for k in found if k]
        with progress.step(f"fetching stock Debian kernels and headers for {arch.name}: {', '.join(flavours)}"):
            try:
                return _fetch(flavours, arch)
            except CommandError:
                # The archive moved on to newer versions since the lists were
                # read or the kernels were cached: start from what it has now.
                for flavour in flavours:
                    _apt(flavour, arch).update(force=True)
                for kernel in found:
                    if kernel and not _has_headers(kernel):
                        cache.remove(kernel.root)
                return _fetch(flavours, arch)


def renew(*flavours: str, arch: Arch = DEFAULT) -> None:
    """Drop the kernels from the cache that the archive has newer ones of; not while others use them."""
    with cache.lock("kernels"):
        for flavour in flavours:
            kernel = _cached(flavour, arch)
            if kernel and kernel.version != _resolve(flavour, arch):
                progress.say(f"{flavour}: there is a newer one than {kernel.version}")
                cache.remove(kernel.root)


def _apt(flavour: str, arch: Arch) -> Apt:
    return Apt(arch, FLAVOURS[flavour][0])


def archive(flavour: str, place: Path) -> None:
    """Make a directory of which apt can upgrade a machine to a kernel: its packages, headers, meta packages, and an index."""
    apt = _apt(flavour, NATIVE)
    suite, kind = FLAVOURS[flavour]
    with cache.lock("kernels"), progress.step(f"fetching the packages of a stock Debian kernel: {flavour}"):
        version = _resolve(flavour, NATIVE)
        metas = [f"linux-{what}-{kind.format(NATIVE.name)}/{suite}" for what in ("image", "headers")]
        header = f"linux-headers-{version}"
        for package in (*metas, *_packages(version, apt), header, *_needed(header, apt)):
            part = place / package.replace("/", "-")
            part.mkdir(parents=True)
            apt.download(package, part)
    run("sh", "-c", "dpkg-scanpackages . >Packages", cwd=place)


def _fetch(flavours: tuple[str, ...], arch: Arch) -> list[Kernel]:
    found = [_cached(f, arch) or _download(f, _resolve(f, arch), arch) for f in flavours]
    for kernel in found:
        if not _has_headers(kernel):
            _add_headers(kernel)
    return found


def _add_headers(kernel: Kernel) -> None:
    if kernel.builder:
        builder.make(kernel.suite, kernel.version, kernel.arch)
        return
    header = f"linux-headers-{kernel.version}"
    apt = Apt(kernel.arch, kernel.suite)
    if not apt.own:
        # What they need runs on this computer, or is the same on any.
        Apt(NATIVE, kernel.suite).add(*_needed(header, apt))
    apt.add(header)


def _needed(header: str, apt: Apt) -> list[str]:
    """Return what a package of headers needs of its own kernel."""
    return [p for p in apt.depends(header) if re.fullmatch(r"linux-headers-.*-common(-rt)?|linux-kbuild-.*", p)]


def _resolve(flavour: str, arch: Arch) -> str:
    apt = _apt(flavour, arch)
    apt.update()
    suite, kind = FLAVOURS[flavour]
    meta = f"linux-image-{kind.format(arch.name)}/{suite}"
    # The suite must be named: Debian 12's security archive carries 6.12 too.
    return apt.behind(meta, "linux-image-").removeprefix("linux-image-")


def _download(flavour: str, version: str, arch: Arch) -> Kernel:
    target = _KERNELS / f"{flavour}{arch.suffix}"
    new = target.with_name(f"{target.name}.new")
    cache.remove(new)
    new.mkdir(parents=True)
    unpacked = new / "unpacked"
    apt = _apt(flavour, arch)
    for name in _packages(version, apt):
        package = apt.download(name, new)
        run("dpkg-deb", "-x", package, unpacked)
        package.unlink()
    (new / "lib").mkdir()
    for library in ("usr/lib/modules", "lib/modules"):
        if (unpacked / library).is_dir():
            (unpacked / library).rename(new / "lib" / "modules")
    if (unpacked / "boot").is_dir():
        (unpacked / "boot").rename(new / "boot")
    else:
        _fill_boot(new, version)
    cache.remove(unpacked)
    run("depmod", "-b", new, version)
    (new / "version").write_text(version)
    new.rename(target)
    return _at(flavour, arch)


def _packages(version: str, apt: Apt) -> list[str]:
    """Return what a kernel comes in: one package, or since 7.0 several that the first one depends on."""
    image = f"linux-image-{version}"
    return [image, *(p for p in apt.depends(image) if p.endswith(f"-{version}"))]


def _fill_boot(root: Path, version: str) -> None:
    """Put image and configuration where older packages have them, and where a hook of linux-base puts those of newer ones."""
    (root / "boot").mkdir()
    for name in ("vmlinuz", "config"):
        (root / "lib" / "modules" / version / name).rename(root / "boot" / f"{name}-{version}")


def _cached(flavour: str, arch: Arch) -> Kernel | None:
    kernel = _at(flavour, arch)
    return kernel if kernel.version else None


def _at(flavour: str, arch: Arch) -> Kernel:
    root = _KERNELS / f"{flavour}{arch.suffix}"
    file = root / "version"
    return Kernel(flavour, file.read_text() if file.exists() else "", root, arch)


def _has_headers(kernel: Kernel) -> bool:
    if kernel.builder:
        return kernel.builder.exists()
    apt = Apt(kernel.arch, kernel.suite)
    if not apt.own:
        return apt.has(f"linux-headers-{kernel.version}")
    return Path("/lib/modules", kernel.version, "build", "Makefile").exists()
