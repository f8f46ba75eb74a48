"""Machines with several nodes: where a partition's CPUs and memory come from, and what it is told."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from lab.machine import Machine
from lab.stage.partitions import refused, remove, run_command, show, start
from tests.support.tiers import REPETITION, late

pytestmark = late("where memory and CPUs come from; that they come all other tests say")

#: Two CPUs and 2 GiB each.
_NODES = [
    *("-smp", "4,sockets=2,cores=2,threads=1"),
    *("-object", "memory-backend-ram,id=node0,size=2G,share=on", "-numa", "node,nodeid=0,cpus=0-1,memdev=node0"),
    *("-object", "memory-backend-ram,id=node1,size=2G,share=on", "-numa", "node,nodeid=1,cpus=2-3,memdev=node1"),
    *("-numa", "dist,src=0,dst=1,val=31"),
]


class _TwoNodes(Machine):
    """Its memory is two objects, and a template has one."""

    TEMPLATES = False


@pytest.fixture(scope="module")
def make_machine() -> Callable[[], Machine]:
    """Return how a machine of two nodes is started."""
    return lambda: _TwoNodes(extra=_NODES, partitions=["6.1"]).start()


def nodes_of_memory(machine: Machine, name: str = "web") -> set[int]:
    """Return the nodes that a partition's memory is in."""
    size = int(machine.run("cat /sys/devices/system/memory/block_size_bytes").output, 16)
    ranges = show(machine, name)["ranges"]
    ends = [place for r in ranges for place in (r["start"], r["start"] + r["size"] - 1)]
    found = [machine.run(f"basename /sys/devices/system/memory/memory{end // size}/node*").output for end in ends]
    return {int(node.removeprefix("node")) for node in found}


def free_mib(machine: Machine, node: int) -> int:
    text = machine.run(f"grep MemFree /sys/devices/system/node/node{node}/meminfo").output
    return int(text.split()[3]) >> 10


def test_memory_near_its_cpus(machine: Machine) -> None:
    """A partition's memory is in its CPUs' node."""
    for cpus, node in (("2-3", 1), ("1", 0)):
        start(machine, cpus=cpus)
        assert nodes_of_memory(machine) == {node}
        remove(machine)
    # --cpus: the last ones, unless their node has no room for the memory
    start(machine, cpus=1, memory="1G")
    assert show(machine)["cpus"] == [3]
    # what web did not find there in large pieces is in the other one, so that more than half may be free
    start(machine, "db", cpus=1, memory=f"{free_mib(machine, 1) + 32}M")
    assert show(machine, "db")["cpus"] == [1]
    remove(machine, "web db")
    machine.assert_dmesg_clean()


def test_a_node_that_was_named(machine: Machine) -> None:
    """CPUs and memory are that node's, and never another one's."""
    start(machine, cpus=1, more="--node 0")
    assert show(machine)["cpus"] == [1]
    assert nodes_of_memory(machine) == {0}
    remove(machine)
    # the host keeps CPU 0
    refused(machine, run_command(machine, cpus=2, more="--node 0"), "2 CPUs of node 0", "has 1 to spare, CPU 1")
    refused(machine, run_command(machine, cpus="1-2", more="--node 1"), "CPU 1 is in node 0", "node 1 has CPUs 2-3")
    refused(machine, run_command(machine, cpus=1, more="--node 2"), "there is no node 2", "nodes 0-1")
    # there is as much in both nodes together
    much = f"{free_mib(machine, 1) + 64}M"
    refused(machine, run_command(machine, memory=much, more="--node 1"), "node 1 has no more than", "take less")
    assert machine.run("cat /sys/devices/system/cpu/online").output.strip() == "0-3"
    start(machine, memory=much)
    assert nodes_of_memory(machine) == {0, 1}
    remove(machine)
    refused(machine, "shimos run ctl --share-cpus 1 --memory 8M --node 1", "--node", status=2)
    machine.assert_dmesg_clean()


@pytest.mark.parametrize("flavour", [pytest.param("6.12", marks=REPETITION), "6.1"])
def test_across_nodes(machine: Machine, flavour: str) -> None:
    """A partition with CPUs and memory of two nodes knows which are near, and how far the others are."""
    memory = max(free_mib(machine, node) for node in (0, 1)) + 64
    start(machine, flavour=flavour, cpus="1-3", memory=f"{memory}M")
    console = machine.partition("web")

    def told(path: str) -> str:
        return console.run(f"cat /sys/devices/system/node/{path}").output.strip()

    # its first CPU is the host's CPU 1
    assert told("online") == "0-1"
    assert [told(f"node{node}/cpulist") for node in (0, 1)] == ["0", "1-2"]
    assert [told(f"node{node}/distance") for node in (0, 1)] == ["10 31", "31 10"]
    sizes = [int(re.search(r"MemTotal: +(\d+)", told(f"node{node}/meminfo"))[1]) >> 10 for node in (0, 1)]  # type: ignore[index]
    assert min(sizes) > 32 and 0.9 * memory < sum(sizes) <= memory, sizes
    console.close()
    remove(machine)
    # one that is in a single node is not bothered with it
    start(machine, flavour=flavour)
    log = machine.run("shimos logs web").output
    assert "Linux version" in log and "SRAT" not in log
    remove(machine)
    machine.assert_dmesg_clean()
