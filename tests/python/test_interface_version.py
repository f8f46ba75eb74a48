"""The interfaces' versions where a test or a script of a machine says them by number."""

from __future__ import annotations

import re

import pytest

from lab.paths import SRC

#: By file, the name that it has for the version, and which header defines that under which name.
PLACES = {
    "tests/guest/late_writes.py": ("VERSION", "shimos_call.h", "SHIMOS_ABI_VERSION"),
    "tests/guest/hold_channel.py": ("IKC_VERSION", "shimos_ikc_limits.h", "IKC_VERSION"),
    "tests/system/test_ikc.py": ("VERSION", "shimos_ikc_limits.h", "IKC_VERSION"),
}


@pytest.mark.parametrize("path", PLACES)
def test_it_is_that_of_today(path: str) -> None:
    name, header, defined = PLACES[path]
    text = (SRC / "kernel/include/uapi" / header).read_text()
    (today,) = re.findall(rf"#define {defined}\s+(\d+)", text)
    assert re.findall(rf"^{name} = (\d+)$", (SRC / path).read_text(), re.MULTILINE) == [today]
