"""What crosses a file in kernel/, and whether a kernel-doc comment says how it is used."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

#: Structures with a comment beside each member instead: a header's, or one by its name.  It only becomes shorter.
BESIDE_MEMBERS = frozenset(
    {
        # What the processor defines, under its own names.
        "kernel/kloader/guard/guard.h:guard_registers",
        "kernel/spumone/layer/arch/x86/svm.h",
        "kernel/spumone/layer/arch/x86/x86.h:x86_fpu",
        "kernel/spumone/layer/arch/x86/x86.h:x86_registers",
    }
)

# Comments, texts and characters can contain what looks like code.
_NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
# What may stand before or behind a declaration and has parentheses of its own.
_ATTRIBUTE = re.compile(r"\b__(?:printf|attribute__|alias|aligned|section)\s*\((?:[^()]|\([^()]*\))*\)")
_FUNCTION = re.compile(r"(?P<type>[\w\s*]+?[\s*])(?P<name>[a-z_]\w*)\s*\(")
_STRUCTURE = re.compile(r"(?:struct|union|enum)\s+(\w+)$")
_DOC = re.compile(r"^/\*\*\n \* (?:(?:struct|union|enum) (?P<structure>\w+)|(?P<function>\w+)\(\)) - \S", re.MULTILINE)


@dataclass(frozen=True)
class Contract:
    """A function or structure that a header shares."""

    name: str
    header: str
    line: int
    function: bool


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _outermost(text: str) -> Iterator[tuple[int, str, bool]]:
    """Find what stands outside of all braces: its place, its code, and whether a body follows."""
    code = _DIRECTIVE.sub(_blank, _NOISE.sub(_blank, text))
    depth = begin = 0
    for mark in re.finditer(r"[{};]", code):
        if depth == 0 and mark[0] in "{;":
            piece = code[begin : mark.start()]
            if piece.strip():
                yield begin + len(piece) - len(piece.lstrip()), piece.strip(), mark[0] == "{"
        depth += {"{": 1, "}": -1, ";": 0}[mark[0]]
        if depth == 0:
            begin = mark.end()


def shared(header: str, text: str) -> Iterator[Contract]:
    """List the functions and structures that a header shares."""
    for start, piece, body in _outermost(text):
        structure = _STRUCTURE.match(piece) if body else None
        code = _ATTRIBUTE.sub(" ", piece)
        function = None if "=" in code or code.startswith("typedef") else _FUNCTION.match(code)
        name = structure[1] if structure else function["name"] if function else None
        if name:
            yield Contract(name, header, text.count("\n", 0, start) + 1, function=not structure)


def documented(text: str) -> tuple[set[str], set[str]]:
    """Return the names of the structures and of the functions that kernel-doc comments of a file explain."""
    found = list(_DOC.finditer(text))
    return {m["structure"] for m in found if m["structure"]}, {m["function"] for m in found if m["function"]}


def _part(path: str) -> str:
    return PurePath(path).parts[1]


def undocumented(files: Mapping[str, str]) -> list[Contract]:
    """List what headers share and no file of the same part explains; any may explain what kernel/include has."""
    # A part, whether a function is meant, and a name: a structure and a function may have the same.
    known: set[tuple[str, bool, str]] = set()
    for path, text in files.items():
        for function, names in enumerate(documented(text)):
            known |= {(part, bool(function), name) for name in names for part in (_part(path), "include")}
    headers = (path for path in files if path.endswith(".h"))
    return [c for path in headers for c in shared(path, files[path]) if (_part(path), c.function, c.name) not in known]


def complaints(files: Mapping[str, str], beside_members: Collection[str] = BESIDE_MEMBERS) -> list[str]:
    """Say what is wrong with the contracts of these files, by their paths from the project's root."""
    words, used = [], set()
    for c in undocumented(files):
        excuses = {c.header, f"{c.header}:{c.name}"}.intersection(() if c.function else beside_members)
        used |= excuses
        if not excuses:
            words.append(f"{c.header}:{c.line}: {c.name} crosses files, and no kernel-doc comment says how it is used")
    for excuse in sorted(set(beside_members) - used):
        words.append(f"{excuse} needs no excuse any more: take it out of BESIDE_MEMBERS in lab/contracts.py")
    return words
