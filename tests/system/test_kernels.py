"""Which kernels run beside which, and how they may be packed."""

from __future__ import annotations

import re

import pytest

from lab.machine import Machine
from lab.stage.partitions import Resources, refused, remove, run_command, show, start
from tests.support.tiers import REPETITION, late


def check_partition(machine: Machine, flavour: str, more: str = "") -> None:
    start(machine, "k", flavour, more=more, packed=True)
    console = machine.partition("k")
    assert console.run("uname -r").output.strip() == machine.versions[flavour]
    assert console.run("nproc").output.strip() == "2"
    console.close()
    machine.run("shimos ping -c 10 -i 0 k")
    remove(machine, "k")


@pytest.mark.parametrize(
    ("host", "flavours"),
    [
        ("6.1", ("6.1", "6.12")),
        pytest.param("6.12", ("6.1", "6.12"), marks=REPETITION),
        pytest.param("6.12", ("7.3",), marks=REPETITION),
        pytest.param("7.3", ("6.12", "7.3"), marks=REPETITION),
        # what the security archives have
        pytest.param("6.12-security", ("6.1-security", "6.12-security"), marks=REPETITION),
        # what Debian 12 has from its backports, and what the next release is made from
        pytest.param("6.12-bookworm", ("6.1", "6.12-bookworm"), marks=REPETITION),
        pytest.param("sid", ("6.12-bookworm", "sid"), marks=REPETITION),
    ],
)
def test_host_with_partitions(host: str, flavours: tuple[str, ...]) -> None:
    """Host 6.1 with 6.12 and the reverse, each with its own version, and the newest one likewise."""
    with Machine(kernel=host, partitions=flavours) as machine:
        before = Resources(machine)
        for flavour in flavours:
            check_partition(machine, flavour)
        before.assert_back()
        machine.assert_dmesg_clean()


@late("one more kernel, built for this test alone")
@pytest.mark.parametrize("flavour", [pytest.param("6.1-rt", marks=REPETITION), "6.12-rt"])
def test_realtime_partition(flavour: str) -> None:
    """Debian's rt kernels as partitions of an ordinary host."""
    with Machine(partitions=(flavour,)) as machine:
        start(machine, "rt", flavour, packed=True)
        console = machine.partition("rt")
        assert "PREEMPT_RT" in console.run("uname -v").output
        assert console.run("cat /sys/kernel/realtime").output.strip() == "1"
        console.close()
        remove(machine, "rt")
        machine.assert_dmesg_clean()


def test_debian_initrd(machine: Machine) -> None:
    """Debian's own initramfs gets the agent too, and comes to its shell."""
    check_debian_initrd(machine)


def check_debian_initrd(machine: Machine) -> None:
    more = f"--initrd {machine.debian_initrd('6.12')} --cmdline 'break=top'"
    start(machine, "deb", "6.12", memory="1G", more=more, packed=True)
    assert show(machine, "deb")["state"] == "running"
    console = machine.shell(5)
    console.send(b"shimos console deb\n")
    console.expect(rb"\(initramfs\)", timeout=60)
    console.send(b"cat /proc/version\r")
    console.expect(re.escape(machine.versions["6.12"]).encode(), timeout=30)
    console.send(b"\x1d")
    console.expect(b"disconnected")
    console.run("true")
    remove(machine, "deb")


def test_elf_kernel(machine: Machine) -> None:
    """An uncompressed vmlinux, which the lab takes out of the stock bzImage."""
    start(machine, "elf", "6.12", more=f"--kernel {machine.vmlinux('6.12')}")
    console = machine.partition("elf")
    assert console.run("uname -r").output.strip() == machine.versions["6.12"]
    console.close()
    machine.run("shimos restart --force elf", timeout=60)
    remove(machine, "elf")


def test_several_ranges(fresh_machine: Machine) -> None:
    """A host whose memory is in pieces gives several ranges."""
    # Pinned pages every 192 MiB leave no range larger than that.
    fresh_machine.run("insmod /usr/lib/shimos-test/$(uname -r)/shimos_fragment.ko step_mb=192")
    start(fresh_machine, "frag", "6.1", memory="512M", packed=True)
    status = show(fresh_machine, "frag")
    assert len(status["ranges"]) > 1
    assert sum(r["size"] for r in status["ranges"]) == 512 << 20
    console = fresh_machine.partition("frag")
    total = int(console.run("awk '/MemTotal/ {print $2}' /proc/meminfo").output)
    assert total > 380 << 10
    console.close()
    remove(fresh_machine, "frag")
    fresh_machine.run("rmmod shimos_fragment")
    # No range of 64 MiB anywhere: refused, and nothing is kept.
    before = Resources(fresh_machine)
    fresh_machine.run("insmod /usr/lib/shimos-test/$(uname -r)/shimos_fragment.ko step_mb=16")
    refused(fresh_machine, run_command(fresh_machine, "frag", memory="512M", packed=True), "fragmented")
    fresh_machine.run("rmmod shimos_fragment")
    before.assert_back()
    fresh_machine.assert_dmesg_clean()
