"""A partition that lies about its shared devices, on arm64: the same attacks, and nobody is the worse for it."""

from __future__ import annotations

import pytest

from tests.system.test_device_hostile import prepare, stage, test_killed_while_fuzzing, test_wrong_requests

#: What must be so on each architecture: these tests are collected here, too, with what sets them up.
__all__ = ["stage", "test_killed_while_fuzzing", "test_wrong_requests"]

pytestmark = pytest.mark.machine(arch="arm64", stage=prepare)
