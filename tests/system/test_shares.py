"""Shares of caches and of memory bandwidth. No emulator has them: files play resctrl, and another register the CPU's."""

from __future__ import annotations

import re

import pytest

from lab.machine import Machine
from lab.stage.disks import stock_module
from lab.stage.partitions import Resources, initrd_with, refused, remove, run_command, start
from tests.support.mutants import Mutation, install
from tests.support.tiers import late

pytestmark = late("what few processors can do")


#: No emulator has resctrl: files play it, for whoever is in this mount namespace.
_PLAYED = """\
mount -t tmpfs played /sys/fs
mkdir -p /sys/fs/resctrl/info/L3
cd /sys/fs/resctrl
echo fff >info/L3/cbm_mask
for id in $(cat /sys/devices/system/cpu/cpu*/cache/index3/id | sort -un); do rest="$rest;$id=fff"; done
echo "L3:${rest#;}" >schemata
echo 'nodev resctrl' | tr ' ' '\\t' >/sys/fs/filesystems
mount --bind /sys/fs/filesystems /proc/filesystems
"""


def test_a_share_of_a_cache(machine: Machine) -> None:
    """Refused without resctrl; with it CPUs are in a group of their own before they go, and the group goes with them."""
    command = run_command(machine, cpus="2", more="--l3 50% --max-cpus 2")
    refused(machine, command, "--l3", "has no resctrl", "leave --l3 out")
    script = f"""{_PLAYED}
{command} >/dev/null 2>&1
cat shimos-web/cpus_list shimos-web/schemata schemata
shimos show web | grep share
! shimos resize web --cpuset +3 2>&1
shimos rm --force web
! ls -d shimos-* 2>/dev/null
cat schemata
"""
    machine.put("/tmp/played", script.encode())
    said = machine.run("unshare --mount sh -e /tmp/played", timeout=120).lines
    cache = re.sub(r"L3:(\d+)=3f", r"\1", said[1])
    assert said[0] == "2"
    assert said[2] == f"L3:{cache}=fc0"
    assert f"share:         L3:{cache}=3f" in said
    # each emulated CPU has a cache of its own
    assert any("CPU 3 is at another L3 cache" in line for line in said), said
    assert said[-1] == f"L3:{cache}=fff"
    machine.assert_dmesg_clean()


#: A register that the emulator has, INIT keeps and Linux does not touch: the address of the last bank's machine check.
REGISTER = 0x426
PLAYED_REGISTER = Mutation(
    "kernel/kloader/arch/x86/resctrl.c",
    "boot_cpu_has(X86_FEATURE_RDT_A) ? MSR_IA32_PQR_ASSOC : 0",
    f"{REGISTER:#x}",
)
#: Of what there are 8 bytes each.
_READ = (
    "for cpu in /dev/cpu/{}/msr; do dd if=$cpu ibs=8 count=1 iflag=skip_bytes skip={} 2>/dev/null | od -An -tx8; done"
)


def numbers(lines: list[str]) -> list[int]:
    """Return what od has printed."""
    return [int(line, 16) for line in lines]


@pytest.mark.parametrize("flavour", ["6.12"])
def test_what_a_cpu_keeps(fresh_machine: Machine, flavour: str) -> None:
    """Each of a partition's CPUs has the number of its group, whoever started it, also after a restart and a resize."""
    machine = fresh_machine
    before = Resources(machine)
    install(machine, machine.flavour, PLAYED_REGISTER)
    machine.run("modprobe msr")
    for cpu in (1, 2, 3):
        octal = "".join(f"\\{byte:03o}" for byte in (0x100 * cpu + 7).to_bytes(8, "little"))
        machine.run(f"printf '{octal}' | dd of=/dev/cpu/{cpu}/msr obs=8 oflag=seek_bytes seek={REGISTER} 2>/dev/null")
    initrd = initrd_with(machine, flavour, {"/msr.ko": stock_module(machine, flavour, "msr")})
    start(machine, flavour=flavour, cpus="2-3", more=f"--initrd {initrd} --max-cpus 3")
    for _ in range(2):
        web = machine.partition("web")
        web.run("insmod /msr.ko && until [ -e /dev/cpu/1/msr ]; do usleep 50000; done")
        assert numbers(web.run(_READ.format("*", REGISTER)).lines) == [0x207, 0x307]
        web.close()
        machine.run("shimos kill web && shimos restart web", timeout=120)
    machine.run("shimos resize web --cpuset +1")
    web = machine.partition("web")
    web.run("insmod /msr.ko && until [ -e /dev/cpu/2/msr ]; do usleep 50000; done")
    assert sorted(numbers(web.run(_READ.format("*", REGISTER)).lines)) == [0x107, 0x207, 0x307]
    web.close()
    remove(machine)
    before.assert_back()
    machine.assert_dmesg_clean()
