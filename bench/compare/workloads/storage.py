"""A RAM disk of the owner, through the virtual block device, with O_DIRECT."""

from __future__ import annotations

from collections.abc import Callable

from bench.compare.system import System
from bench.compare.workload import Group, Workload


def direct(mode: str, size: int, depth: int, count: int) -> Callable[[System], float]:
    """Measure microseconds per request."""

    def run(system: System) -> float:
        with system.jobs(1) as (kernel,):
            turns = max(system.count(count), 4 * depth)
            return float(kernel.run(f"/bench/direct_io {kernel.ram} {mode} {size} {depth} {turns}").split()[0]) / 1000

    return run


def _row(mode: str, size: int, depth: int, count: int, paper: dict[str, str]) -> Workload:
    kib = f"{size >> 10} KiB"
    return Workload(
        f"ram-{mode}-{size >> 10}k-{depth}",
        f"{mode} {kib}, depth {depth}",
        "us",
        direct(mode, size, depth, count),
        clocks=("times", "instructions"),
        paper=paper,
        why="Native's request is a copy in the caller's context; a shared disk's goes through a virtqueue, and at depth 1"
        " wakes a thread of the owner and then the caller again.",
    )


GROUP = Group(
    "ram-disk",
    "RAM disk of the owner through the virtual block device, O_DIRECT",
    (
        _row("read", 4096, 1, 4000, {"shimos": "4.8 x Xen, 7.3 x KVM"}),
        _row("write", 4096, 1, 4000, {"shimos": "3.9 x Xen, 6.8 x KVM"}),
        _row("read", 4096, 32, 8000, {}),
        _row("write", 4096, 32, 8000, {}),
        _row("seqread", 131072, 8, 800, {}),
    ),
    (
        "Native Linux reads its own RAM disk: a copy and no device. At depth 1 a shared disk adds two doorbells and two"
        " wake-ups to each request, more than the request itself costs; at depth 32 most of them are saved. KVM: virtio-blk,"
        " cache=none, aio=native.",
        "The virtual block device is the distribution's virtio_blk; no payload byte is copied on the way"
        " (`shimos devices` counts).",
    ),
    "Copying memory is dear in an emulator and device registers are cheap: both flatter those who do much else. A guest's"
    " request leaves it by a VM exit, which the emulator makes too cheap (last table).",
)
