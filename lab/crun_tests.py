"""crun's own tests, from Debian's source of the crun that machines have: what any runtime can be measured by."""

from __future__ import annotations

from pathlib import Path

from lab import cache, files
from lab.apt import Apt
from lab.command import run

_SUITE = "trixie"
_SPARE = 1 << 20
#: What their tests of mounts import, and machines have not.
_IMPORTED = "python3-libmount"
#: What crun's configure would find out for the program that the tests' containers run.
_CONFIG = "#define HAVE_ERROR_H 1\n#define HAVE_LINUX_IOPRIO_H 1\n"


def disk() -> Path:
    """Return an ext4 image with ``tests/``, in it ``init``, which their containers run, and ``python/``, which they import."""
    return cache.make("crun-tests.ext4", _version(), "fetching crun's own tests", _build)


def _version() -> str:
    with cache.lock("kernels"):
        Apt().update()
        shown = Apt().run("apt-cache", "show", f"crun/{_SUITE}")
    (version,) = [line.split()[1] for line in shown.splitlines() if line.startswith("Version:")]
    return cache.digest(version, _CONFIG, _IMPORTED)


def _build(target: Path) -> None:
    work = target.with_suffix(".work")
    cache.remove(work)
    (work / "apt/partial").mkdir(parents=True)
    (archive,) = _archives(work)
    tree = work / "tree"
    tree.mkdir()
    run("tar", "-x", "-f", archive, "-C", tree, "--strip-components=1", "--wildcards", "*/tests")
    files.write(tree / "tests/config.h", _CONFIG)
    include = f"-I{tree / 'tests'}"
    run("gcc", "-static", "-O2", "-w", include, "-o", tree / "tests/init", tree / "tests/init.c")
    (work / "imported").mkdir()
    with cache.lock("kernels"):
        package = Apt().download(f"{_IMPORTED}/{_SUITE}", work / "imported")
    run("dpkg-deb", "-x", package, work / "imported")
    (work / "imported/usr/lib/python3/dist-packages").rename(tree / "python")
    files.ext4(tree, target, _SPARE)
    cache.remove(work)


def _archives(work: Path) -> list[Path]:
    """Fetch the source as its author published it; the tool root's own lists have no sources."""
    sources = Path("/etc/apt/sources.list").read_text().splitlines()
    (main,) = [line for line in sources if line.endswith(f" {_SUITE} main")]
    files.write(work / "sources.list", main.replace("deb ", "deb-src ", 1) + "\n")
    options = {
        "Dir::Etc::SourceList": work / "sources.list",
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": work / "apt",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-q", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
    run(*apt, "update")
    run(*apt, "source", "--download-only", "--tar-only", "crun", cwd=work)
    return list(work.glob("crun_*.orig.tar.*z"))
