"""The interface's version where a script of a machine says it by number."""

from __future__ import annotations

import re

from lab.paths import SRC


def test_a_guests_script_has_that_of_today() -> None:
    header = (SRC / "kernel/include/uapi/shimos_call.h").read_text()
    script = (SRC / "tests/guest/late_writes.py").read_text()
    (today,) = re.findall(r"#define SHIMOS_ABI_VERSION\s+(\d+)", header)
    assert re.findall(r"^VERSION = (\d+)$", script, re.MULTILINE) == [today]
