"""The life of partitions on arm64, where no CPU can be stopped from outside, and what is refused there."""

from __future__ import annotations

import pytest

from lab.machine import Machine
from lab.stage.partitions import Resources, refused, remove, run_command, show, start
from tests.support.machines import ON_ARM64, RT_ON_ARM64
from tests.support.tiers import everything
from tests.system.test_hostile import bad_partition, test_hang_with_interrupts_off
from tests.system.test_life import test_host_cannot_take_a_lent_cpu, test_rounds_of_every_end

#: What must be so on each architecture: these tests are collected here, too.
__all__ = [
    "test_hang_with_interrupts_off",
    "test_host_cannot_take_a_lent_cpu",
    "test_rounds_of_every_end",
]

if everything():
    from tests.system.test_life import test_killed_while_booting  # noqa: F401  # to be collected

pytestmark = pytest.mark.machine(**ON_ARM64)


@pytest.mark.machine.with_args(**ON_ARM64 | {"acpi": False})
def test_host_with_a_device_tree(fresh_machine: Machine) -> None:
    """Partitions end by themselves and by force, and have random numbers from the first; with --all one is Debian's rt kernel."""
    before = Resources(fresh_machine)
    for flavour, end in zip(("6.1", *RT_ON_ARM64), ("stop", "kill"), strict=False):
        start(fresh_machine, flavour=flavour)
        shell = fresh_machine.partition("web")
        assert shell.run("uname -rm").output.split() == [fresh_machine.versions[flavour], "aarch64"]
        assert ("PREEMPT_RT" in shell.run("uname -v").output) == (flavour == "6.12-rt")
        assert "[    0.000000] random: crng init done" in shell.run("dmesg").output
        shell.close()
        fresh_machine.run(f"shimos {end} web && shimos restart web", timeout=120)
        remove(fresh_machine)
    before.assert_back()
    fresh_machine.assert_dmesg_clean()


def test_one_that_cannot_be_stopped(fresh_machine: Machine) -> None:
    """It hides its code, and hangs in a module: said, kept, and nothing of it is given to anybody."""
    machine = fresh_machine
    console = bad_partition(machine)
    console.run("insmod /shimos_test.ko do=hide && rmmod shimos_test")
    console.send(b"insmod /shimos_test.ko do=hang\n")
    console.close()
    refused(machine, "shimos kill web", "stuck", "may still write", "restart the machine")
    assert show(machine)["state"] == "stuck"
    refused(machine, "shimos restart web", "stuck")
    refused(machine, "shimos rm --force web", "stuck")
    assert machine.online_cpus() == [0, 1]
    # and nobody else is the worse for it
    start(machine, "other", cpus="1", memory="256M")
    machine.run("shimos ping -c 3 -i 0 other")
    remove(machine, "other")


#: What is asked for that is not on arm64, by the options of `shimos run`: what the refusal must say.
REFUSED = {
    "--guarded": ("guarded", "arm64"),
    "--pci 0000:00:01.0": ("arm64", "share"),
    "--cmdline acpi=off": ("acpi", "device tree"),
    "--cmdline panic=5": ("panic",),
}


@pytest.mark.parametrize(("options", "words"), REFUSED.items(), ids=REFUSED)
def test_what_arm64_cannot_do(machine: Machine, options: str, words: tuple[str, ...]) -> None:
    refused(machine, run_command(machine, more=options), *words)


#: By what is done to a good kernel, what the refusal must say.
KERNELS = {
    "truncated": ("head -c 3000000 {good}", ("truncated",)),
    "a bzImage": (
        r"head -c 510 /dev/zero; printf '\125\252\0\0HdrS'; head -c 100000 /dev/zero",
        ("this is an x86-64 kernel", "not an arm64 kernel"),
    ),
    "text": ("echo no kernel at all", ("kernel",)),
    "empty": (":", ("empty",)),
    "ELF": ("cat /bin/true", ("ELF",)),
    # its header says that it needs 1 TiB
    "larger than its memory": (
        r"head -c 16 {good}; printf '\0\0\0\0\0\1\0\0'; tail -c +25 {good}",
        ("memory",),
    ),
    "compressed nonsense": ("gzip -c /etc/passwd", ("kernel",)),
}


@pytest.mark.parametrize("kind", KERNELS)
def test_kernel_files(machine: Machine, kind: str) -> None:
    """A file that is no kernel of this architecture's is refused, and nothing is taken."""
    how, words = KERNELS[kind]
    machine.run(f"({how.format(good=machine.vmlinuz('6.1'))}) >/tmp/bad")
    refused(machine, run_command(machine, more="--kernel /tmp/bad"), *words)
    assert machine.online_cpus() == [0, 1, 2, 3]


def test_programs_in_kernel_mode(machine: Machine) -> None:
    refused(machine, "shimos trust run /bin/true", "x86-64 only", status=125)


def test_shared_cpus(machine: Machine) -> None:
    refused(machine, "shimos run ctl --share-cpus 1 --memory 8M --kernel /bin/true", "--share-cpus", "x86-64 only")
