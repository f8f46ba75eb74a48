"""Debian's packages: by the tool root's own apt, or of another architecture or suite beside it.

No foreign architecture or suite is registered, so that nothing of the tool root ever comes from one: apt is
told by a configuration of its own to be that of another computer, on which nothing is installed.  Its
packages are only unpacked.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from lab import cache, files
from lab.arch import NATIVE, Arch
from lab.command import CommandError, run

_LISTS_FRESH = 24 * 3600.0
#: What the tool root's packages come from.
_SOURCES = Path("/etc/apt/sources.list")
#: Where the tool root keeps what its apt knows of another architecture or suite.
_FOREIGN = Path("/var/lib/shimos-lab")


def sources() -> dict[str, str]:
    """Return the lines of the tool root's source list by suite."""
    return {line.split()[2]: line for line in _SOURCES.read_text().splitlines() if line.startswith("deb ")}


def source(suite: str) -> str:
    """Return the source list's line of a suite, which the tool root's has or has not."""
    known = sources()
    if suite in known:
        return known[suite]
    # What a mirror has of a suite that moves every day may be weeks old; it is signed all the same.
    return f"deb [check-valid-until=no] {known['trixie'].split()[1]} {suite} main"


class Apt:
    """The packages of one architecture: of a suite that the tool root does not have, or of those that it has."""

    def __init__(self, arch: Arch = NATIVE, suite: str = "trixie"):
        self._arch = arch
        self._suite = None if suite in sources() else suite
        #: Whether its packages can be installed in the tool root.
        self.own = arch.native and not self._suite
        place = f"{self._suite}-{arch.name}" if self._suite else arch.name
        self._state = Path("/var/lib/apt") if self.own else _FOREIGN / place
        self._configuration = self._state / "apt.conf"

    def run(self, program: str, *words: str, cwd: Path | None = None) -> str:
        """Run a program of apt's."""
        if self.own:
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
        if self._suite:
            options["Dir::Etc::SourceList"] = self._state / "sources.list"
            files.write(self._state / "sources.list", f"{source(self._suite)}\n")
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

    def add(self, *packages: str) -> None:
        """Have packages in the tool root: installed with all that they depend on, or else nothing but unpacked."""
        if self.own:
            self.update()
            install(*packages)
        else:
            for package in packages:
                self.unpack(package)

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
