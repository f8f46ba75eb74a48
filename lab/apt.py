"""Debian's packages: of this computer's architecture by the tool root's own apt, of another one beside it.

No foreign architecture is registered: apt is told by a configuration of its own to be that of another
computer, on which nothing is installed.  Its packages are only unpacked.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from lab import cache, files
from lab.arch import NATIVE, Arch
from lab.command import CommandError, run

_LISTS_FRESH = 24 * 3600.0
#: Where the tool root keeps what its apt knows of another architecture.
_FOREIGN = Path("/var/lib/shimos-lab")


class Apt:
    """The packages of one architecture."""

    def __init__(self, arch: Arch = NATIVE):
        self._arch = arch
        self._state = Path("/var/lib/apt") if arch.native else _FOREIGN / arch.name
        self._configuration = self._state / "apt.conf"

    def run(self, program: str, *words: str, cwd: Path | None = None) -> str:
        """Run a program of apt's."""
        if self._arch.native:
            return run(program, *words, cwd=cwd)
        if not self._configuration.exists():
            self._configure()
        return run(program, *words, cwd=cwd, env={"APT_CONFIG": str(self._configuration)})

    def _configure(self) -> None:
        options = {
            "APT::Architecture": self._arch.name,
            "APT::Architectures": self._arch.name,
            "Dir::State": self._state,
            "Dir::State::status": self._state / "status",
            "Dir::Cache": self._state / "cache",
            # Seldom asked, and large.
            "Dir::Cache::pkgcache": "",
            "Dir::Cache::srcpkgcache": "",
            "Acquire::GzipIndexes": "true",
            "Acquire::Languages": "none",
        }
        for directory in ("lists/partial", "cache/archives/partial"):
            (self._state / directory).mkdir(parents=True, exist_ok=True)
        files.write(self._state / "status", "")
        files.write(self._configuration, "".join(f'{name} "{value}";\n' for name, value in options.items()))

    def update(self, force: bool = False) -> None:
        """Read the package lists if they are missing or old; call it under the lock of the kernels."""
        lists = self._state / "lists"
        if force or not any(lists.glob("*_Packages*")) or time.time() - lists.stat().st_mtime > _LISTS_FRESH:
            self.run("apt-get", "-q", "update")
            lists.touch()

    def download(self, package: str, place: Path) -> Path:
        """Fetch a package, which may name a suite or a version, into an empty directory; its file."""
        self.run("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package, cwd=place)
        (file,) = place.glob("*.deb")
        return file

    def depends(self, package: str) -> list[str]:
        """Return what a package, which may name a suite, depends on."""
        return re.findall(r"Depends: (\S+)", self.run("apt-cache", "depends", package))

    def behind(self, meta: str, prefix: str) -> str:
        """Return the package with a version in its name that a meta package, which may name a suite, stands for."""
        depends = self.depends(meta)
        for package in depends:
            if re.match(rf"{prefix}\d", package):
                return package
        raise CommandError(f"no {prefix}… behind {meta}: {depends}")

    def has(self, package: str) -> bool:
        """Return whether a package was unpacked into the tool root."""
        return self._stamp(package).exists()

    def unpack(self, package: str) -> None:
        """Put a package's files where they belong in the tool root, unless they are there.

        That is right for those that Debian calls co-installable: their files' names have the architecture in them.
        """
        if self.has(package):
            return
        self.update()
        work = self._state / "unpack"
        cache.remove(work)
        work.mkdir(parents=True)
        archive = self.download(package, work)
        # Directories that are links in the root stay so.
        script = 'set -e; dpkg-deb --fsys-tarfile "$1" >"$2"; tar -x --keep-directory-symlink -f "$2" -C /'
        run("sh", "-c", script, "sh", archive, work / "tar")
        cache.remove(work)
        self._stamp(package).parent.mkdir(exist_ok=True)
        self._stamp(package).touch()

    def _stamp(self, package: str) -> Path:
        return self._state / "unpacked" / package


def install(*packages: str) -> None:
    """Install packages of this computer's architecture in the tool root."""
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    run("dpkg", "--configure", "-a", env=environment)  # after an interrupted run
    apt = ("apt-get", "-q", "-y", "--no-install-recommends", "-o", "Dpkg::Options::=--force-unsafe-io")
    run(*apt, "install", *packages, env=environment)


def development(arch: Arch) -> None:
    """Have what compilers need of another architecture and Debian has no package of this one for."""
    if arch.native:
        return
    with cache.lock("kernels"):
        # Rust's library must be exactly the compiler's.
        rust = run("dpkg-query", "-W", "-f", "${Version}", "rustc")
        for package in ("musl-dev", f"libstd-rust-dev={rust}"):
            Apt(arch).unpack(package)
