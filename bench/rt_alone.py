"""The same program with its CPU to itself: the last row of `bench/rt`.

Linux, which had the CPU, is lost by a triple fault, and the layer and the program go on.  Nobody is
there to be asked any more, so what the layer knows is read from outside.  It counts to the program's
entry; the other rows have the program's way to its handler in them as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.rt_figures import Latencies
from bench.rt_machine import SLOWEST, machine_of, prepare
from lab import progress
from lab.stage import rt
from lab.stage.rt_lost import GONE, PAST, STEPS, TIMERS, buckets, host_page, lose, shared_page, words

#: A CPU that sleeps goes to its next deadline at once, whatever the computer does.
_JUMPS = ("-icount", "sleep=off")
#: Seconds of this computer.
_LONGEST = 600


def least(bucket: int) -> int:
    """Return the fewest cycles that a bucket is for: see late_bucket() of kernel/spumone/layer/late.c."""
    if bucket < 2 * STEPS:
        return bucket
    octave = bucket // STEPS - 1
    return (bucket - octave * STEPS) << octave


def latencies(before: list[int], after: list[int], missed: int) -> Latencies:
    """Return what came between two looks at the layer's buckets."""
    counts = {least(i): now - was for i, (was, now) in enumerate(zip(before, after, strict=True)) if now > was}
    total = sum(counts.values())
    last = max(counts)
    most = next(least(i + 1) for i in range(len(after) - 1) if least(i) == last) - 1
    mean = sum(cycles * count for cycles, count in counts.items()) // total
    return Latencies(counts, most - last + 1, 0, min(counts), mean, most, missed)


def _until(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds; nobody tells, for the machine has only the program left."""
    end = time.monotonic() + _LONGEST
    while not condition():
        assert time.monotonic() < end, f"not after {_LONGEST} seconds: {what}"
        time.sleep(0.1)


def measure(flavour: str, activations: int) -> Latencies:
    """Let the program have so many deadlines when Linux has gone."""
    with machine_of(flavour, _JUMPS) as machine, progress.step(f"{flavour}: the program alone"):
        prepare(machine)
        machine.load()
        machine.run(rt.rt_command(cpu="0"), timeout=SLOWEST)
        page, host = shared_page(machine), host_page(machine)
        lose(machine, 0)
        _until(lambda: words(machine, host, GONE + 1)[GONE] != 0, "Linux is gone")
        before = words(machine, page)
        _until(
            lambda: words(machine, page)[TIMERS] >= before[TIMERS] + activations, f"{activations} deadlines have come"
        )
        now = words(machine, page)
    return latencies(buckets(before), buckets(now), now[PAST] - before[PAST])
