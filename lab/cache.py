"""The cache: things made once, keyed by what they depend on.

A thing is made under a temporary name and renamed when it is complete, under a
file lock, so that neither an interrupted nor a concurrent build can leave a
half one behind.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import progress
from lab.paths import CACHE


def digest(*parts: str | bytes | Path) -> str:
    """Return a short key of strings, bytes and the contents of files and trees."""
    sha = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            files = sorted(p for p in part.rglob("*") if p.is_file()) if part.is_dir() else [part]
            for file in files:
                sha.update(f"\0{file}\0{file.stat().st_mode}\0".encode())
                sha.update(file.read_bytes())
        else:
            sha.update(b"\0\0" + (part.encode() if isinstance(part, str) else part))
    return sha.hexdigest()[:12]


@contextmanager
def lock(name: str) -> Iterator[None]:
    """Keep other processes (and threads) of the same cache out."""
    path = CACHE / f"{name.replace('/', '-')}.lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def remove(path: Path) -> None:
    """Remove a file or a tree; absent is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make(name: str, key: str, what: str, build: Callable[[Path], None], keep: int = 1) -> Path:
    """Return the cached ``name-key``; ``build(path)`` makes it at ``path`` if missing.

    The newest ``keep`` of the same name stay, others are dropped: nobody will ask for them again.
    (A running emulator keeps its disk open and does not notice.)
    """
    target = CACHE / f"{name}-{key}"
    if target.exists():
        return target
    with lock(name):
        if target.exists():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        new = CACHE / f"{name}.new"
        remove(new)
        with progress.step(what):
            build(new)
        others = [p for p in target.parent.glob(f"{target.name[: -len(key)]}*") if len(p.name) == len(target.name)]
        for old in sorted(others, key=lambda p: p.stat().st_mtime, reverse=True)[keep - 1 :]:
            remove(old)
        new.rename(target)
    return target
