"""Packets, blocks, pages and doorbells between stock arm64 kernels."""

from __future__ import annotations

import re

import pytest

from lab.machine import Machine
from lab.stage.partitions import Resources, refused, remove, show, start
from lab.stage.traffic import Kernel, area, assert_correct, ikc, kernels, send_all
from tests.support.machines import ON_ARM64
from tests.support.tiers import REPETITION, rare, rounds

pytestmark = pytest.mark.machine(**ON_ARM64)

#: Packets from each kernel to each other.
PACKETS = rounds(1_000_000, 20_000)
#: SGIs, which the emulator's first GICv3 gives to anybody.
CONTROL, QUEUES = 8, 9


def bells(kernel: Kernel) -> dict[str, tuple[int, list[int]]]:
    """Return its doorbells by name: the SGI, and how often each CPU that is online has heard it."""
    found = {}
    for line in kernel.shell.run("grep shimos- /proc/interrupts").output.splitlines():
        match = re.fullmatch(r"\s*\d+:((?:\s+\d+)+)\s+GICv3\s+(\d+) Edge\s+shimos-(\w+)\s*", line)
        assert match, line
        found[match[3]] = int(match[2]), [int(count) for count in match[1].split()]
    return found


def test_traffic(machine: Machine) -> None:
    """Three kernels, all to all at once: packets, blocks that change hands, pages; all of it checked."""
    before = Resources(machine)
    used = area(machine)["used"]
    with kernels(machine) as found:
        sent = 0
        for kind, count in (("plain", PACKETS), ("shared", PACKETS // 10), ("page", PACKETS // 100)):
            send_all(found, count, kind)
            sent += count
            assert_correct(found, sent)
        queues = [q for q in ikc(machine)["queues"] if q["queue"] == 1]
        assert len(queues) == 6 and not any(q["broken"] for q in queues)
        assert all(q["packets"] >= sent for q in queues)
        # A ping each way: both must be woken.
        machine.run("shimos ping -c 10 -i 0 web && shimos ping -c 10 -i 0 db")
    assert area(machine)["used"] == used, "the dead kernels' blocks came back"
    before.assert_back()
    machine.assert_dmesg_clean()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"acpi": False}, id="device tree"),
        pytest.param({"kernel": "6.1"}, id="older host", marks=REPETITION),
        # Calls of the firmware go another way then, and so does the host's first step.
        pytest.param({"extra": ["-machine", "virtualization=on"]}, id="EL2", marks=REPETITION),
    ],
)
def test_other_hosts(options: dict[str, object]) -> None:
    """However the machine tells of its interrupt controller, and on the older kernel."""
    partitions = (("web", "6.12" if "kernel" in options else "6.1", "2-3"),)
    with Machine(**ON_ARM64 | options) as machine, kernels(machine, partitions) as found:
        for kind in ("plain", "shared", "page"):
            send_all(found, 500, kind)
        assert_correct(found, 1_500)
        for kernel in found:
            heard = bells(kernel)
            assert heard["control"][0] == CONTROL and heard["ikc"][0] == QUEUES, heard
            assert sum(heard["ikc"][1]) > 0, heard
        machine.run("shimos ping -c 10 -i 0 web")
        machine.assert_dmesg_clean()


#: As if the firmware kept the interrupts that Linux does not use.
SPARE = "shimos_ikc.own_sgis=0"


@pytest.mark.parametrize(
    "spare",
    [
        pytest.param(("host", "older"), id="host and an older kernel"),
        pytest.param(("newer",), id="one of two partitions", marks=REPETITION),
    ],
)
def test_firmware_keeps_interrupts(spare: tuple[str, ...]) -> None:
    """Then a kernel is rung by the last of Linux's own, which kernels have for a debugger or for nothing."""
    chosen = {name: SPARE if name in spare else "" for name in ("host", "older", "newer")}
    partitions = (("older", "6.1", "2-3"), ("newer", "6.12", "1"))
    with (
        Machine(arch="arm64", cmdline=chosen.pop("host")) as machine,
        kernels(machine, partitions, cmdlines=chosen) as found,
    ):
        send_all(found, 2_000, "plain")
        assert_correct(found, 2_000)
        for kernel in found:
            shown = kernel.shell.run("grep shimos- /proc/interrupts", check=False).output
            # a newer kernel has the debugger's, so what listens is no action of ours
            wants = [] if kernel.name in ("host", "newer") else ["shimos-spare"]
            wants = wants if kernel.name in spare else ["shimos-control", "shimos-ikc"]
            bells_shown = [name for name in re.findall(r"shimos-\w+", shown) if name != "shimos-stop"]
            assert bells_shown == wants, (kernel.name, shown)
        machine.run("shimos ping -c 20 -i 0 older && shimos ping -c 20 -i 0 newer")
        # Bells leave with their CPU, and the control bell is one of them.
        found[1].shell.run("echo 0 >/sys/devices/system/cpu/cpu1/online")
        send_all(found, 100, "plain")
        found[1].shell.run("echo 1 >/sys/devices/system/cpu/cpu1/online")
        send_all(found, 100, "plain")
        machine.release_consoles()
        machine.run("shimos stop older && shimos stop newer", timeout=120)
        assert [show(machine, name)["state"] for name in ("older", "newer")] == ["stopped"] * 2
        machine.assert_dmesg_clean()


