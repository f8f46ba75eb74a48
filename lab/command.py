"""Running programs of the tool root: silent when good, everything when not."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


class CommandError(RuntimeError):
    """A program of the tool root failed; the text has its output."""


def run(
    *args: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, data: bytes | None = None
) -> str:
    """Run a program and return what it printed (stdout and stderr together)."""
    result = subprocess.run(
        [str(a) for a in args],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        input=data,
        stdin=subprocess.DEVNULL if data is None else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    output = result.stdout.decode(errors="replace")
    if result.returncode:
        words = " ".join(str(a) for a in args)
        raise CommandError(f"exit status {result.returncode}: {words}\n{output}")
    return output
