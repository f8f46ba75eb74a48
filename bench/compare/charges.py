"""What this machine charges for what systems differ in, by its own measurement."""

from __future__ import annotations

import statistics

from bench.compare.results import Results

# Of the order of; for a reader who has no such machine.
_HARDWARE = {"exit": 10, "call": 2, "walk": 2, "wake": 20}


def measured(results: Results, commit: str) -> str:
    """Return a sentence for beside the tables; empty if the measurements are not there."""

    def median(system: str, work: str) -> float | None:
        values = results.values(system, work, "times", commit)
        return statistics.median(values) if values else None

    said = []
    getpid = median("native", "getpid")
    # A paravirtual domain's program is not stopped at CPUID; its system calls go through the hypervisor.
    here, there = median("native", "cpuid"), median("kvm", "cpuid")
    if getpid and here and there:
        said.append(
            f"leaving a kvm guest and coming back costs {(there - here) / getpid:.1f} getpids {_beside('exit')}"
        )
    called = median("xen", "getpid")
    if getpid and called:
        said.append(f"a system call of a xen guest, {called / getpid:.1f} times native's {_beside('call')}")
    for guest in ("kvm", "xen"):
        here, there = median("native", "walk"), median(guest, "walk")
        if here and there:
            said.append(
                f"a page that no TLB has, {there / here:.1f} times native's in a {guest} guest {_beside('walk')}"
            )
    alone, other = median("native", "pipe"), median("native", "pipe-other")
    if getpid and alone and other:
        cost = (other - alone) * 1000 / 2 / getpid
        said.append(f"waking another CPU, {cost:.0f} getpids more than one's own {_beside('wake')}")
    return f"Measured on this machine: {'; '.join(said)}." if said else ""


def _beside(what: str) -> str:
    return f"(hardware: of the order of {_HARDWARE[what]})"
