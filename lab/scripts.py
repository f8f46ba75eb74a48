"""The tree's own files, and which of them are scripts: told by their first line, so that no list goes stale."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lab.command import CommandError, run

#: What builds leave in a tree without git; see .gitignore.
_PRODUCTS = frozenset({".git", "build", "target", "__pycache__"})
_FIRST_LINE = re.compile(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(?:\S*/)?(?P<program>[\w.+-]+)(?:\s+(?P<applet>\w+))?")
#: Who reads a script by the program of its first line; /bin/sh is dash on Debian.
_SYNTAX = {
    "sh": ("dash", "-n"),
    "dash": ("dash", "-n"),
    "bash": ("bash", "-n"),
    "busybox sh": ("busybox", "sh", "-n"),
}


@dataclass(frozen=True)
class Script:
    """A file whose first line names an interpreter."""

    path: Path
    interpreter: str  # sh, dash, bash, busybox sh or python


def source_files(root: Path) -> list[Path]:
    """List what git tracks or would add below ``root``; all but build products if there is no git."""
    command = ("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if (root / ".git").exists():
        listed = subprocess.run(command, capture_output=True, check=False)
        # A worktree's .git leads to a place that the tool root does not have.
        if listed.returncode == 0:
            names = (os.fsdecode(name) for name in listed.stdout.split(b"\0") if name)
            return sorted({path for path in map(root.joinpath, names) if path.is_file() and not path.is_symlink()})
    found = []
    for directory, directories, here in root.walk():
        directories[:] = sorted(set(directories) - _PRODUCTS)
        found += [path for path in (directory / name for name in here) if path.is_file() and not path.is_symlink()]
    return sorted(found)


def interpreter(path: Path) -> str | None:
    """Return who runs a file by its first line: a key of the syntax checks, ``python``, or None."""
    with path.open("rb") as file:
        if file.read(2) != b"#!":
            return None
        line = "#!" + file.readline(200).decode(errors="replace")
    found = _FIRST_LINE.match(line)
    if not found:
        return None
    program = found["program"]
    if program == "busybox" and found["applet"] in ("sh", "ash"):
        return "busybox sh"
    if re.fullmatch(r"python[\d.]*", program):
        return "python"
    return program if program in _SYNTAX else None


def find(root: Path) -> list[Script]:
    """Find all scripts of a tree that a shell or Python runs."""
    return [Script(path, program) for path in source_files(root) if (program := interpreter(path))]


def check_shell(scripts: Iterable[Script]) -> None:
    """Let each shell read its scripts, and shellcheck all of them; raises with all complaints."""
    shell = [script for script in scripts if script.interpreter in _SYNTAX]
    complaints = []
    for script in shell:
        try:
            run(*_SYNTAX[script.interpreter], script.path)
        except CommandError as error:
            complaints.append(str(error))
    if shell:
        try:
            run("shellcheck", *(script.path for script in shell))
        except CommandError as error:
            complaints.append(str(error))
    if complaints:
        raise CommandError("\n".join(complaints))
