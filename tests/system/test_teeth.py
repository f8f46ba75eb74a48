"""Tests that can fail: each is run on a product with a defect at the place that it is about.

``lab/enter env SHIMOS_BLUNT=1 python3 -m pytest tests/system/test_teeth.py`` leaves the defects
out.  Then every test here must fail, which shows that the defects are what the tests see.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from lab.machine import Machine
from lab.spec import X2APIC
from lab.stage import kml_load
from tests.support import mutants
from tests.support.mutants import Mutation
from tests.support.tiers import REPETITION
from tests.system import (
    test_device_hostile,
    test_device_unwanted,
    test_disk_faults,
    test_disks,
    test_errors,
    test_guarded,
    test_hostile,
    test_ikc_user,
    test_ioctl,
    test_kml_stress,
    test_owner,
    test_tool,
    test_x2apic,
)


@dataclass(frozen=True)
class Tooth:
    """A test, what is broken before, and a pattern of what the test then says."""

    test: Callable[[Machine], None]
    spoil: Callable[[Machine], None]
    says: str


def mutation(file: str, old: str, new: str, *flavours: str) -> Callable[[Machine], None]:
    """Return a defect of modules, for the host's kernel unless flavours are given."""

    def spoil(machine: Machine) -> None:
        for flavour in flavours or (machine.flavour,):
            mutants.install(machine, flavour, Mutation(file, old, new))

    return spoil


def command(text: str) -> Callable[[Machine], None]:
    """Return a defect that a command of the machine makes."""

    def spoil(machine: Machine) -> None:
        machine.run(text)

    return spoil


def wrapped(script: str) -> Callable[[Machine], None]:
    """Return a defect of the tool: a script in its place, which may call the real one."""

    def spoil(machine: Machine) -> None:
        machine.run("mv /usr/bin/shimos /usr/bin/shimos.real")
        machine.put("/usr/bin/shimos", f"#!/bin/sh\n{script}\n".encode(), 0o755)

    return spoil


def hostile(test: Callable[..., None], *args: Any) -> Callable[[Machine], None]:
    """Return a test of test_device_hostile.py, with its stage."""

    def run(machine: Machine) -> None:
        stage = test_device_hostile.Stage(machine)
        stage.start_all()
        test(stage, *args)

    return run


def one_death(machine: Machine) -> None:
    """Run test_owner_ends_in_io with one end of the owner."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_owner, "DEATHS", 1)
        test_owner.test_owner_ends_in_io(machine)


_HOSTILE = "tests/modules/hostile_user/load.c"
_FAIL = "\tsmp_store_mb(d->dead, true);"
_SLEEP = "\t{ extern void msleep(unsigned int msecs); msleep(15000); }\n"


#: What ./test shows each time: a defect of the product and one of a test. The others take minutes.
_ALWAYS = ("unknown-cause-believed", "ioctl-fuzzer-missing")


def tooth(
    name: str, test: Callable[[Machine], None], spoil: Callable[[Machine], None], says: str, **options: Any
) -> Any:
    """Return a row of the table; the options are the machine's."""
    marks = [pytest.mark.machine(**options), *([] if name in _ALWAYS else [REPETITION])]
    return pytest.param(Tooth(test, spoil, says), id=name, marks=marks)


