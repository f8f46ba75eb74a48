"""What `bench/rt` makes of the layer's buckets when Linux has gone.  No machine."""

from __future__ import annotations

import pytest

from bench.rt_alone import latencies, least
from lab.stage.rt_lost import BUCKETS, WORDS, buckets


@pytest.mark.parametrize(("bucket", "cycles"), [(0, 0), (63, 63), (64, 64), (65, 66), (96, 128), (97, 132), (128, 256)])
def test_where_a_bucket_begins(bucket: int, cycles: int) -> None:
    assert least(bucket) == cycles


def test_what_came_between_two_looks() -> None:
    before, after = [0] * 200, [0] * 200
    before[10] = after[10] = 7
    after[97], after[128] = 3, 1
    found = latencies(before, after, 2)
    assert (found.total, found.minimum, found.maximum, found.missed) == (4, 132, 263, 2)
    assert found.percentile(0.5) == 139 and found.mean == (3 * 132 + 256) // 4


def test_two_buckets_are_in_a_word() -> None:
    page = [0] * WORDS
    page[BUCKETS] = 5 << 32 | 4
    assert buckets(page)[:3] == [4, 5, 0] and len(buckets(page)) == 545
