"""Real-time partitions, as a user has them: they share a CPU with the host and live like all others."""

from __future__ import annotations

import base64
import json
import random
import re
from typing import Any

import pytest

from lab.build import RT_ACTIVATIONS
from lab.machine import Machine
from lab.shell import ShellGone
from lab.stage.partitions import PROGRAMS, Resources, refused, remove, show, start, wait_state
from lab.stage.rt import rt_command, spin, vcpus
from lab.stage.traffic import area
from tests.support.tiers import late, rounds

pytestmark = [
    pytest.mark.machine(one_thread=True),
    late("partitions beside real-time programs; both have tests of their own"),
]


def lateness(machine: Machine, more: str = "") -> dict[str, Any]:
    """Return how late ``ctl`` gets its timer's interrupts, as ``shimos rt latency`` knows it."""
    found: dict[str, Any] = json.loads(machine.run(f"shimos rt latency ctl --json {more}").output)
    return found


def console(machine: Machine, name: str = "ctl") -> list[str]:
    """Return what a program has said so far."""
    return machine.run(f"shimos logs --console {name}").lines


def test_life(machine: Machine) -> None:
    """Run, look at it, stop, restart, kill, remove; the host keeps its CPU all the time."""
    before = Resources(machine)
    cpus = machine.online_cpus()
    assert "running" in machine.run(rt_command()).output
    assert machine.online_cpus() == cpus
    first = vcpus(machine)
    assert set(first) == {"host:1", "ctl:0"} and first["ctl:0"]["core"] == 1
    # it says so once a second
    machine.run("until shimos logs --console ctl | grep -q '^T: 0'; do sleep 0.1; done")
    now = show(machine, "ctl")
    assert (now["state"], now["kind"]) == ("running", "rt")
    assert vcpus(machine)["ctl:0"]["timers"] > first["ctl:0"]["timers"]

    machine.run("shimos stop ctl")
    now = show(machine, "ctl")
    assert (now["state"], now["cause"]) == ("stopped", "poweroff")
    assert console(machine)[-1].startswith("# Strays:")
    machine.run("shimos restart ctl")
    assert show(machine, "ctl")["starts"] == 2
    machine.run("shimos kill ctl")
    assert show(machine, "ctl")["cause"] == "killed"
    machine.run("shimos rm ctl")
    assert vcpus(machine) == {}
    before.assert_back()
    machine.assert_dmesg_clean()


@pytest.mark.machine(cpus=1, icount=True)
def test_a_program_in_rust(fresh_machine: Machine) -> None:
    """It lives as those in C do: it ends by itself, and when it is asked to, and begins anew each time.

    Time goes by instructions here, so it is asked before it would end by itself.
    """
    machine = fresh_machine
    before = Resources(machine)
    spin(machine)
    machine.run(rt_command("embassy", cpu="0"), timeout=120)
    wait_state(machine, "ctl", "stopped", 120)
    *_, seconds, last = console(machine)
    assert last == "embassy fine" and seconds.count("(0 missed)") == 2, seconds
    machine.run("shimos restart ctl && shimos stop ctl", timeout=120)
    now = show(machine, "ctl")
    assert (now["state"], now["cause"], now["starts"]) == ("stopped", "poweroff", 2)
    assert console(machine)[-1] == "embassy asked to stop"
    machine.run("shimos restart ctl && shimos kill ctl", timeout=120)
    assert show(machine, "ctl")["cause"] == "killed"
    machine.run("shimos rm ctl")
    before.assert_back()
    machine.assert_dmesg_clean()


#: By the images' names: state, cause and words after what a program may not do, or its end.
ENDS = {
    "hello": ("stopped", "poweroff", ""),
    "forbidden-null": ("crashed", "fault", r"it touched address 0x\w+, which is not its own"),
    "forbidden-text": ("crashed", "fault", r"it touched address 0x\w+, which is not its own"),
    "forbidden-reset": ("crashed", "fault", "triple fault"),
    "forbidden-halt": ("crashed", "fault", "halted for ever"),
    "forbidden-control": ("crashed", "fault", "control register"),
    "forbidden-svm": ("crashed", "fault", "instruction that is not its own"),
    "forbidden-port": ("crashed", "failed", "exception 13"),
}


