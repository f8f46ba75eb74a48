"""The tool is built of one version of each crate.

Each second one costs the build seconds, syn above all.  cargo takes the newest of everything, and
their authors move at different times: `cargo update -p CRATE --precise VERSION` takes one back.
"""

from __future__ import annotations

from lab.command import run
from lab.paths import SRC

#: What one and the same crate, named here, takes two versions of.
_TWICE = {"unicode-width": "ratatui"}


def test_one_version_of_each_crate() -> None:
    """All that the tool and its build need, apart from tests."""
    duplicates = run(
        *("cargo", "tree", "--locked", "--duplicates", "--depth", "0", "--prefix", "none"),
        *("--package", "shimos", "--edges", "normal,build"),
        cwd=SRC / "tool",
    )
    found = {line.split()[0] for line in duplicates.splitlines() if line.strip()}
    assert found == _TWICE.keys(), f"there are two versions of {sorted(found - _TWICE.keys())}"
