"""What must hold when something does not do its part: CPUs that do not stop, doorbells that are lost.

Each is a defect of the product's own (tests/support/mutants.py), made where the hardware or another
kernel would have failed.
"""

from __future__ import annotations

import pytest

from lab import faults
from lab.machine import Machine
from lab.stage.partitions import Resources, refused, remove, run_command, show, start, wait_state
from tests.support import mutants
from tests.support.mutants import Mutation
from tests.support.tiers import late, rare
from tests.system import test_owner

#: CPUs take no INIT while the parameter is set, as in VMX operation.
DEAF = Mutation(
    "kernel/kloader/arch/x86/cpu.c",
    "static void x86_cpu_send_init(u32 apic_id)\n{\n",
    "#include <linux/module.h>\nstatic bool deaf;\nmodule_param(deaf, bool, 0644);\n"
    "static void x86_cpu_send_init(u32 apic_id)\n{\n\tif (deaf)\n\t\treturn;\n",
)
_DEAF = "/sys/module/shimos_kloader/parameters/deaf"
#: The agent's doorbell to the host is lost each time.
MUTE = Mutation(
    "kernel/agent/shared.c", "void agent_ring_host(void)\n{\n", "void agent_ring_host(void)\n{\n\treturn;\n"
)
#: The agent cannot do all that it must.
FAILING = Mutation("kernel/agent/main.c", "\tret = ikc_bell_open(&agent_bell);\n", "\tret = -EIO;\n")


def console_output(machine: Machine, name: str) -> str:
    """Return a sum of what the partition's console has kept."""
    return machine.run(f"timeout 20 shimos console {name} --read-only </dev/null | md5sum").output


@pytest.mark.machine(partitions=["6.1"])
@rare("the next test has such a partition, too")
def test_cpus_that_do_not_stop(fresh_machine: Machine) -> None:
    """Said, kept and shown as stuck; its agent has stopped it by an NMI; killed again when it can be."""
    machine = fresh_machine
    mutants.install(machine, machine.flavour, DEAF)
    before = Resources(machine)
    start(machine)
    machine.partition("web").send(b"while :; do echo still here; done\n")
    machine.release_consoles()
    machine.run(f"echo 1 >{_DEAF}")
    refused(machine, "shimos kill web", "stuck", "may still write", "restart the machine")
    assert show(machine)["state"] == "stuck"
    assert "stuck" in machine.run("shimos ls").output
    assert "does not answer INIT: sending it an NMI" in machine.dmesg()
    # Its CPUs ran on, but for the agent.
    assert console_output(machine, "web") == console_output(machine, "web")
    refused(machine, "shimos restart web", "stuck", "kill it again")
    refused(machine, "shimos rm web", "stuck")
    refused(machine, "shimos rm --force web", "stuck")
    assert "stuck" in machine.run("shimos ikc --json; shimos ls").output
    assert machine.online_cpus() == [0, 1]
    machine.run(f"echo 0 >{_DEAF}")
    machine.run("shimos kill web")
    assert show(machine)["state"] == "stopped"
    machine.run("shimos restart web", timeout=60)
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


@late("long, and one of many faults")
@pytest.mark.machine(partitions=["6.1"])
def test_owner_that_does_not_stop(fresh_machine: Machine) -> None:
    """What may still write to its users' memory is given nothing back, and nothing is failed, until it stands still."""
    machine = fresh_machine
    mutants.install(machine, machine.flavour, DEAF)
    machine.run("modprobe shimos_virtio && modprobe virtio_blk")
    initrd = test_owner.owner_initrd(machine, "6.1")
    before = Resources(machine)
    web = test_owner.start_kernel(machine, "web", "3", initrd)
    test_owner.make_owner(web)
    web.run("shimos attach host --disk /dev/ram0")
    disk = test_owner.host_disk(machine)
    test_owner.load_until_failure(machine, disk)
    machine.run(f"echo 1 >{_DEAF}")
    refused(machine, "shimos kill web", "stuck")
    machine.run("until dmesg | grep -q 'may still write to this kernel'; do sleep 0.1; done")
    assert "done" not in machine.run("cat /tmp/load").output, "requests have ended, though their pages may be written"
    assert test_owner.host_disks(machine) == [disk]
    machine.run(f"echo 0 >{_DEAF}")
    machine.run("shimos kill web")
    test_owner.load_ended(machine)
    machine.run(f"while [ -e /sys/block/{disk} ]; do sleep 0.1; done")
    machine.release_consoles()
    remove(machine)
    machine.run("rmmod shimos_virtio")
    before.assert_back()
    machine.assert_dmesg_clean()


@pytest.mark.machine(partitions=["6.1"])
@rare("needs modules of its own")
def test_lost_doorbells(fresh_machine: Machine) -> None:
    """No doorbell of the agent arrives: the host sees readiness and end all the same."""
    machine = fresh_machine
    mutants.install(machine, "6.1", MUTE)
    machine.run(run_command(machine), timeout=60)
    assert show(machine)["state"] == "running"
    machine.partition("web").send(b"poweroff -f\n")
    wait_state(machine, "web", "stopped")
    machine.release_consoles()
    assert show(machine)["cause"] == "poweroff"
    remove(machine)
    machine.assert_dmesg_clean()


@late("long, and one of many faults")
@pytest.mark.machine(partitions=["6.1"])
def test_agent_that_fails(fresh_machine: Machine) -> None:
    """It says so, and leaves nothing behind that its kernel would call at its end."""
    machine = fresh_machine
    before = Resources(machine)
    mutants.install(machine, "6.1", FAILING)
    refused(machine, run_command(machine, more="--keep --timeout 15"), "web")
    log = machine.run("shimos logs web").output
    assert "the agent cannot contain this kernel (error -5)" in log
    # Its first program ends without the agent, which is a panic of its own and no other.
    bad = [line for line in faults.unclean(log) if "Attempted to kill init" not in line and "Call Trace" not in line]
    assert not bad, "\n".join(bad)
    assert "unable to handle" not in log
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()


@pytest.mark.machine(partitions=["6.1"])
def test_machine_check_while_cpus_are_parked(fresh_machine: Machine) -> None:
    """A machine check that all CPUs get does not shut those of a stopped partition down, and the machine with it."""
    machine = fresh_machine
    start(machine)
    machine.run("shimos kill web")
    boot = machine.boot_id()
    # Corrected by nobody, wanted by nobody: valid, uncorrected, not precise, with MCIP and RIPV; on each CPU.
    for cpu in (2, 3):
        said = machine.emulator.qmp(
            "human-monitor-command", **{"command-line": f"mce {cpu} 9 0xbd000000000000c0 0x5 0 0x8c"}
        )
        assert not said, said
    machine.run("shimos restart web", timeout=60)
    assert machine.partition("web").run("nproc").output.strip() == "2"
    assert machine.boot_id() == boot
    machine.release_consoles()
    remove(machine)
    machine.assert_dmesg_clean()


def test_unstable_clock() -> None:
    """A host whose time stamp counter cannot be relied on is told so, and what to do."""
    with Machine(cmdline="tsc=unstable", partitions=["6.1"]) as machine:
        refused(machine, run_command(machine), "time stamp counter", "tsc=reliable", "/etc/default/grub")
        assert machine.online_cpus() == [0, 1, 2, 3]