def test_bells_follow_their_cpus(machine: Machine) -> None:
    """CPUs of receivers go offline and come back under traffic; no wake-up is lost, and bells come home."""
    with kernels(machine, (("web", "6.1", "2-3"),)) as found:
        host, web = found
        assert len(bells(web)["ikc"][1]) == 2
        count, times = rounds(120_000, 30_000), rounds(8, 3)
        host.command(f"send 1 {count} plain")
        web.command(f"send 0 {count} plain")
        toggle = (
            f"for i in $(seq {times}); do for v in 0 1; do echo $v >/sys/devices/system/cpu/cpu{{}}/online; done; done"
        )
        web.shell.run(toggle.format(1), timeout=120)
        web.shell.run(toggle.format(0), timeout=120)
        machine.run(toggle.format(1), timeout=120)
        host.command(f"until 1 {count}")
        web.command(f"until 0 {count}")
        assert_correct(found, count)

        # Queue 1's bell is the second CPU's: there, elsewhere while that is away, and there again.
        def rung(partition_cpu: int) -> int:
            before = bells(web)["ikc"][1]
            send_all(found, 100, "plain")
            after = bells(web)["ikc"][1]
            return after[partition_cpu] - before[partition_cpu]

        assert rung(1) > 0
        web.shell.run("echo 0 >/sys/devices/system/cpu/cpu1/online")
        assert rung(0) > 0
        web.shell.run("echo 1 >/sys/devices/system/cpu/cpu1/online")
        assert rung(1) > 0
        # The control bell as well: the host hears of the end, whichever CPU is left to hear it.
        machine.run("echo 0 >/sys/devices/system/cpu/cpu1/online && echo 1 >/sys/devices/system/cpu/cpu1/online")
        machine.run("shimos stop web", timeout=120)
        assert show(machine)["state"] == "stopped"
    machine.assert_dmesg_clean()


def test_a_dead_peer(machine: Machine) -> None:
    """A kernel that is killed in traffic: an error at once, and everybody else goes on."""
    with kernels(machine) as found:
        host, web, db = found
        used = area(machine)["used"]
        web.command("hoard 20 65536")
        for kernel in (host, db):
            kernel.command(f"send 1 {10 * PACKETS} shared 100")
        machine.partition("web").close()
        machine.run("shimos kill web", timeout=120)
        for kernel in (host, db):
            kernel.command("sent", timeout=60)
            assert kernel.results()["error.1"] < 0
        assert area(machine)["used"] < used + 20 * 65536
        refused(machine, "shimos ping -c 1 web", "down")
        send_all([host, db], 1_000, "plain")
    machine.assert_dmesg_clean()


#: The emulator names CPUs in groups of sixteen, as large machines do.
GROUP = 16


@pytest.mark.machine(arch="arm64", cpus=GROUP + 2, memory="3G")
@rare("few machines have such ids")
def test_long_hardware_ids(fresh_machine: Machine) -> None:
    """CPUs whose MPIDR has more than eight bits are named in full, rung, and given back."""
    start(fresh_machine, "web", cpus=f"{GROUP}-{GROUP + 1}")
    web = Kernel("web", 1, fresh_machine.partition("web"))
    assert "0x0000000101" in web.shell.run("dmesg | grep 'Booted secondary'").output
    fresh_machine.run("shimos ping -c 20 -i 0 web", timeout=120)
    assert sum(bells(web)["ikc"][1]) > 0
    fresh_machine.release_consoles()
    remove(fresh_machine)
    assert fresh_machine.online_cpus() == list(range(GROUP + 2))
    fresh_machine.assert_dmesg_clean()
