"""A partition that lies about its shared devices, on arm64: the same attacks, and nobody is the worse for it.

With --all only: what reads rings and requests has nothing of an architecture in it.
"""

from __future__ import annotations

import pytest

from tests.support.tiers import everything
from tests.system.test_device_hostile import prepare, stage

if everything():
    from tests.system.test_device_hostile import test_killed_while_fuzzing, test_wrong_requests

    __all__ = ["stage", "test_killed_while_fuzzing", "test_wrong_requests"]
else:
    __all__ = ["stage"]

pytestmark = pytest.mark.machine(arch="arm64", stage=prepare)
