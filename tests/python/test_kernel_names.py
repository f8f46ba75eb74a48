"""Every function in kernel/ says by its name which part it is of: traces and searches depend on it."""

from __future__ import annotations

import re
from pathlib import Path

from lab.paths import SRC

_KERNEL = SRC / "kernel"
#: A definition at the beginning of a line: its name, its arguments, and a brace alone at the next line's beginning.
_FUNCTION = re.compile(r"^(?:[\w*]+[ \t*]+)*\**(\w+)\((?:[^;{}]|\n)*?\)\n\{", re.MULTILINE)
#: Names that a program's start and the compiler want.
_GIVEN = {"main", "memcpy", "memset"}
#: What common/ is linked into several modules by.
_COMMON = {"common": {"shimos"}, "include": {"shimos", "ikc", "compat", "vq"}}


def parts(module: Path) -> set[str]:
    """Return the prefixes of a module: its own name, and the nouns of its files and architectures."""
    nouns = {path.stem.split("_")[0] for path in module.rglob("*.[ch]")}
    return nouns | {module.name} | {path.name for path in module.glob("arch/*")}


def functions(text: str) -> list[str]:
    """Return the names of the functions that a file defines, as far as they are ours to choose."""
    return [name for name in _FUNCTION.findall(text) if name not in _GIVEN]


def test_functions_are_found() -> None:
    text = "static int\tone(void)\n{\n}\n\nstruct x *two_b(int a,\n\t\tint b)\n{\n}\nint three(void);\n#define F(a) \\\n{\n"
    assert functions(text) == ["one", "two_b"]


def test_every_function_has_its_parts_prefix() -> None:
    wrong = []
    for path in sorted(_KERNEL.rglob("*.[ch]")):
        module = _KERNEL / path.relative_to(_KERNEL).parts[0]
        known = _COMMON.get(module.name) or parts(module)
        if module.name == "backend":
            known |= {"user"}  # memory.c: the user's
        wrong += [
            f"{path.relative_to(SRC)}: {name}()"
            for name in functions(path.read_text())
            if name.lstrip("_").split("_")[0] not in known
        ]
    assert not wrong, "\n".join(wrong)


def test_no_file_is_too_long() -> None:
    kinds = ("*.c", "*.h", "*.S", "*.rs", "*.py")
    folders = ("kernel", "rt", "tool/src", "lib", "lab", "tests", "bench")
    files = [path for folder in folders for kind in kinds for path in (SRC / folder).rglob(kind)]
    long = {str(path.relative_to(SRC)): lines for path in files if (lines := len(path.read_text().splitlines())) > 500}
    assert not long
