"""Debian 13 file systems of the lab, made by mmdebstrap: the machine's and the partitions'."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lab import cache, files
from lab.command import run

#: What tests and benchmarks of disks and networks use, on either side.
MEASURING = (
    *("e2fsprogs", "fio", "sqlite3", "stress-ng"),
    *("iproute2", "iputils-ping", "ethtool", "iperf3", "nginx-light", "curl", "xdp-tools"),
)

# stress-ng can also stress graphics cards, which takes 200 MB of compiler.
_LEFT_OUT = (
    *("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*"),
    *("/usr/lib/*/libLLVM*", "/usr/lib/*/libz3*", "/usr/lib/*/libgallium*"),
)


def tree(
    name: str, what: str, packages: tuple[str, ...], finish: Callable[[Path], None], *parts: str | bytes | Path
) -> Path:
    """The cached directory ``name`` with these packages and root without a password.

    ``finish(target)`` does what is left; all that it depends on is in ``parts``.
    """
    sources = Path("/etc/apt/sources.list").read_text()
    trixie = [line for line in sources.splitlines() if "trixie" in line and "backports" not in line]

    def build(target: Path) -> None:
        run(
            "mmdebstrap",
            *("--variant=minbase", f"--include={','.join(packages)}"),
            "--dpkgopt=force-unsafe-io",
            *(f"--dpkgopt=path-exclude={path}" for path in _LEFT_OUT),
            "trixie",
            target,
            *trixie,
        )
        files.write(target / "etc/resolv.conf", "")
        run("chroot", target, "passwd", "-d", "root")
        (target / "usr/lib/modules").mkdir(exist_ok=True)
        finish(target)

    key = cache.digest(*packages, *trixie, Path(__file__), *parts)
    return cache.make(name, key, what, build)
