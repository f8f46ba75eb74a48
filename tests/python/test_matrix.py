"""``make matrix``: what a table says of pairs, and how their trouble is told.  No machine."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from lab.matrix import Matrix, Pair, StepError, trouble

SAID = "exit status 1: shimos run k\n  [0.1] a log\nshimos: 'k' is not up after 60 s\n  a hint"


def pair(log: list[str]) -> Pair:
    machine: Any = SimpleNamespace(
        release_consoles=lambda: log.append("consoles"),
        run=lambda command, **_: log.append(command),
    )
    return Pair(machine, "6.1")


def failing(text: str) -> Callable[[Pair], None]:
    def step(_: Pair) -> None:
        raise StepError(text)

    return step


def test_the_first_trouble_is_told_and_the_partition_goes() -> None:
    log: list[str] = []
    steps = {"start": lambda _: None, "ping": failing(SAID), "disk": failing("never")}
    assert trouble(pair(log), steps) == "ping: shimos: 'k' is not up after 60 s"
    assert log == ["consoles", "shimos rm --force k"]
    assert (
        trouble(pair(log), {"disk": failing("'a' where 'b' was expected\nmore")}) == "disk: 'a' where 'b' was expected"
    )
    assert trouble(pair(log), {"disk": failing("")}) == "disk: no reason given"
    assert trouble(pair(log), {"start": lambda _: None}) == ""


def test_a_table() -> None:
    matrix = Matrix({"6.1": "6.1.0-50", "7.3": "7.3.1"})
    matrix.cells = {("6.1", "6.1"): "", ("6.1", "7.3"): "disk: wrong", ("7.3", "6.1"): "start: none"}
    assert matrix.markdown().splitlines() == [
        "| host | with 6.1 | with 7.3 |",
        "| --- | --- | --- |",
        "| 6.1: 6.1.0-50 | yes | no [1] |",
        "| 7.3: 7.3.1 | no [2] | not tried |",
        "",
        "1. 6.1 with 7.3: disk: wrong",
        "2. 7.3 with 6.1: start: none",
    ]
