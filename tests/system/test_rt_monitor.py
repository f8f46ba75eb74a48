"""A real-time program that watches another one: what was changed from outside is found, and begins anew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.machine import Machine
from lab.stage.partitions import PROGRAMS, Resources, refused, remove, show, start
from lab.stage.rt import WORK, busy, rt_command, spin, vcpus
from tests.support.tiers import REPETITION, late, rounds
from tests.system.test_layer import load
from tests.system.test_rt import IMAGES

pytestmark = [
    pytest.mark.machine(one_thread=True),
    late("who watches the real-time program's memory; other tests run such programs"),
]
#: Its clock goes by instructions, so it is the same however busy the computer is.
counted = pytest.mark.machine(cpus=2, icount=True)
counted_older = pytest.mark.machine(kernel="6.1", partitions=["6.1"], cpus=2, icount=True)
#: Where the board's programs begin, and a place in their text.
TEXT = 0x100000
#: Less than a round's worth of a CPU, in percent, and a period's nanoseconds.
LITTLE, PERIOD = 2, 10_000_000
#: Nanoseconds.
FOUND, RUNNING = 1_000_000_000, 50_000_000


def monitor(name: str = "mon", target: str = "ctl", cpu: str = "0", more: str = "", image: str = "monitor") -> str:
    """Return the command line that starts one that watches."""
    return rt_command(image, name, cpu, f"--budget 10%/10ms --watch {target} {more}")


@contextmanager
def watched(machine: Machine, more: str = "--on-change restart", mon: str = "", cpu: str = "0") -> Iterator[None]:
    """Let ``ctl`` work at 1 kHz on CPU 1, and ``mon`` watch it, from CPU 0 unless told otherwise."""
    machine.run(rt_command(more=more), timeout=120)
    assert ", watches ctl" in machine.run(monitor(cpu=cpu, more=mon), timeout=120).output
    turns(machine, 2)
    yield
    for name in ("mon", "ctl"):
        remove(machine, name)


def turns(machine: Machine, more: int) -> None:
    """Wait until ``mon`` has been through all pages so many times more; it may begin anew meanwhile."""
    word = "shimos show mon --json | sed -n 's/.*\"watch_rounds\": *\\([0-9]*\\).*/\\1/p'"
    machine.run(f"n=$({word}); until [ $({word}) -ge $((n + {more})) ]; do sleep 0.2; done", timeout=240)


def flip(machine: Machine, *offsets: int) -> None:
    """Change a bit of each of these bytes of ``ctl``'s memory, as a wild pointer of the host's kernel would."""
    begin = show(machine, "ctl")["ranges"][0]["start"]
    machine.run("; ".join(f"echo flip {begin + offset} 3 >/proc/layer" for offset in offsets))


def kept(machine: Machine) -> int:
    """Return the offset of ``ctl``'s image as it was loaded: at the end, in whole pages."""
    now = show(machine, "ctl")
    pages: int = -(-now["kernel_bytes"] // 4096)
    return int(now["memory"]) - pages * 4096


def times(machine: Machine, *words: str) -> list[int]:
    """Return when the kernel's log says these, each for the last time, in nanoseconds."""
    log = machine.run("dmesg").lines
    found = [[line for line in log if re.search(word, line)][-1] for word in words]
    return [int(float(re.findall(r"\[ *(\d+\.\d+)\]", line)[0]) * 1e9) for line in found]


def until_logged(machine: Machine, word: str) -> None:
    machine.run(f"until dmesg | grep -q '{word}'; do sleep 0.2; done", timeout=240)


CHANGED = "ctl: crashed .changed.: its text or constants at 0x100000 were changed from outside, as 'mon' found"


@pytest.mark.parametrize(
    "kernel", [pytest.param("6.12", marks=counted), pytest.param("6.1", marks=[counted_older, REPETITION])]
)
def test_a_bit_that_flips(fresh_machine: Machine, kernel: str) -> None:
    """It is found in time, and the program works again in time, with the figures in the kernel's log."""
    machine = fresh_machine
    load(machine)
    # a CPU that sleeps would let the clock follow the computer's
    for _ in machine.online_cpus():
        spin(machine)
    with watched(machine):
        for starts in range(2, 2 + rounds(10, 2)):
            machine.run("dmesg --clear")
            flip(machine, TEXT + 0x40)
            until_logged(machine, "ctl: running again")
            flipped, ended, running = times(machine, "flipped", CHANGED, "ctl: running again")
            print(
                f"{kernel}: found after {(ended - flipped) // 1000} us, running again {(running - ended) // 1000} us later"
            )
            assert 0 < ended - flipped <= FOUND
            assert 0 < running - ended <= RUNNING
            now = show(machine, "ctl")
            assert (now["state"], now["starts"], now["on_change"]) == ("running", starts, "restart")
        turns(machine, 2)
        now = show(machine, "mon")
        assert (now["watch_found"], now["watch_nonsense"], now["starts"]) == (starts - 1, 0, 1)
        # it works again; how late it is means nothing where CPUs take turns on one clock
        machine.run("shimos stop ctl")
        lines = machine.run("shimos logs --console ctl | tail -n 5").lines
        assert int(re.findall(r"# Total: (\d+)", "\n".join(lines))[0]) >= 100
    machine.assert_dmesg_clean()


def test_what_becomes_of_it(machine: Machine) -> None:
    """It stays ended if nobody said otherwise, and does not start from an image that was changed, too."""
    before = Resources(machine)
    load(machine)
    # they can share a CPU, and part
    with watched(machine, more="--budget 80%", cpu="1"):
        machine.run("shimos rt move mon 2")
        turns(machine, 2)
        flip(machine, TEXT + 0x1040)
        machine.run("until shimos ls | grep -q 'ctl *crashed'; do sleep 0.1; done")
        now = show(machine, "ctl")
        assert (now["cause"], now["starts"]) == ("changed", 1)
        assert "at 0x101000 were changed from outside, as 'mon' found" in now["message"]
        assert show(machine, "mon")["watch_pages"] == 0
        machine.run("shimos restart ctl")
        turns(machine, 2)
        assert show(machine, "mon")["watch_pages"] > 0
    with watched(machine):
        machine.run("dmesg --clear")
        flip(machine, kept(machine) + 0x1000, TEXT)
        until_logged(
            machine, "ctl: not started again: the copy of its image kept in the memory of .ctl. was overwritten"
        )
        now = show(machine, "ctl")
        assert (now["state"], now["cause"], now["starts"]) == ("crashed", "changed", 1)
        refused(machine, "shimos restart ctl", "was overwritten", "run it anew")
    machine.run("rmmod shimos_layer_test")
    before.assert_back()


def test_what_it_is_compared_with(machine: Machine) -> None:
    """That is the host's memory, too: a hit there ends the program once, and not again and again."""
    before = Resources(machine)
    with watched(machine):
        machine.run(f"insmod /usr/lib/shimos-test/{machine.versions[machine.flavour]}/shimos_forge.ko")
        machine.run("shimos kill mon")
        assert re.search("watched by: +mon, which is stopped", machine.run("shimos show ctl").output)
        assert "not watched: mon is stopped" in machine.run("shimos ls").output
        machine.run("shimos restart mon")
        machine.run("until shimos show ctl --json | grep -q 'starts.: *[2-9]'; do sleep 0.1; done")
        again = "shimos show ctl --json | grep -q 'starts.: *[4-9]'"
        fine = "shimos show mon --json | grep -q 'watch_rounds.: *[2-9]'"
        machine.run(f"until {again} || {fine}; do sleep 0.1; done")
        assert (show(machine, "ctl")["starts"], show(machine, "mon")["watch_found"]) == (2, 1)
        assert show(machine, "ctl")["watched_by"] == [{"name": "mon", "state": "running"}]
        assert re.search("watched by: +mon\n", machine.run("shimos show ctl").output)
        assert "not watched" not in machine.run("shimos ls").output
        machine.run("rmmod shimos_forge")
    before.assert_back()
    machine.assert_dmesg_clean()


def test_nothing_changes(machine: Machine) -> None:
    """Under load nothing is reported, and the monitor keeps to its budget."""
    machine.run(rt_command())
    machine.run(monitor().replace("10%", f"{LITTLE}%"))
    with busy(machine, WORK):
        begin, first = show(machine, "mon"), vcpus(machine)["mon:0"]
        turns(machine, 5)
        end, last = show(machine, "mon"), vcpus(machine)["mon:0"]
    assert (end["watch_found"], end["watch_nonsense"], end["starts"]) == (0, 0, 1)
    assert f"ctl, {end['watch_pages']} pages, " in machine.run("shimos show mon").output
    # it wanted more, and did not get it
    assert last["throttled"] > first["throttled"]
    took = end["uptime_ns"] - begin["uptime_ns"] + PERIOD
    assert last["ran_ns"] - first["ran_ns"] <= took * LITTLE / 100 * 1.1
    assert show(machine, "ctl")["starts"] == 1
    for name in ("mon", "ctl"):
        remove(machine, name)


def test_they_come_and_go(machine: Machine) -> None:
    """Whichever of them starts, ends or goes: the other one does not notice, and nothing is seen any more."""
    before = Resources(machine)
    for protected in ("", "--protected"):
        machine.run(rt_command(more=protected))
        machine.run(monitor(more=protected))
        turns(machine, 2)
        pages = show(machine, "mon")["watch_pages"]
        for _ in range(rounds(3, 1)):
            machine.run("shimos kill ctl && shimos restart ctl && shimos kill mon && shimos restart mon", timeout=60)
        turns(machine, 2)
        # another one of that name, of another size
        machine.run("shimos rm --force ctl")
        assert show(machine, "mon")["watch_pages"] == 0
        refused(machine, monitor("more", cpu="3"), "no partition 'ctl'", "shimos ls")
        machine.run(rt_command("control", more=protected))
        turns(machine, 2)
        assert show(machine, "mon")["watch_pages"] > pages
        # two may watch one, and one that watches can be watched; its end is an end like any other
        machine.run(monitor("more", "mon", "2", protected))
        machine.run("shimos kill mon")
        now = show(machine, "mon")
        assert (now["state"], now["cause"], now["watch_pages"]) == ("stopped", "killed", 0)
        for name in ("ctl", "mon", "more"):
            remove(machine, name)
        assert vcpus(machine) == {}
    before.assert_back()
    machine.assert_dmesg_clean()


def test_nonsense(machine: Machine) -> None:
    """A report that names no page of the list is counted, and nobody ends for it; what is wrong is told."""
    machine.run(rt_command())
    machine.run(monitor(image="liar-lie"))
    machine.run("until shimos show mon --json | grep -q 'watch_nonsense.: *[0-9][0-9]'; do sleep 0.1; done")
    assert "senseless reports" in machine.run("shimos show mon").output
    now = show(machine, "ctl")
    assert (now["state"], now["starts"]) == ("running", 1)
    assert show(machine, "mon")["watch_found"] == 0
    machine.run("shimos kill mon")
    # what it may not touch: there is nothing but pages that are watched, and they can only be read
    for image in ("liar-write", "liar-beyond"):
        refused(machine, monitor("bad", cpu="3", image=image), "it touched address 0x80")
    assert show(machine, "ctl")["starts"] == 1
    machine.run(f"{monitor('bad', cpu='3', image='liar-accuse')}; until shimos ls | grep -q 'ctl *crashed'; do :; done")
    now = show(machine, "ctl")
    assert now["cause"] == "changed"
    assert re.search("^'bad' says that .* at 0x100000 .* but they are as they were", now["message"]), now["message"]
    for name in ("bad", "mon", "ctl"):
        remove(machine, name)


def test_memory_that_goes(machine: Machine) -> None:
    """One that reads on where a removed partition's memory was finds nothing of what is there now."""
    for protected in ("", "--protected"):
        machine.run(rt_command(more=protected))
        machine.run(monitor(image="liar-peek", more=protected))
        assert machine.run("sleep 0.3; shimos logs --console mon").output == ""
        machine.run("shimos rm --force ctl")
        machine.run("until shimos logs --console mon | grep -q zeros; do sleep 0.1; done")
        assert show(machine, "mon")["state"] == "running"
        remove(machine, "mon")


def test_refusals(machine: Machine) -> None:
    """What is wrong, why, and what to do."""
    before = Resources(machine)
    start(machine, cpus="3")
    refused(machine, monitor(target="mon"), "cannot watch itself", "another")
    refused(machine, monitor(target="web"), "'web' is a Linux", "only a real-time program")
    refused(machine, monitor(target="nobody"), "no partition 'nobody'", "start it first")
    refused(machine, "shimos run db --memory 512M --cpuset 2 --watch web", "--watch", "--cpus")
    refused(machine, "shimos run db --memory 512M --watch web", "--watch means nothing to a Linux")
    refused(machine, rt_command("monitor"), "there is nobody to be watched", "--watch NAME")
    # from a file
    machine.run(rt_command())
    text = 'share_cpus="0"\\nmemory="8M"\\nwatch="ctl"\\non_change="restart"\\n'
    machine.run(f"printf '{text}' >/tmp/mon.toml; shimos run mon --file /tmp/mon.toml --kernel {PROGRAMS}/monitor.elf")
    now = show(machine, "mon")
    assert (now["watch"], now["on_change"], IMAGES) == ("ctl", "restart", PROGRAMS)
    for name in ("mon", "ctl", "web"):
        remove(machine, name)
    before.assert_back()


def test_a_look(machine: Machine) -> None:
    """The host can look itself, once, whether a program and its image are as they were loaded."""
    load(machine)
    machine.run(rt_command())
    pages = json.loads(machine.run("shimos rt check ctl --json").output)["pages"]
    assert pages > 0 and f"ctl: {pages} pages" in machine.run("shimos rt check ctl").output
    flip(machine, TEXT + 0x40, TEXT + 0x1040)
    refused(machine, "shimos rt check ctl", f"2 of {pages} pages", "the first at 0x100000", "shimos restart ctl")
    # what a program may change means nothing
    machine.run("shimos kill ctl && shimos restart ctl && shimos rt check ctl")
    flip(machine, kept(machine))
    refused(machine, "shimos rt check ctl", "the copy of its image", "run it anew")
    remove(machine, "ctl")
    machine.run(rt_command(more="--protected"))
    refused(machine, "shimos rt check ctl", "protected from the host while it runs", "watch it")
    machine.run("shimos kill ctl && shimos rt check ctl")
    remove(machine, "ctl")
    start(machine, cpus="3")
    refused(machine, "shimos rt check web", "changes its own text")
    remove(machine, "web")
    machine.run("rmmod shimos_layer_test")
