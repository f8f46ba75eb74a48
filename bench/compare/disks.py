"""The disks of the comparison.

One Debian root is what every measured kernel has: native Linux in a chroot, the
others as their root disk.  So all run the same programs, QEMU and Xen's tools
included.  What is measured and changes often is on a small disk of its own.
"""

from __future__ import annotations

import functools
from pathlib import Path

from lab import build, cache, debian, files, kernels
from lab.arch import AMD64, DEFAULT, Arch
from lab.command import run
from lab.partition_root import with_modules
from lab.paths import SRC

_INIT = SRC / "bench" / "guest" / "init"
_GUEST = SRC / "bench" / "guest"
_PROGRAMS = SRC / "bench" / "programs"
_PACKAGES = (
    *("kmod", "procps", "util-linux", "bash", "busybox-static"),
    *debian.MEASURING,
    *("gcc", "libc6-dev", "make"),
    *("nbd-client", "nbd-server", "nfs-common", "nfs-kernel-server", "fcgiwrap"),
)
#: Hypervisors, which are compared on this architecture only.
_HYPERVISORS = ("qemu-system-x86", "socat", "xen-system-amd64")
#: A real C project that an emulated machine compiles within minutes, as Debian has it.
PROJECT = "zlib"


def tree(arch: Arch = DEFAULT) -> Path:
    """Return the root that all kernels have."""

    def finish(target: Path) -> None:
        files.write(target / "etc/hostname", "bench\n")
        files.write(target / "etc/hosts", "127.0.0.1 localhost bench\n")
        files.write(target / "usr/sbin/bench-init", _INIT.read_text(), 0o755)
        (target / "bench").mkdir()
        (target / "work").mkdir()

    what = "making the Debian root that is measured"
    packages = _PACKAGES + (_HYPERVISORS if arch is AMD64 else ())
    return debian.tree("bench-root", what, packages, finish, _INIT, arch=arch)


def root(arch: Arch = DEFAULT) -> Path:
    """Return its disk, with the modules of the kernel that all run."""
    return with_modules("bench-root", tree(arch), "6.12", "bench-root", "making the disk that is measured", arch)


@functools.cache
def tools(arch: Arch = DEFAULT) -> Path:
    """Return the disk with programs, modules and pages that are measured: /bench in every kernel."""
    (kernel,) = kernels.get("6.12", arch=arch)
    modules = [m for m in build.test_modules(kernel) if m.stem == "shimos_ikc_bench"]
    places = [*sorted(_PROGRAMS.glob("*.c")), SRC / "tests" / "programs" / "direct_io.c"]

    def make(target: Path) -> None:
        place = target.with_suffix(".tree")
        cache.remove(place)
        (place / "web").mkdir(parents=True)
        for source in places:
            own = _PROGRAMS / arch.name / source.name
            parts = [source, *([own] if own.exists() else [])]
            run(f"{arch.triple}-gcc", "-static", "-O2", "-Wall", "-Werror", "-o", place / source.stem, *parts)
        for module in modules:
            run("cp", module, place)
        run("cp", _GUEST / "nginx.conf", place)
        run("cp", _GUEST / "date", place / "web")
        (place / "web" / "megabyte").write_bytes(bytes(range(256)) * 4096)
        files.ext4(place, target, 1 << 20, "bench-tools")
        cache.remove(place)

    key = cache.digest(*places, _PROGRAMS, *modules, _GUEST, Path(__file__))
    return cache.make(f"bench-tools{arch.suffix}.ext4", key, "making the disk of what is measured", make)


@functools.cache
def work() -> Path:
    """Return the disk that is shared: the C project, configured, and room to compile it."""
    version = _source_version()

    def make(target: Path) -> None:
        place = target.with_suffix(".tree")
        cache.remove(place)
        place.mkdir()
        _apt("source", "--download-only", "--tar-only", PROJECT, cwd=place)
        (archive,) = place.glob("*.orig.tar.*z")
        (place / "source").mkdir()
        run("tar", "-xf", archive, "-C", place / "source", "--strip-components=1")
        run("./configure", "--static", cwd=place / "source")
        for file in place.glob(f"{PROJECT}_*"):
            file.unlink()
        files.ext4(place, target, 192 << 20, "bench-work")
        cache.remove(place)

    key = cache.digest(version, Path(__file__))
    return cache.make("bench-work.ext4", key, f"fetching and configuring {PROJECT} {version}", make)


def _source_version() -> str:
    """Return the version of Debian 13's source, for the cache."""
    text = run("apt-cache", "policy", "zlib1g-dev")
    return next(line.split()[1] for line in text.splitlines() if "Candidate:" in line)


def _apt(*arguments: str, cwd: Path) -> None:
    """Run apt-get with a list of sources that has source packages, which the tool root's own has not."""
    lists = cwd / "apt"
    lists.mkdir()
    own = Path("/etc/apt/sources.list").read_text().splitlines()
    sources = cwd / "sources.list"
    sources.write_text(
        "".join(line.replace("deb ", "deb-src ", 1) + "\n" for line in own if line.endswith(" trixie main"))
    )
    options = (f"Dir::Etc::sourcelist={sources}", "Dir::Etc::sourceparts=-", f"Dir::State::lists={lists}")
    flags = [word for option in (*options, "APT::Sandbox::User=root") for word in ("-o", option)]
    run("apt-get", "-q", *flags, "update", cwd=cwd)
    run("apt-get", "-q", *flags, *arguments, cwd=cwd)
    cache.remove(lists)
    sources.unlink()
