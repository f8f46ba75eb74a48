"""The owner of a shared disk looks for the next request a while before it sleeps, and takes nobody's CPU for that.

The machine's clock counts instructions: how long a request is in coming is the same each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.devices import device
from lab.stage.disks import inside
from lab.stage.partitions import remove, start
from lab.stage.rt import UNTIL_END, busy
from tests.support.tiers import rare

pytestmark = pytest.mark.machine(partitions=["6.12"], icount=True)

DISK = "/dev/ram0"
#: What a thread looks for at most before it sleeps, ns.
MOST = 200_000


@contextmanager
def counted(machine: Machine) -> Iterator[dict[str, int]]:
    """Yield by how much the disk's counters grow; filled at the end."""
    before, found = device(machine, DISK), dict[str, int]()
    yield found
    now = device(machine, DISK)
    found.update({name: now[name] - before[name] for name in ("reads", "doorbells_from_user", "polled_ns")})


def read_one_by_one(shell: PartitionConsole, own: str, count: int = 1000) -> None:
    shell.run(f"dd if={own} of=/dev/null bs=4k count={count} iflag=direct 2>/dev/null", timeout=300)


@rare("how much is polled concerns speed only")
def test_only_as_long_as_it_pays(machine: Machine) -> None:
    """Who reads one by one rings for few of them; whatever comes seldom, or never, is not looked for."""
    machine.run("modprobe brd rd_nr=1 rd_size=16384")
    start(machine, flavour="6.12", memory="256M", more=f"--disk {DISK}")
    shell = machine.partition("web")
    own = inside(shell, DISK)
    read_one_by_one(shell, own)
    with counted(machine) as one_by_one:
        read_one_by_one(shell, own)
    assert one_by_one["reads"] == 1000 and one_by_one["doorbells_from_user"] < 100, one_by_one
    assert 0 < one_by_one["polled_ns"] < 1000 * MOST, one_by_one
    with counted(machine) as idle:
        machine.run("sleep 5")
    assert not any(idle.values()), idle
    with counted(machine) as seldom:
        for _ in range(10):
            read_one_by_one(shell, own, 1)
    assert seldom["reads"] == seldom["doorbells_from_user"] == 10 and seldom["polled_ns"] == 0, seldom
    # programs that have only what others leave go before it, one on each CPU
    works = [f"taskset -c {cpu} nice -n 19 sh -c '{UNTIL_END}; do :; done'" for cpu in machine.online_cpus()]
    with busy(machine, *works):
        read_one_by_one(shell, own)
        with counted(machine) as beside:
            read_one_by_one(shell, own)
    assert beside["reads"] == 1000 and beside["polled_ns"] < one_by_one["polled_ns"] / 10, (beside, one_by_one)
    shell.close()
    remove(machine)
    machine.assert_dmesg_clean()