def test_ends(machine: Machine) -> None:
    """However a program ends, its partition says how and why, and can be started again from its image."""
    before = Resources(machine)
    for image, (state, cause, words) in ENDS.items():
        # most end before they are up
        machine.run(rt_command(image, more="--keep"), check=False)
        wait_state(machine, "ctl", "stopped|crashed")
        for starts in (1, 2):
            now = show(machine, "ctl")
            assert (now["state"], now["cause"], now["starts"]) == (state, cause, starts), image
            assert re.search(words, now["message"]), (image, now["message"])
            machine.run("shimos restart ctl", check=False)
            wait_state(machine, "ctl", "stopped|crashed")
        remove(machine, "ctl")
    # one that ends before it is up is no partition, and its user hears why
    refused(machine, rt_command("forbidden-reset"), "triple fault", "now")
    assert vcpus(machine) == {}
    before.assert_back()
    machine.assert_dmesg_clean()


def killed(machine: Machine, times: int, chance: random.Random) -> None:
    """Kill a running ``ctl`` at any moment, again and again; each time it is back as it was at first."""
    host = (machine.boot_id(), area(machine)["used"])
    for _ in range(times):
        machine.run(f"sleep {chance.uniform(0, 0.2):.3f}; shimos kill ctl && shimos restart ctl")
        now = show(machine, "ctl")
        assert (now["state"], now["cause"]) == ("running", "none")
    assert (machine.boot_id(), area(machine)["used"]) == host
    # it does its work, and the host its own
    timers = vcpus(machine)["ctl:0"]["timers"]
    machine.run("taskset -c 1 find / -xdev -type f 2>/dev/null | head -500 | xargs cat >/dev/null")
    assert vcpus(machine)["ctl:0"]["timers"] > timers


def test_kills(machine: Machine) -> None:
    before = Resources(machine)
    machine.run(rt_command())
    killed(machine, rounds(50, 5), random.Random(1))
    remove(machine, "ctl")
    before.assert_back()


def test_refusals(machine: Machine) -> None:
    """What is wrong, why, and what to do; nothing is left half done."""
    before = Resources(machine)
    refused(machine, rt_command().replace("latency-endless.elf", "wait_for.sh"), "No such file")
    refused(machine, rt_command().replace(f"{PROGRAMS}/latency-endless.elf", "/etc/passwd"), "no ELF")
    refused(machine, rt_command().replace("8M", "2G"), "1")
    refused(machine, rt_command(cpu="1-2"), "one")
    refused(machine, rt_command(cpu="77"), "CPU 77 does not exist")
    refused(machine, rt_command(more="--cpuset 2"), "--cpus")
    refused(machine, rt_command(more="--initrd /etc/passwd"), "--initrd")
    # whose CPU it is
    start(machine, cpus="2-3")
    refused(machine, rt_command(cpu="2"), "CPU 2 belongs to another partition")
    machine.run(rt_command())
    refused(machine, rt_command(name="other"), "CPU 1", "95 % of it already")
    refused(machine, "shimos run late --cpuset 1 --memory 512M", "shares CPU 1")
    refused(machine, "echo 0 >/sys/devices/system/cpu/cpu1/online", "busy")
    refused(machine, "rmmod shimos_spumone", "in use")
    refused(machine, "shimos rt latency web", "CPUs of its own", "shimos rt")
    # both kinds live beside each other
    assert show(machine)["state"] == show(machine, "ctl")["state"] == "running"
    for name in ("web", "ctl"):
        remove(machine, name)
    before.assert_back()


def test_the_hosts_bells_on_shared_cpus(machine: Machine) -> None:
    """A CPU that is shared stays the host's for other kernels, too: they ring it there."""
    for cpu in ("0", "1"):
        machine.run(rt_command(name=f"ctl{cpu}", cpu=cpu))
    # it learns where the host's bells are now
    start(machine, cpus="2-3")
    # its answers come to the host by bells on CPUs 0 and 1
    machine.run("shimos ping web --count 20", timeout=60)
    for name in ("ctl0", "ctl1", "web"):
        remove(machine, name)


def test_a_host_that_shares_goes_down(fresh_machine: Machine) -> None:
    """It ends the program, takes the layer away and restarts."""
    fresh_machine.run(rt_command())
    assert fresh_machine.run("echo freeze >/sys/power/state", check=False).status
    with pytest.raises(ShellGone) as died:
        fresh_machine.run("reboot -f", timeout=60)
    assert re.search(r"ctl: stopped \(killed\)(.|\n)*reboot: Restarting system", str(died.value)), died.value


