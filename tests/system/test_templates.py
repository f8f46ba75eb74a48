"""Templates and clones: each clone is fresh, and only what is whole is used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab import cache
from lab.machine import Machine
from lab.paths import SRC
from lab.shell import ShellError
from lab.stage.partitions import remove, show, start
from tests.support.tiers import REPETITION, rare

#: Files of the machine's root and of a kernel's disk, whose sums tell whether somebody was there.
_SUMS = "md5sum /usr/bin/bash /etc/hostname /boot/vmlinuz-* /usr/lib/modules/*/modules.dep"


def seen(machine: Machine) -> str:
    """Return what a test could have changed: files on both disks, modules, CPUs, processes."""
    script = f"{_SUMS}; ls / /tmp /root; lsmod | cut -d' ' -f1; cat /sys/devices/system/cpu/online; ps --ppid 2 -p 2 --deselect -o comm= | sort"
    return machine.run(script).output


def wreck(machine: Machine) -> None:
    """Spoil root disk, kernel disk, memory and modules of a machine; it need not survive."""
    machine.run(
        "echo gone >/etc/hostname; rm -f /boot/vmlinuz-*; echo mine >/root/left; rmmod shimos_kloader shimos_ikc"
    )
    machine.run("dd if=/dev/urandom of=/tmp/filled bs=1M count=200 status=none; sync")
    machine.run("for d in a b c; do dd if=/dev/urandom of=/dev/vd$d bs=1M count=64 conv=fsync status=none; done")
    with pytest.raises(ShellError):
        machine.run("echo 1 >/proc/sys/kernel/sysrq; echo c >/proc/sysrq-trigger", timeout=60)


@rare("concerns the lab only")
def test_what_is_done_to_one_clone_is_not_seen_by_another(fresh_machine: Machine) -> None:
    """One is wrecked while another is used, and a third begins as the second did."""
    first = seen(fresh_machine)
    assert len(first.splitlines()) > 30
    with Machine() as other:
        assert seen(other) == first
        wreck(other)
    assert seen(fresh_machine) == first
    with Machine() as third:
        assert seen(third) == first
        start(third)
        remove(third)
    fresh_machine.assert_dmesg_clean()


def chance(machine: Machine) -> tuple[str, str, str]:
    """Return what two machines must draw differently: random bytes, boot id, places of a partition's kernel."""
    bytes_ = machine.run("head -c 16 /dev/urandom | od -An -tx8").output
    # Only Debian's packed kernel draws a place for itself.
    start(machine, flavour="6.12", cpus="2", packed=True)
    # Of two starts: for one there are but some 480 places, and two machines may draw the same.
    places = [machine.partition("web").run("grep -m 1 -w _text /proc/kallsyms").output]
    machine.release_consoles()
    machine.run("shimos restart --force web", timeout=60)
    places.append(machine.partition("web").run("grep -m 1 -w _text /proc/kallsyms").output)
    return bytes_, machine.boot_id(), "".join(places)


@pytest.mark.parametrize("kernel", ["6.12", pytest.param("6.1", marks=REPETITION)])
@rare("concerns the lab only")
def test_two_clones_draw_different_numbers(kernel: str) -> None:
    """A template's random pool is not its clones'."""
    with Machine(kernel=kernel) as one, Machine(kernel=kernel) as two:
        drawn = list(zip(chance(one), chance(two), strict=True))
    for what, (first, second) in zip(("random bytes", "boot ids", "places of a kernel"), drawn, strict=True):
        assert first != second, f"the same {what}: {first}"


def test_clock(fresh_machine: Machine) -> None:
    """A clone's clock is right, however old its template is."""
    before = time.time()
    its = float(fresh_machine.run("date +%s.%N").output)
    assert before - 5 < its < time.time() + 5


def two_partitions(machine: Machine) -> None:
    """Stage: web and db run."""
    start(machine, "web", "6.1", "2")
    start(machine, "db", "6.12", "3")


@pytest.mark.machine(stage=two_partitions)
@rare("other tests' stages are such machines")
def test_partitions_that_ran_when_the_machine_was_frozen(fresh_machine: Machine) -> None:
    """They go on in the clone: consoles, packets, ends, restarts."""
    for name, flavour in (("web", "6.1"), ("db", "6.12")):
        assert fresh_machine.partition(name).run("uname -r").output.strip() == fresh_machine.versions[flavour]
    fresh_machine.run("shimos ping -c 20 -i 0 web && shimos ping -c 20 -i 0 db")
    fresh_machine.release_consoles()
    fresh_machine.run("shimos stop web", timeout=60)
    fresh_machine.run("shimos restart web", timeout=60)
    assert show(fresh_machine, "web")["state"] == "running"
    for name in ("web", "db"):
        remove(fresh_machine, name)
    assert fresh_machine.online_cpus() == [0, 1, 2, 3]
    fresh_machine.assert_dmesg_clean()


_MAKER = "from lab.machine import Machine\nMachine(cmdline='{tag}').start()\n"


def emulator(tag: str) -> tuple[int, Path] | None:
    """Return the emulator with this in its arguments and the folder of the template that it will be."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text()
        except OSError:
            continue
        memory = re.search(r"mem-path=(\S+\.new)/ram", words)
        if words.startswith("qemu") and tag in words and memory:
            return int(process.name), Path(memory[1])
    return None


def is_begun(found: tuple[int, Path] | None) -> bool:
    """Return whether it has come so far that it ends with its maker: it makes the machine's memory after that."""
    return found is not None and (found[1] / "ram").exists()


def test_a_template_whose_maker_was_killed_is_never_used() -> None:
    """kill -9 while it is made: nothing is left running, and it is made anew."""
    tag = f"torn={os.getpid()}-{time.monotonic_ns()}"
    maker = subprocess.Popen([sys.executable, "-c", _MAKER.format(tag=tag)], cwd=SRC)
    deadline = time.monotonic() + 120
    while not is_begun(found := emulator(tag)) and time.monotonic() < deadline:
        time.sleep(0.05)
    maker.kill()
    maker.wait()
    assert found, "no template was begun"
    while emulator(tag) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not emulator(tag), "the emulator outlived its starter"
    ground = found[1].with_suffix("")
    assert not ground.exists()
    with Machine(cmdline=tag) as machine:
        assert tag in machine.run("cat /proc/cmdline").output
        assert (machine.emulator.place.role, machine.emulator.place.ground) == ("clone", ground)
    cache.remove(ground)  # nobody will ask for it again
