"""All workloads, a module for each table."""

from bench.compare.workload import Group, Workload
from bench.compare.workloads import build, communication, emulator, life, network, processes, storage, web

GROUPS: tuple[Group, ...] = (
    processes.GROUP,
    communication.GROUP,
    network.GROUP,
    storage.GROUP,
    build.GROUP,
    web.GROUP,
    life.GROUP,
    emulator.GROUP,
)
WORKLOADS: tuple[Workload, ...] = tuple(w for group in GROUPS for w in group.workloads)

__all__ = ["GROUPS", "WORKLOADS"]
