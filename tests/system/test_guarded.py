"""Guarded partitions: their kernels reach nothing but what is theirs."""

from __future__ import annotations

import pytest

from lab.machine import Machine
from lab.stage.partitions import Resources, remove, show, start

pytestmark = pytest.mark.machine(one_thread=True)


def test_spike(fresh_machine: Machine) -> None:
    machine = fresh_machine
    before = Resources(machine)
    machine.run("dmesg -n 8")
    result = start(machine, flavour="6.12", cpus="2", more="--guarded")
    print(result.output, machine.run("shimos show web").output)
    web = machine.partition("web")
    print(web.run("uname -a; nproc; date; cat /proc/meminfo | head -3; dmesg | tail -300").output)
    web.close()
    machine.run("shimos stop web", timeout=60)
    print(machine.run("shimos show web").output)
    machine.run("shimos restart web", timeout=60)
    machine.run("shimos kill web", timeout=60)
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()
