"""SHIMOS: the host with two CPUs beside a partition with two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bench.compare import host as on_host
from bench.compare.system import MEMORY_MIB, WEB, Kernel, System
from lab import progress
from lab.machine import Machine

NAME = "web"


@contextmanager
def shimos(host: Machine, scale: float) -> Iterator[System]:
    """Yield two partitions: as in the papers, both kernels are for work, and the first one owns the devices."""
    host.load()
    with on_host.bridge(host):
        first = on_host.kernel(host)
        second = start(host)
        try:
            yield System("shimos", host, scale, first, (first, second))
        finally:
            stop(host)


def start(host: Machine, more: str = "") -> Kernel:
    """Start the partition, which may be given more options, on a host that has KLoader."""
    words = on_host.cmdline("/dev/vda", WEB, "ttyIKC0")
    devices = [host.disk(NAME), f"{host.disk(f'tools-{NAME}')},ro", "/dev/ram0", host.disk(f"work-{NAME}")]
    with progress.step("booting the partition"):
        host.run(
            f"shimos run {NAME} --cpuset 2-3 --memory {MEMORY_MIB}M --net {on_host.LINK} --cmdline '{words}' {more} "
            + " ".join(f"--disk {device}" for device in devices),
            timeout=300,
        )
        console = host.partition(NAME, timeout=300)
    return Kernel(NAME, WEB, console, "/dev/vdc", "/dev/vdd")


def stop(host: Machine) -> None:
    """End it at once; KLoader goes, too."""
    host.release_consoles()
    host.run(f"shimos rm --force {NAME}; modprobe -r shimos_kloader", timeout=120, check=False)
