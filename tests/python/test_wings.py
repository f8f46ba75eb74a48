"""Calls in the tool go down the table of its wings in docs/architecture.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lab.paths import SRC
from lab.scripts import source_files

_SOURCES = SRC / "tool/src"
#: What stands beside the folders: who calls all of them, and what all of them return.
_BESIDE = ("main", "error")
#: A file's unit tests are at its end; some are files of their own.
_TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:pub(?:\(\w+\))? )?mod \w+ \{", re.MULTILINE)
_FOR_TESTS = re.compile(r"/(fake(\.rs|/)|tests\.rs$|sample(\.rs|/)|\w+_test\.rs$)")
_COMMENT = re.compile(r"//[^\n]*")
#: `crate::wing`, and `crate::{wing::…, wing}`, as far as its first level.
_NAMED = re.compile(r"\bcrate::(\w+)")
_SEVERAL = re.compile(r"\bcrate::\{([^;]*)\};")


def wings() -> list[str]:
    """List the wings from the top down, as the document has them."""
    page = (SRC / "docs/architecture.md").read_text()
    table = page.partition("## Wings of the tool")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def named(text: str) -> set[str]:
    """Return the modules of the crate that a source names outside of its unit tests."""
    text = _COMMENT.sub("", _TESTS.split(text)[0])
    several = [re.sub(r"\{[^{}]*\}", "", inner) for inner in _SEVERAL.findall(text)]
    return {*_NAMED.findall(text), *re.findall(r"(?:^|,)\s*(\w+)", ",".join(several))} - {""}


def upward(path: Path, text: str, order: list[str]) -> Iterator[str]:
    """Yield what a source names that is not below it."""
    wing = path.relative_to(_SOURCES).parts[0]
    for name in sorted(named(text) - {wing, "error"}):
        if order.index(name) < order.index(wing):
            yield f"{path.relative_to(_SOURCES)} names {name}, which is above {wing}"


def test_what_is_named() -> None:
    text = "use crate::ui::{output, x};\nuse crate::{abi, boot::{a, b}};\n// crate::no\n"
    assert named(text + "#[cfg(test)]\nmod tests {\n    use crate::cli;\n}\n") == {"ui", "abi", "boot"}
    order = ["cli", "boot", "ui"]
    assert list(upward(_SOURCES / "boot/image.rs", "use crate::cli;\nuse crate::ui;", order)) == [
        "boot/image.rs names cli, which is above boot"
    ]


def test_each_folder_is_a_wing() -> None:
    found = {path.relative_to(_SOURCES).parts[0] for path in source_files(SRC) if path.is_relative_to(_SOURCES)}
    assert found == {*wings(), *(f"{name}.rs" for name in _BESIDE)}


def test_calls_go_down() -> None:
    sources = [path for path in source_files(SRC) if path.is_relative_to(_SOURCES) and path.suffix == ".rs"]
    inside = [path for path in sources if path.parent != _SOURCES and not _FOR_TESTS.search(f"/{path.as_posix()}")]
    assert len(inside) > 100
    order = wings()
    words = [word for path in inside for word in upward(path, path.read_text(), order)]
    assert not words, "\n".join(words)
