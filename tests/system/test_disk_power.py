"""Power cuts: a database commits on a shared disk when its kernel, or the disk's owner, is gone from one moment to the next."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from lab.devices import Disk
from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.stage.disks import inside, stock_modules
from lab.stage.partitions import Resources, initrd_with, remove, start, with_libraries
from tests.support.tiers import late, rounds

pytestmark = [
    pytest.mark.x2apic,
    pytest.mark.machine(partitions=["6.1"], disks=[Disk("data", "64M")]),
    late("power cuts; test_disks.py asks for flushes"),
]

#: What is gone from one moment to the next, half of the time the partition; and the database's ways to commit.
#: The first four have each of them.
TURNS = (
    *(("kill", "WAL"), ("detach", "DELETE"), ("kill", "DELETE"), ("unload", "WAL")),
    *(("kill", "WAL"), ("detach", "WAL"), ("kill", "DELETE"), ("unload", "DELETE")),
)
CUTS = rounds(50, 4)
#: Some kernels have ext4 built in.
LOAD = "for module in /modules/*; do [ ! -e $module ] || insmod $module; done"
CHECK = "PRAGMA integrity_check; SELECT count(*), coalesce(max(id), 0), coalesce(sum(length(x) = 2000), 0) FROM t;"


def committed(machine: Machine) -> int:
    """Return the last row that was reported; what is left of the console can be read after the partition's end."""
    text = machine.run("timeout 5 shimos console web --read-only </dev/null", check=False).output
    return max((int(n) for n in re.findall(r"committed (\d+)\.", text)), default=0)


def rows(machine: Machine, disk: str, promised: int) -> int:
    """Check file system and database on the host; returns how many rows there are."""
    repaired = machine.run(f"fsck.ext4 -p {disk}", check=False)  # the journal is replayed
    assert repaired.status in (0, 1), repaired.output
    machine.run(f"fsck.ext4 -fn {disk}")
    integrity, counts = machine.run(f"mount {disk} /mnt && sqlite3 /mnt/db '{CHECK}'; s=$?; umount /mnt; exit $s").lines
    count, last, whole = (int(n) for n in counts.split("|"))
    assert integrity == "ok"
    assert count == last == whole and last >= promised, f"{promised} rows were promised, the disk has {counts}"
    return count


def work(shell: PartitionConsole, disk: str, mode: str, done: int, more: int) -> None:
    """Commit in the background; returns after some commits."""
    own = inside(shell, disk)
    shell.run(f"(/commit-rows {own} {mode} {done} >/dev/console 2>&1 </dev/null &)")
    shell.expect(rf"committed {done + more}\.".encode(), timeout=120)


def test_power_cuts(fresh_machine: Machine) -> None:
    """Cut off half of the time the partition and half of the time the back end: no promised row is lost."""
    disk, chance = fresh_machine.disk("data"), random.Random(4)
    files = {
        "/commit-rows": "commit-rows",
        **stock_modules(fresh_machine, "6.1", "ext4"),
        **with_libraries(fresh_machine, "/usr/bin/sqlite3"),
    }
    initrd = initrd_with(fresh_machine, "6.1", files)
    fresh_machine.run(f"modprobe shimos_backend && mkfs.ext4 -q {disk}")
    before = Resources(fresh_machine)  # what is in /tmp is memory
    start(fresh_machine, more=f"--initrd {initrd}")
    fresh_machine.partition("web").run(LOAD)
    done = 0
    for end, mode in itertools.islice(itertools.cycle(TURNS), CUTS):
        fresh_machine.run(f"shimos attach web --disk {disk}")
        work(fresh_machine.partition("web"), disk, mode, done, chance.randint(1, 25))
        if end == "kill":
            fresh_machine.run("shimos kill web && shimos detach web --disk " + disk)
            fresh_machine.partition("web").close()
        else:
            fresh_machine.run(f"shimos detach web --force --disk {disk}" if end == "detach" else "rmmod shimos_backend")
            fresh_machine.partition("web").expect(b"the database ended", timeout=60)
        done = rows(fresh_machine, disk, committed(fresh_machine))
        if end == "kill":
            fresh_machine.run("shimos restart web", timeout=120)
            fresh_machine.partition("web").run(LOAD)
        else:
            fresh_machine.run("modprobe shimos_backend")
    assert done > CUTS
    fresh_machine.partition("web").close()
    remove(fresh_machine)
    before.assert_back()
    fresh_machine.assert_dmesg_clean()
