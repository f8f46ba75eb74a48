"""What the tests share and nobody else needs: machines for them, tiers, reports."""

import pytest

# What stages check is told as plainly as what tests check.
pytest.register_assert_rewrite("lab.stage")