TEETH = [
    tooth(
        "unknown-cause-believed",
        test_hostile.test_unknown_cause,
        mutation("kernel/kloader/kind_linux.c", "return cause < SHIMOS_CAUSE_KILLED ?", "return true ?"),
        "the unknown cause was taken.*'cause': 'unknown'",
        partitions=["6.1"],
    ),
    tooth(
        "nothing-scribbled",
        test_hostile.test_scribbled_shared_area,
        mutation("tests/modules/shimos_test.c", "\t\tscribble();", "\t\treturn 0;", "6.1"),
        "nothing was scribbled",
        partitions=["6.1"],
    ),
    tooth(
        "ioctl-fuzzer-missing",
        test_ioctl.test_nonsense_beside_a_partition,
        command(f"rm {test_ioctl.FUZZ}"),
        "exit status 127: .*ioctl_fuzz",
        partitions=["6.1"],
    ),
    tooth(
        "ioctl-fuzzer-does-nothing",
        test_ioctl.test_nonsense_beside_a_partition,
        command(f"printf '#!/bin/sh\\necho 3000 random calls, 0 failures\\n' >{test_ioctl.FUZZ}"),
        "no call met the partition",
        partitions=["6.1"],
    ),
    tooth(
        "fuzzing-ends-at-once",
        hostile(test_device_hostile.test_killed_while_fuzzing),
        mutation(_HOSTILE, "until) && !ret && !READ_ONCE(enough)) {\n\t\tq =", "until) && false) {\n\t\tq =", "6.1"),
        "the attack is over, with status 0",
        partitions=["6.1"],
    ),
    tooth(
        "killed-user-still-served",
        hostile(test_device_hostile.test_killed_while_fuzzing),
        mutation(
            "kernel/backend/core.c",
            "\tbackend_stop(b);\n\tpkt = backend_take_request(b);",
            "\tpkt = backend_take_request(b);",
        ),
        "has not come back",
        partitions=["6.1"],
    ),
    tooth(
        "started-while-it-leaves",
        hostile(test_device_hostile.test_start_while_it_is_removed),
        mutation("kernel/backend/run.c", "\tif (b->ending)\n\t\treturn -ESHUTDOWN;\n", ""),
        "it was started again",
        partitions=["6.1"],
    ),
    tooth(
        "any-device-accepted",
        test_device_unwanted.test_unwanted_devices,
        mutation("kernel/virtio/accept.c", "\tif (!kind)\n\t\tret = -EINVAL;\n\telse if", "\tif"),
        "a console was accepted",
        partitions=["6.1"],
    ),
    tooth(
        "ring-served-for-ever",
        # Of the kinds that are done at once, an emulated user's CPU now and then makes too few.
        hostile(test_device_hostile.test_ring_that_is_never_empty, 0),
        mutation("kernel/backend/disk.c", "while (READ_ONCE(q->serving) && (ret", "while ((ret"),
        "the attack has failed, with status 1|it took .* to stop the device",
        partitions=["6.1"],
    ),
    tooth(
        "ring-empty",
        hostile(test_device_hostile.test_ring_that_is_never_empty, 8),
        mutation(_HOSTILE, "until) && READ_ONCE(t->id) == id) {", "until) && READ_ONCE(t->id) != id) {", "6.1"),
        "the attack is over, with status 1",
        partitions=["6.1"],
    ),
    tooth(
        "no-packets",
        hostile(test_device_hostile.test_storms),
        mutation(_HOSTILE, "while (count-- && !ret && !READ_ONCE(enough)) {", "while (false) {", "6.1"),
        "only 0 packets",
        partitions=["6.1"],
    ),
    tooth(
        "storm-of-few",
        hostile(test_device_hostile.test_storms),
        mutation(_HOSTILE, "\twhile (count--) {\n\t\tm =", "\twhile (count-- > 6000) {\n\t\tm =", "6.1"),
        "a storm of ",
        partitions=["6.1"],
    ),
    tooth(
        "interrupt-lost",
        lambda machine: test_errors.test_interrupted_commands(
            machine, "restart web", "grep -qx starting /sys/class/shimos/web/state"
        ),
        # It goes on, whatever is pressed.
        wrapped("trap 'exit 0' INT; shimos.real \"$@\" & wait $!"),
        "'shimos restart web' was not interrupted: it ended with status 0",
        partitions=["6.1"],
    ),
    tooth(
        "failed-start-says-nothing",
        test_tool.test_failed_start_says_why,
        wrapped("shimos.real \"$@\" 2>/tmp/errors; s=$?; grep -av 'kernel log\\|^  \\[' /tmp/errors; exit $s"),
        "no reason in: .*is not up after",
        partitions=["6.1"],
    ),
    tooth(
        "claim-outlives-the-module",
        test_disk_faults.test_back_end_unloaded,
        mutation("kernel/backend/disk.c", "\tcompat_bdev_close(&disk->bdev);\n\tkfree(disk);", "\tkfree(disk);"),
        "the disk is still claimed by a module that is gone",
        **test_disk_faults.MACHINE.kwargs,
    ),
    tooth(
        "late-errors-by-detach",
        test_disk_faults.test_detach_by_force,
        mutation("kernel/virtio/fail.c", _FAIL, _SLEEP + _FAIL),
        "fio saw the error after",
        **test_disk_faults.MACHINE.kwargs,
    ),
    tooth(
        "limits-ignored",
        test_disks.test_limits,
        wrapped("exec shimos.real $(echo \"$*\" | sed -E 's/,(iops|bw)=[0-9]+K?//')"),
        "iops=.* made it",
        **test_disks.MACHINE.kwargs,
    ),
    tooth(
        "late-hang-up",
        test_ikc_user.test_peer_dies,
        mutation(
            "kernel/ikc/channel.c",
            "static void ikc_channel_hang_up(struct ikc_channel *ch)\n{\n",
            "static void ikc_channel_hang_up(struct ikc_channel *ch)\n{\n" + _SLEEP,
        ),
        "no error .* after the end of the program",
        partitions=["6.1"],
    ),
    tooth(
        "late-errors-by-death",
        one_death,
        mutation("kernel/virtio/fail.c", _FAIL, _SLEEP + _FAIL),
        "a request failed after",
        **test_owner.pytestmark[0].kwargs,
    ),
    tooth(
        "guarded-and-sees-all",
        test_guarded.test_stores_to_what_is_not_its_own,
        mutation(
            "kernel/kloader/arch/x86/guard_seen.c",
            "\tint ret = guard_seen_show_low(g, p) ?:",
            "\tint ret = guard_seen_show(&g->seen, SZ_4G, SZ_2G) ?: guard_seen_show_low(g, p) ?:",
        ),
        "assert 0 == 139",
        one_thread=True,
    ),
    tooth(
        "guarded-and-has-all-ports",
        test_guarded.test_ports,
        mutation("kernel/kloader/arch/x86/guard_maps.c", "memset(g->ports, 0xff,", "memset(g->ports, 0x00,"),
        "the machine died",
        one_thread=True,
    ),
    tooth(
        "triple-fault-kept-quiet",
        test_guarded.test_triple_fault,
        mutation("kernel/kloader/guard/exit.c", "exit_end(cpu, GUARD_SHUTDOWN,", "exit_end(cpu, GUARD_RUNS,"),
        "wait_for",
        one_thread=True,
    ),
    tooth(
        "mode-of-the-host-kept",
        lambda machine: test_x2apic.test_modes(machine, "6.12"),
        mutation("kernel/kloader/arch/x86/trampoline.S", "testl\t$APIC_BASE_X2APIC, %eax", "testl\t$0, %eax"),
        "x2apic",
        **X2APIC,
    ),
]


def blunt() -> bool:
    """Return whether the product shall be as it is."""
    return os.environ.get("SHIMOS_BLUNT") == "1"


def test_no_nmis(monkeypatch: pytest.MonkeyPatch) -> None:
    """The storm that must be the end of an unguarded machine does not count if there was none."""

    def storm(machine: Machine, _: int) -> None:
        machine.run("insmod /nowhere/shimos_nmi_storm.ko")

    if not blunt():
        monkeypatch.setattr(kml_load, "storm", storm)
    with pytest.raises(AssertionError, match="something else went wrong: exit status 1: insmod /nowhere"):
        test_kml_stress.test_nmi_test_can_fail()


@pytest.mark.parametrize("each", TEETH)
def test_teeth(fresh_machine: Machine, each: Tooth) -> None:
    """The test sees the defect, and says what it sees."""
    if not blunt():
        each.spoil(fresh_machine)
    # What the emulator spoils reads otherwise.
    with pytest.raises(AssertionError, match=f"(?s){each.says}"):
        each.test(fresh_machine)
