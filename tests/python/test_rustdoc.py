"""What crosses a file in Rust has a text that says what it is or does.

rustc's missing_docs sees only what leaves a crate, and the tool is a program: nothing of it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.paths import SRC
from lab.scripts import source_files

_PLACES = ("tool/src", "tool/unpack/src", "lib/rust/src", "lib/rust-kml/src", "rt/embassy/src")
#: Mirrors of C headers, which say what each structure and constant means; functions need a text here as well.
_MIRRORS = ("tool/src/abi/", "lib/rust/src/abi.rs", "lib/rust-kml/src/sys.rs")

_ITEM = re.compile(
    r"""( \s* pub (?: \( [a-z]+ \) )? \s    # what others can use, also a method
        | \ {4} (?= (?: unsafe \s )? fn ) ) # or of a trait that they can use
        (?: (?: const | unsafe | async ) \s )* (?P<kind> fn | struct | enum | union | trait | type | const | static )
        \s (?P<name> \w+ )""",
    re.VERBOSE,
)
_TRAIT = re.compile(r"pub(?:\([a-z]+\))? (?:unsafe )?trait ")
_TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*(?:pub(?:\(\w+\))? )?mod \w+ \{", re.MULTILINE)
_TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*(?:pub )?mod (\w+);")
#: What clap reads is printed as help, and belongs to commands and options; tests explain themselves.
_EXEMPT = re.compile(r"\b(Args|Parser|Subcommand)\b|^#\[cfg\(test\)\]")
#: What begins an instruction: no article, no question, no plural, no code.
_VERB = re.compile(
    r"""(?! (?i: all|an?|as|both|can|does|each|every|for|from|has|how|if|in|is|it|its|no|none|now|of|one|only|or|some|still
        |that|the|this|those|true|two|three|until|up|was|what|when|where|whether|which|who|whose|why|with|without ) \b )
        (?! \w* [^s]s \b ) [A-Z][a-z]+ \b""",
    re.VERBOSE,
)


def undocumented(text: str, mirror: bool = False) -> Iterator[str]:
    """Yield the items of a source that have no text, and the functions whose text does not begin with a verb."""
    doc: list[str] = []
    exempt = trait = attribute = False
    for line in _TESTS.split(text)[0].splitlines():
        stripped = line.strip()
        if stripped.startswith("///"):
            doc.append(stripped.removeprefix("///").strip())
            continue
        if attribute or stripped.startswith("#["):
            attribute = not stripped.endswith("]")
            exempt |= bool(_EXEMPT.search(stripped))
            continue
        found = _ITEM.match(line)
        if found and (trait or line.lstrip().startswith("pub")):
            kind, name = found["kind"], found["name"]
            if exempt:
                pass
            elif not doc:
                if kind == "fn" or not mirror:
                    yield f"{name}: no text"
            elif kind == "fn" and not _VERB.match(doc[0]):
                yield f"{name}: its text does not begin with a verb: {doc[0]}"
        trait = bool(_TRAIT.match(line)) or (trait and line != "}")
        doc, exempt = [], False


def sources() -> list[Path]:
    """Return the files with Rust that is no test."""
    found = [path for path in source_files(SRC) if path.suffix == ".rs" and path.is_relative_to(SRC)]
    found = [path for path in found if str(path.relative_to(SRC)).startswith(_PLACES)]
    tests: set[Path] = set()
    for path in found:
        folder = path.parent if path.name in ("main.rs", "lib.rs", "mod.rs") else path.with_suffix("")
        tests |= {folder / name for name in _TEST_MODULE.findall(path.read_text())}
    return [path for path in found if not tests & {path.with_suffix(""), *path.parents}]


@pytest.mark.parametrize("place", _PLACES)
def test_what_crosses_a_file_is_documented(place: str) -> None:
    found = []
    for path in sources():
        name = str(path.relative_to(SRC))
        if name.startswith(place):
            text = path.read_text()
            found += [] if text.startswith("//!") else [f"{name}: its first line does not say what it is for"]
            found += [f"{name}: {wrong}" for wrong in undocumented(text, name.startswith(_MIRRORS))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("pub fn one() {}", "one: no text"),
        ("/// Say so.\n#[inline]\npub(crate) const fn one() {}", ""),
        ("/// The number.\npub fn one() {}", "one: its text does not begin with a verb: The number."),
        ("/// Bytes.\npub fn one() {}", "one: its text does not begin with a verb: Bytes."),
        ("/// `None`: none.\npub fn one() {}", "one: its text does not begin with a verb: `None`: none."),
        ("/// Pass it on.\npub fn one() {}", ""),
        ("/// The number.\npub struct One;", ""),
        ("impl One {\n    pub fn one(&self) {\n    }\n}", "one: no text"),
        ("impl One {\n    fn one(&self) {\n    }\n}", ""),
        ("/// A kind.\npub trait One {\n    fn one(&self);\n}", "one: no text"),
        ("/// A kind.\npub trait One {\n}\nimpl One for u8 {\n    fn one(&self) {}\n}", ""),
        ("#[derive(Args)]\npub struct One {", ""),
        ("#[cfg(test)]\npub fn one() {}", ""),
        ("#[cfg(test)]\nmod tests {\n    pub fn one() {}\n}", ""),
    ],
)
def test_what_is_missing(text: str, wrong: str) -> None:
    assert list(undocumented(text)) == ([wrong] if wrong else [])


def test_a_mirror_of_a_header_needs_texts_for_functions_only() -> None:
    assert list(undocumented("pub const ONE: u32 = 1;\npub fn one() {}", mirror=True)) == ["one: no text"]
