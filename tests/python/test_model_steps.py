"""The model checker's steps of kernel code order what that code orders.  No machine.

`tests/host/model/area_scenarios.c` has the steps that some functions of the modules do on shared words, each in a
function of the same name.  Here they are compared: the same barriers, acquires, releases and ordered
read-modify-writes, in the same order.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.paths import SRC

_MODEL = SRC / "tests/host/model/area_scenarios.c"
_PRODUCT = ("kernel/ikc", "kernel/kloader", "kernel/agent")
_ORDERS = (
    *("smp_mb", "smp_rmb", "smp_wmb", "smp_mb__before_atomic", "smp_load_acquire", "smp_store_release"),
    *("ikc_fetch_or64", "ikc_fetch_andnot64"),
)
_ORDER = re.compile(rf"\b({'|'.join(_ORDERS)})\(")
_FUNCTION = re.compile(r"^[a-z][^\n;=]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def _orders(source: str) -> dict[str, list[str]]:
    """Return what each function of a C file orders, by its name."""
    code = _COMMENT.sub("", source)
    return {name: _ORDER.findall(body) for name, body in _FUNCTION.findall(code)}


def _product() -> dict[str, list[str]]:
    orders: dict[str, list[str]] = {}
    for directory in _PRODUCT:
        for path in sorted(Path(SRC / directory).glob("*.c")):
            orders |= _orders(path.read_text())
    return orders


def _modelled() -> list[tuple[str, list[str]]]:
    orders = _orders(_MODEL.read_text())
    return [(name, found) for name, found in orders.items() if found and name.startswith(("ikc_", "agent_", "kind_"))]


@pytest.mark.parametrize(("name", "orders"), _modelled())
def test_the_model_has_the_steps_of_the_code(name: str, orders: list[str]) -> None:
    assert _product()[name] == orders


def test_an_order_that_is_gone_is_noticed() -> None:
    source = _MODEL.read_text()
    assert "smp_rmb" in _orders(source)["ikc_hold"]
    assert "smp_rmb" not in _orders(source.replace("smp_rmb();", "/* smp_rmb(); */"))["ikc_hold"]
