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
