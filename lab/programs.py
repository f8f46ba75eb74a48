"""A disk with real programs that are tried in kernel mode, and what measures them.

It is a Debian root to chroot into, so that the machine's own root does not grow. What
lies in its /trusted are links to the same files: whether a program is trusted is only a
question of the name it is started by.
"""

from __future__ import annotations

from pathlib import Path

from lab import cache, debian, files
from lab.command import run

#: Below the root, all of them in /trusted as well.
PROGRAMS = (
    *("/usr/bin/bash", "/usr/bin/redis-server", "/usr/sbin/nginx", "/usr/bin/sqlite3"),
    *("/usr/bin/python3.13", "/usr/bin/stress-ng"),
)

_PACKAGES = (
    *("bash", "redis-server", "redis-tools", "nginx-light", "wrk", "sqlite3", "stress-ng"),
    *("libpython3.13-testsuite", "procps", "util-linux"),
)
_SPARE = 256 << 20


def _finish(target: Path) -> None:
    files.write(target / "etc/hosts", "127.0.0.1 localhost\n")
    (target / "trusted").mkdir()
    # Debian has redis-server as a link to a program of several names.
    run("ln", "--logical", *(target / program[1:] for program in PROGRAMS), target / "trusted")


def programs_disk() -> Path:
    """Return its ext4 image; machines write to a throw-away layer over it."""
    tree = debian.tree("programs", "making the Debian root of real programs", _PACKAGES, _finish, Path(__file__))
    key = tree.name.rpartition("-")[2]
    return cache.make(
        "programs.ext4", key, "making the disk of real programs", lambda target: files.ext4(tree, target, _SPARE)
    )
