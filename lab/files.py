"""Making cpio archives and ext4 images, without mounting anything."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from lab.command import run


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a text file with its directories."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def cpio(tree: Path, target: Path) -> None:
    """Pack a tree into an uncompressed newc archive, owned by root.

    Uncompressed, because under emulation unpacking costs more than reading.
    """
    names = sorted(str(p.relative_to(tree)) for p in tree.rglob("*"))
    run(
        "cpio",
        *("-o", "-H", "newc", "-R", "0:0", "--quiet", "--null", "--reproducible", "-O", target),
        cwd=tree,
        data="".join(f"{n}\0" for n in names).encode(),
    )
    # Archives are concatenated; each must end on a word.
    os.truncate(target, (target.stat().st_size + 511) // 512 * 512)


def ext4(tree: Path, target: Path, spare: int, label: str = "") -> None:
    """Make an ext4 image of a tree with ``spare`` bytes free."""
    used = int(run("du", "-s", "--block-size=1", tree).split()[0])
    blocks = (used * 11 // 10 + spare) // 4096 + 4096
    ext4_of(tree, target, blocks * 4096, "-L", label)


def ext4_of(tree: Path, target: Path, size: int, *more: str) -> None:
    """Make an ext4 image of ``size`` bytes of a tree; raises CommandError if that does not fit."""
    options = ("-q", "-t", "ext4", "-b", "4096", "-m", "0", "-E", "root_owner=0:0", *more)
    run("mke2fs", *options, "-d", tree, target, str(size // 4096))


if __name__ == "__main__":  # for those who make the image in a mount namespace
    ext4(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
