"""What the machine itself charges for: measured, to judge the other tables by."""

from __future__ import annotations

from bench.compare.workload import Group, Workload
from bench.compare.workloads.processes import loop
from lab.arch import AMD64

GROUP = Group(
    "emulator",
    "What this machine charges",
    (
        Workload(
            "cpuid",
            "CPUID, which a KVM guest must leave for",
            "ns",
            loop("cpuid", 20_000),
            clocks=("times", "instructions"),
            arches=(AMD64.name,),
        ),
        Workload("walk", "one byte of each of 16384 small pages, in no order", "ns", loop("walk", 400_000)),
    ),
    (
        "The difference of the first row is a VM exit with its handling. On hardware it is 1000 to 2000 cycles, some ten"
        " times a getpid; compare it with the first table's.",
        "The second row is a missing TLB entry, with nested paging in a guest.",
    ),
    "This table is the measurement that the remarks beside the others refer to. On real hardware it says the same about"
    " that hardware.",
)
