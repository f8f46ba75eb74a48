"""Partitions that start and end in all ways, again and again: `./test tests/system/soak/test_life.py`, not part of `./test`.

SHIMOS_SOAK_ROUNDS says how many starts, 1000 unless told; SHIMOS_SOAK_SEED which ones; SHIMOS_SOAK_CUTS how many rounds of cut-off starts.
"""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from lab.machine import Machine
from lab.stage.partitions import Resources, run_command, wait_state
from lab.stage.traffic import area
from tests.system.test_life import ENDS, end_by_itself

ROUNDS = int(os.environ.get("SHIMOS_SOAK_ROUNDS", "1000"))
SEED = int(os.environ.get("SHIMOS_SOAK_SEED", "2026"))
CUTS = int(os.environ.get("SHIMOS_SOAK_CUTS", "120"))
#: Each partition's name and CPUs: at most all of them at once.
LANES = (("web", "3"), ("db", "2"), ("queue", "1"))
FLAVOURS = ("6.1", "6.12")
#: Starts between two looks at everything that could have been lost.
LOOK_EVERY = 25
#: Seconds that a start takes on a busy computer, and a kernel after it until its programs run.
START, BOOT = 5.0, 2.5
#: How often modules may be held when there is no partition: by each other.
REFERENCES = "cat /sys/module/shimos_*/refcnt"
#: All that the kernel shows of partitions and of what belongs to them.
TRACES = "find /sys/class/shimos /sys/devices /proc/driver /dev -path '*shimos*' 2>/dev/null | sort; grep -i shimos /proc/iomem || :"


@dataclass
class Start:
    """A partition that is to be started and ended; guarded or not."""

    name: str
    cpus: str
    flavour: str
    way: str
    moment: float
    guarded: bool = False

    def command(self, machine: Machine) -> str:
        """Return the shell's words that start it, and kill what starts it if that is the way."""
        more = "--guarded" if self.guarded else ""
        words = run_command(machine, self.name, self.flavour, self.cpus, "256M", more)
        log = f"/tmp/{self.name}.log"
        if self.way == "kill-tool":
            # not timeout(1): it would kill itself too
            return f"({words} >{log} 2>&1 & sleep {self.moment * START:.3f}; kill -KILL $!; wait $!; true)"
        if self.way == "kill-booting":
            kill = f"until [ -e /sys/class/shimos/{self.name} ]; do sleep 0.02; done; sleep {self.moment * BOOT:.3f}"
            return f"({words} >{log} 2>&1 & {kill}; shimos kill {self.name} >>{log} 2>&1; wait; true)"
        return f"{words} >{log} 2>&1"


def _typed(how: str) -> Callable[[Machine, Start], None]:
    return lambda machine, start: end_by_itself(machine, start.name, how)


def _by_tool(*commands: str) -> Callable[[Machine, Start], None]:
    def end(machine: Machine, start: Start) -> None:
        for command in commands:
            machine.run(f"shimos {command} {start.name}", timeout=120)

    return end


def _killed_in_restart(machine: Machine, start: Start) -> None:
    """Kill it while its second life begins, and the tool that begins it a little later."""
    restart = f"shimos restart --force {start.name} >/tmp/{start.name}.log 2>&1"
    machine.run(
        f"{restart} & sleep {start.moment * BOOT:.3f}; shimos kill {start.name}; kill -KILL $!; wait $!",
        check=False,
        timeout=120,
    )
    # a kill that came before the start found nothing to kill
    machine.run(f"shimos kill {start.name}", check=False)
    wait_state(machine, start.name, "stopped|crashed")


def _nothing(machine: Machine, start: Start) -> None:
    """Leave it to the removal, by force if need be."""


#: What happens to a partition once it was started; after that it is removed.
WAYS: dict[str, Callable[[Machine, Start], None]] = {
    **{how: _typed(how) for how in ENDS},
    "stop": _by_tool("stop"),
    "kill": _by_tool("kill"),
    "kill-after-restart": _by_tool("restart --force", "kill"),
    "kill-in-restart": _killed_in_restart,
    "kill-booting": _nothing,
    "kill-tool": _nothing,
    "remove": _nothing,
}