@pytest.mark.machine(cpus=1, icount=True)
def test_one_that_never_halts(fresh_machine: Machine) -> None:
    """The host keeps a share of its only CPU, goes on with its work, and can end it.

    Time goes by instructions here: by the computer's clock the emulator may give this CPU its turn
    only when that share is over.
    """
    fresh_machine.run(rt_command("busy-endless", cpu="0"), timeout=120)
    fresh_machine.run("find /usr -xdev -type f | head -100 | xargs cat >/dev/null", timeout=240)
    now = show(fresh_machine, "ctl")
    assert (now["budget_ns"], now["period_ns"]) == (9_500_000, 10_000_000)
    fresh_machine.run("shimos kill ctl && shimos rm ctl", timeout=120)
    fresh_machine.assert_dmesg_clean()


def test_budget(machine: Machine) -> None:
    """A program has its CPU for as long as its user says, and no longer."""
    machine.run(rt_command("busy-endless", more="--budget 20%/5ms"))
    assert "20% of 5 ms" in machine.run("shimos show ctl").output
    ran = [vcpus(machine)["ctl:0"]["ran_ns"]]
    # the table's last column but one: how often it was stopped
    machine.run("until shimos rt | awk '/^ctl:0/ { exit !($(NF - 1) > 200) }'; do sleep 0.1; done")
    now = show(machine, "ctl")
    ran.append(vcpus(machine)["ctl:0"]["ran_ns"])
    assert now["budget_ns"] == 1_000_000
    # each time that it was stopped it had used up a millisecond
    assert ran[1] >= 190_000_000
    assert ran[1] < now["uptime_ns"] * 0.3
    machine.run("shimos rm --force ctl")
    for budget, words in (("96%", "at most 95%"), ("40%/2s", "1 s"), ("40", "%")):
        refused(machine, rt_command(more=f"--budget {budget}"), words)


def test_latency(machine: Machine) -> None:
    """How late a program is the layer knows as well as the program itself, and also after its end."""
    machine.run(rt_command("latency"))
    wait_state(machine, "ctl", "stopped")
    late, lines = lateness(machine, "--histogram /tmp/ctl.svg"), console(machine)
    told = re.findall(r"Min: +(\d+) Act: +\d+ Avg: +(\d+) Max: +(\d+)", "\n".join(lines))[-1]
    least, mean, most = map(int, told)
    timers = vcpus(machine)["ctl:0"]["timers"]
    assert late["count"] == timers == RT_ACTIVATIONS == sum(bucket["count"] for bucket in late["buckets"])
    # the program's own way to the clock comes on top
    cycles = late["cycles"]
    assert 0 < cycles["min"] < least and cycles["mean"] < mean and cycles["max"] < most
    assert cycles["min"] <= cycles["p50"] <= cycles["p90"] <= cycles["p99"] <= cycles["p99.9"] <= cycles["max"]
    assert late["buckets"][-1]["from_cycles"] <= cycles["max"] <= late["buckets"][-1]["to_cycles"]
    assert late["ns"]["max"] == cycles["max"] * 10**9 // late["cycles_per_second"]
    assert late["past"] == vcpus(machine)["ctl:0"]["past"]
    bars = machine.run("grep -c '<rect .* fill=\"#0000FF\"' /tmp/ctl.svg").output
    assert int(bars) == len(late["buckets"])
    lateness(machine, "--histogram /tmp/ctl.png")
    png = base64.b64decode(machine.run("base64 /tmp/ctl.png").output)
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png.endswith(b"IEND\xaeB`\x82"), png
    refused(machine, "shimos rt latency ctl --histogram /tmp/ctl.pdf", "/tmp/ctl.pdf", ".svg or .png", status=2)

    # anew at each start
    machine.run("shimos restart ctl")
    wait_state(machine, "ctl", "stopped")
    assert lateness(machine)["count"] == RT_ACTIVATIONS
    machine.run("shimos rm ctl")
    # while it runs
    machine.run(rt_command())
    machine.run("until shimos rt latency ctl | grep '^ctl'; do sleep 0.1; done")
    before, now, after = vcpus(machine), lateness(machine), vcpus(machine)
    assert before["ctl:0"]["timers"] - 1 <= now["count"] <= after["ctl:0"]["timers"]
    remove(machine, "ctl")
    # one that asks for nothing
    machine.run(rt_command("forbidden-halt", more="--keep"), check=False)
    wait_state(machine, "ctl", "crashed")
    refused(machine, "shimos rt latency ctl", "no interrupt of its timer yet", "it ended before")
    remove(machine, "ctl")


def test_the_program_in_the_documentation(machine: Machine) -> None:
    """It is compiled from there, runs, and ends when it is asked to."""
    machine.run(rt_command("blink"))
    # whoever watches is told of each line
    machine.run("timeout 20 shimos logs --console --follow ctl | grep -m 1 'on, off'", timeout=40)
    machine.run("shimos stop ctl && shimos rm ctl")
