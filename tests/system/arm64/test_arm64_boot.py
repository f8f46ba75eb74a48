"""Machines of arm64: what all other tests there believe must be true."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import progress, template
from lab.machine import Machine
from tests.support.machines import ON_ARM64
from tests.support.tiers import REPETITION, late
from tests.system.test_kernels import check_debian_initrd

pytestmark = late("ways to boot beside the one that all other tests take")

#: How a machine describes itself, by the parameter of Machine.
DESCRIPTIONS = {"ACPI": True, "device tree": False}


@pytest.fixture(scope="module", params=list(DESCRIPTIONS.values()), ids=list(DESCRIPTIONS))
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """Yield a machine of either kind, for all tests of this module."""
    progress.quiet()
    with Machine(**ON_ARM64 | {"acpi": request.param}) as machine:
        yield machine


def test_stock_kernel(machine: Machine) -> None:
    assert machine.run("uname -rm").output.split() == [machine.versions["6.12"], "aarch64"]
    assert machine.versions["6.12"].endswith("-cloud-arm64")
    assert machine.online_cpus() == [0, 1, 2, 3]
    for file in (machine.vmlinuz("6.12"), machine.vmlinuz("6.1"), "/boot/lab-initrd.img"):
        machine.run(f"test -s {file}")


def test_description(machine: Machine) -> None:
    """The kernel uses what the machine was asked to describe itself by, and nothing else."""
    tables = machine.run("test -d /sys/firmware/acpi/tables/", check=False).status == 0
    tree = machine.run("test -e /sys/firmware/devicetree/base/psci", check=False).status == 0
    assert (tables, tree) == (machine.spec.acpi, not machine.spec.acpi)
    assert machine.run("test -d /sys/firmware/efi", check=False).status == (0 if machine.spec.acpi else 1)


def test_interrupt_controller(machine: Machine) -> None:
    """KLoader wants a GICv3 and PSCI."""
    log = machine.dmesg()
    assert "GICv3: CPU3: found redistributor 3" in log
    assert "psci: PSCIv1." in log


def test_programs_run(machine: Machine) -> None:
    """What was cross-built and what was unpacked only."""
    assert machine.run("shimos --version").output.startswith("shimos ")
    machine.run("/usr/lib/shimos-test/wait_for file /etc/passwd")
    machine.run("fio --version; ip -V; id messagebus")


def test_modules_load(machine: Machine) -> None:
    names = ("shimos_ikc", "shimos_backend", "shimos_kloader")
    loaded = {line.split()[0] for line in machine.run("modprobe shimos_backend && lsmod").lines}
    assert loaded >= set(names)
    vermagic = machine.run(f"modinfo -k {machine.versions['6.1']} -F vermagic shimos_agent").output
    assert vermagic.split()[0] == machine.versions["6.1"]
    assert "aarch64" in vermagic
    machine.assert_dmesg_clean()


def test_emulator_tells_where_cpus_are(machine: Machine) -> None:
    states = machine.diagnosis.cpu_states()
    assert len(states) == 4
    assert all("PC=" in where for where, _ in states)
    assert machine.diagnosis.fault() is None


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"acpi": True}, id="ACPI", marks=REPETITION),
        pytest.param({"acpi": False}, id="device tree", marks=REPETITION),
        pytest.param({"kernel": "6.1"}, id="6.1"),
        pytest.param({"icount": True}, id="icount", marks=REPETITION),
        # an emulated machine makes it first
        pytest.param(
            {"debian_initrds": True, "partitions": ["6.12"], "load": True}, id="Debian's initrd", marks=REPETITION
        ),
    ],
)
def test_cold_start(options: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """What boots in this very moment is as what was frozen."""
    monkeypatch.setenv(template.COLD_VARIABLE, "1")
    with Machine(**{"arch": "arm64", "load": False} | options) as machine:
        assert machine.emulator.place.role == "cold"
        assert machine.run("uname -r").output.strip() == machine.versions[machine.flavour]
        if machine.spec.debian_initrds:
            check_debian_initrd(machine)
        machine.assert_dmesg_clean()


@pytest.mark.parametrize(
    ("extra", "level"),
    [pytest.param([], "EL1", marks=REPETITION), (["-machine", "virtualization=on"], "EL2")],
    ids=["as usual", "with virtualization"],
)
def test_exception_level(extra: list[str], level: str) -> None:
    """At EL2 the kernel calls PSCI by SMC, at EL1 by HVC."""
    with Machine(arch="arm64", load=False, extra=extra) as machine:
        assert f"CPU: All CPU(s) started at {level}\n" in machine.dmesg()
        machine.assert_dmesg_clean()
