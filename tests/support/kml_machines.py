"""The machine of tests of programs in kernel mode, by its name in ``kml.MACHINES``: see ``tiers.on_machines``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab.machine import Machine
from lab.stage import kml


@pytest.fixture(scope="module")
def make_machine(request: pytest.FixtureRequest) -> Callable[[], Machine]:
    """Return what starts each kind of machine, for all tests of the file that imports this."""
    return lambda: kml.start(**kml.MACHINES[request.param])
