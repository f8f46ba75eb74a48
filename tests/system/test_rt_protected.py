"""Real-time partitions whose memory the host cannot touch while they run, as a user has them."""

from __future__ import annotations

import pytest

from lab.machine import Machine
from lab.stage.partitions import Resources, refused, show, start
from lab.stage.rt import rt_command, vcpus
from tests.system.test_rt import IMAGES
from tests.system.test_rt_partitions import console

pytestmark = pytest.mark.machine(one_thread=True)


def test_life(machine: Machine) -> None:
    """A user has it like any other; what reads its memory has to wait for its end."""
    before = Resources(machine)
    assert "protected" in machine.run(rt_command(more="--protected")).output
    machine.run("until shimos logs --console ctl | grep -q '^T: 0'; do sleep 0.1; done")
    now = show(machine, "ctl")
    assert (now["state"], now["protected"], now["faults"]) == ("running", True, 0)
    assert "yes" in machine.run("shimos show ctl | grep protected:").output
    refused(machine, "shimos dump ctl --output /tmp/dump", "memory is protected", "stop or kill it first")
    machine.run("shimos stop ctl")
    assert console(machine)[-1].startswith("# Strays:")
    machine.run("shimos dump ctl --output /tmp/dump && rm /tmp/dump")
    # its kept image was out of reach, and is as it was
    machine.run("shimos restart ctl")
    assert show(machine, "ctl")["starts"] == 2
    # another beside it, and a CPU that is taken away meanwhile
    machine.run(rt_command(name="other", cpu="2", image="blink"))
    start(machine, cpus="3")
    machine.run("shimos kill ctl && shimos restart ctl && shimos rm --force web other")
    # it works: the seventh word is how often it got the CPU
    machine.run("until shimos rt | awk '/^ctl:0/ { exit !($7 > 100) }'; do sleep 0.1; done")
    # one that touches what is not its own ends as ever
    machine.run("shimos rm --force ctl")
    refused(machine, rt_command("forbidden-null", more="--protected"), "it touched address 0x0")
    assert vcpus(machine) == {}
    before.assert_back()
    machine.assert_dmesg_clean()


def test_refusals(machine: Machine) -> None:
    """What is wrong, and what to do."""
    before = Resources(machine)
    refused(machine, "shimos run web --memory 512M --cpuset 2 --protected", "--protected", "--cpus")
    refused(machine, "shimos run web --memory 512M --protected", "--protected means nothing to a Linux")
    machine.run('printf \'cpuset="2"\\nmemory="512M"\\nprotected=true\\n\' >/tmp/web.toml')
    refused(machine, "shimos run web --file /tmp/web.toml", "protected in /tmp/web.toml means nothing to a Linux")
    # from a file
    machine.run('printf \'share_cpus="1"\\nmemory="8M"\\nprotected=true\\n\' >/tmp/ctl.toml')
    machine.run(f"shimos run ctl --file /tmp/ctl.toml --kernel {IMAGES}/latency-endless.elf")
    assert show(machine, "ctl")["protected"]
    machine.run("shimos rm --force ctl")
    before.assert_back()
