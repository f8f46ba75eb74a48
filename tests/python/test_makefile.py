"""What the Makefile says where it cannot build."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from lab.paths import SRC


def make_tool(tmp_path: Path, cargo: str) -> subprocess.CompletedProcess[str]:
    """Let make build the tool with a cargo that says it is this one, and can nothing else."""
    program = tmp_path / "cargo"
    program.write_text(f'#!/bin/sh\n[ "$1" != --version ] || exec echo "{cargo}"\necho asked to build >&2\nexit 9\n')
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    words = ["make", "tool", f"OUT={tmp_path}/out"]
    return subprocess.run(words, cwd=SRC, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False)


def test_a_cargo_that_is_too_old(tmp_path: Path) -> None:
    """Debian 12's."""
    said = make_tool(tmp_path, "cargo 1.63.0").stderr
    assert "cargo 1.63.0 is too old: the tool needs 1.85" in said and "lab/enter make tool" in said
    assert "asked to build" not in said


def test_cargos_that_are_not(tmp_path: Path) -> None:
    for cargo in ("cargo 1.85.0 (d73d2caf9 2024-12-31)", "cargo 2.1.0"):
        assert "asked to build" in make_tool(tmp_path, cargo).stderr, cargo
