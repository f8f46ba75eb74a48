"""The documents: their links lead somewhere, and they leave nothing out that they promise to list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.paths import SRC
from lab.scripts import source_files

PAGES = [path for path in source_files(SRC) if path.suffix == ".md"]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def prose(page: Path) -> str:
    """Return a page without its blocks of code, whose brackets are no links."""
    return _CODE.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """Return what can stand behind the # of a link to this page, as GitHub and pandoc make it."""
    headings = (re.sub(r"[`*_]|\]\([^)]*\)|\[", "", text) for text in _HEADING.findall(prose(page)))
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def dead_links(page: Path) -> list[str]:
    """Return the relative links of a page that lead nowhere."""
    found = []
    for link in _LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SRC)))
def test_links(page: Path) -> None:
    assert not dead_links(page)


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# What is `here`, now\n")
    page.write_text("# One\n[a](other.md#what-is-here-now) [b](#one) [c](https://x.org/#y) [d](#two) [e](none.md)\n")
    assert dead_links(page) == ["#two", "none.md"]


def lines_of_doctor() -> set[str]:
    """Return the names of the doctor's lines, as its source has them."""
    sources = [*(SRC / "tool/src/commands/doctor").glob("*.rs"), SRC / "tool/src/commands/doctor.rs"]
    sources += (SRC / "tool/src/arch").glob("*/doctor.rs")
    # what follows in a source is tests
    text = "\n".join(source.read_text().partition("#[cfg(test)]")[0] for source in sources)
    names = re.findall(r'const NAME: &str = "([^"]+)"', text)
    return {*names, *re.findall(r'Check::(?:ok|warn|fail)\(\s*"([^"]+)"', text)}


def test_each_line_of_doctor_is_explained() -> None:
    page = (SRC / "docs/troubleshooting.md").read_text()
    rows = set(re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \|$", page, re.MULTILINE))
    names = lines_of_doctor()
    assert len(names) > 20
    assert names <= rows, names - rows


def rows(page: Path) -> list[list[str]]:
    """Return the cells of a page's tables, without their heads."""
    lines = [line for line in page.read_text().splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row, below in zip(cells, [*cells[1:], []], strict=True) if not {"---"} & {*row[:1], *below[:1]}]


def not_shown(row: list[str]) -> list[str]:
    """Return the tests of a row that do not exist, and the kernels that none of its tests is about."""
    names = re.findall(r"`(test_\w+\.py)`", row[-1])
    tests = {name: path.read_text() for name in names for path in (SRC / "tests/system").rglob(name)}
    kernels = {kernel for cell in row[1:-1] for kernel in re.findall(r"\b6\.\d+(?:-\w+)?", cell)}
    # a machine has 6.12, and a partition of 6.1, unless told
    named = kernels - {"6.12", "6.1"}
    return [name for name in names if name not in tests] + sorted(
        kernel for kernel in named if not any(f'"{kernel}"' in text for text in tests.values())
    )


def test_what_is_supported_is_shown() -> None:
    found = rows(SRC / "docs/supported.md")
    assert len(found) > 15
    assert all("`test_" in row[-1] for row in found)
    assert not [missing for row in found for missing in not_shown(row)]


def test_what_is_not_shown_is_found() -> None:
    assert not_shown(["partition", "6.12-none, 6.12", "no", "`test_kernels.py`, `test_gone.py`"]) == [
        "test_gone.py",
        "6.12-none",
    ]