@dataclass
class Facts:
    """What must be the same whenever there is no partition."""

    machine: Machine
    resources: Resources = field(init=False)
    blocks: int = field(init=False)
    shown: str = field(init=False)

    def __post_init__(self) -> None:
        self.resources = Resources(self.machine)
        self.blocks = area(self.machine)["blocks"]
        self.shown = self._show()

    def _show(self) -> str:
        return self.machine.run(f"{REFERENCES}; {TRACES}").output

    def assert_same(self) -> None:
        """Check that nothing was lost or left behind."""
        self.resources.assert_back()
        assert area(self.machine)["blocks"] == self.blocks, "blocks of IKC's area are lost"
        assert self._show() == self.shown, "something is left of partitions, or holds a module"


def plan(dice: random.Random) -> Iterator[list[Start]]:
    """Yield starts without end, one to three at once; every way comes equally often."""
    ways = itertools.chain.from_iterable(dice.sample(list(WAYS), len(WAYS)) for _ in itertools.count())
    while True:
        lanes = dice.sample(LANES, dice.randint(1, len(LANES)))
        yield [
            Start(name, cpus, dice.choice(FLAVOURS), next(ways), dice.random(), dice.random() < 0.5)
            for name, cpus in lanes
        ]


def run_all(machine: Machine, starts: list[Start]) -> None:
    """Start them beside each other, end each its way, and remove them beside each other."""
    begin = " ".join(f'{start.command(machine)} & pids="$pids $!";' for start in starts)
    logs = " ".join(f"/tmp/{start.name}.log" for start in starts)
    machine.run(f"pids=; {begin} for pid in $pids; do wait $pid || {{ cat {logs}; exit 1; }}; done", timeout=300)
    for start in starts:
        WAYS[start.way](machine, start)
    # Where the tool was killed there may be nothing to remove.
    remove = "; ".join(f"[ ! -e /sys/class/shimos/{s.name} ] || shimos rm --force {s.name} &" for s in starts)
    machine.run(f"{remove.replace('&;', '&')} wait", timeout=120)
    machine.assert_dmesg_clean()


@pytest.mark.machine(partitions=["6.12", "6.1"], memory="4G")
def test_soak(fresh_machine: Machine) -> None:
    """Nothing is lost, and the host has nothing to complain of."""
    dice = random.Random(SEED)
    # The first start grows what stays: IKC's area, caches.
    run_all(fresh_machine, [Start(name, cpus, "6.12", "stop", 0) for name, cpus in LANES])
    before = Facts(fresh_machine)
    done: Counter[str] = Counter()
    looked = 0
    for starts in plan(dice):
        # Shown when something fails, and with -s.
        print(f"start {done.total() + 1}: {starts}", flush=True)
        run_all(fresh_machine, starts)
        done.update(start.way for start in starts)
        if done.total() >= ROUNDS or done.total() - looked >= LOOK_EVERY:
            looked = done.total()
            before.assert_same()
        if done.total() >= ROUNDS:
            break
    print(f"{done.total()} starts: {dict(done)}")


def cut_off(machine: Machine, name: str, flavour: str, cpus: str, moments: list[float]) -> str:
    """Return a loop of starts that are killed at these moments, and removals of what there is by then."""
    words = run_command(machine, name, flavour, cpus, "256M")
    rounds = f"({words} >/tmp/{name}.log 2>&1 & sleep $moment; kill -KILL $!; wait $!)"
    # Where the tool was killed there may be nothing to remove.
    return f"for moment in {' '.join(f'{m:.1f}' for m in moments)}; do {rounds}; shimos rm --force {name}; done 2>/dev/null"


@pytest.mark.machine(partitions=["6.12", "6.1"], memory="5G", cpus=6)
def test_cut_off(fresh_machine: Machine) -> None:
    """Two tools beside each other that are killed while CPUs go and come: nothing is lost, the log is clean."""
    dice = random.Random(SEED)
    before = Resources(fresh_machine)
    batch = 12
    for done in range(0, CUTS, batch):
        moments = [dice.uniform(0.3, 5.3) for _ in range(batch)]
        first, second = (
            cut_off(fresh_machine, "a", "6.1", "2", moments),
            cut_off(fresh_machine, "b", "6.12", "4-5", moments),
        )
        fresh_machine.run(f"({first}) & ({second}) & wait", timeout=600)
        before.assert_back()
        fresh_machine.assert_dmesg_clean()
        print(f"{done + batch} rounds", flush=True)
