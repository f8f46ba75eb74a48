"""A stock Debian whose root is a shared disk."""

from __future__ import annotations

import pytest

from lab.devices import Disk
from lab.machine import Machine
from lab.partition_root import partition_root
from lab.stage.devices import device
from lab.stage.disks import inside, start_with
from lab.stage.partitions import Resources, refused, remove, show, wait_state, wait_value
from tests.support.tiers import late, rare

pytestmark = [pytest.mark.x2apic, late("a Debian on a disk that other tests read and write")]

#: Seconds for systemd in an emulated machine that has other work too.
BOOT = 240.0


@pytest.mark.machine(partitions=["6.12"], disks=[Disk("root", partition_root)])
def test_debian(fresh_machine: Machine) -> None:
    """systemd comes to a login from the shared disk with Debian's own kernel and initrd, and again after a reboot."""
    disk = fresh_machine.disk("root")
    fresh_machine.run("modprobe shimos_backend")
    before = Resources(fresh_machine)
    fresh_machine.run(
        f"shimos run web --cpuset 2-3 --memory 768M --kernel {fresh_machine.vmlinuz('6.12')} --disk {disk}"
        " --on-reboot restart --cmdline root=/dev/vda",
        timeout=300,
    )
    boots = set()
    for life in (1, 2):
        console = fresh_machine.partition("web", timeout=BOOT, login="root")
        assert console.run("findmnt -no SOURCE,FSTYPE /").output.split() == ["/dev/vda", "ext4"]
        console.run("systemctl is-system-running --wait | grep -x running", timeout=BOOT)
        refused(fresh_machine, f"shimos detach web --disk {disk}", "in use in web")
        boots.add(console.run("cat /proc/sys/kernel/random/boot_id").output)
        if life == 2:
            assert console.run("cat /root/note").output == "1\n"
            break
        console.run(
            f"echo {life} >/root/note && fio --name=x --size=16M --rw=randrw --verify=crc32c --unlink=1", timeout=120
        )
        console.run("systemctl reboot --no-block")
        wait_value(fresh_machine, "/sys/class/shimos/web/starts", "2", BOOT)
        wait_state(fresh_machine, "web", "running", BOOT)
        console.close()
    assert len(boots) == 2 and show(fresh_machine)["starts"] == 2
    known = device(fresh_machine, disk)
    assert known["errors"] == known["copied_bytes"] == 0 and known["direct_bytes"] > 64 << 20
    console.close()
    # What the tool asks for, a Debian does by itself: the file system is in order without a check.
    fresh_machine.run("shimos stop web", timeout=BOOT)
    fresh_machine.run("shimos rm web")
    fresh_machine.run(f"e2fsck -fn {disk}")
    before.assert_back()
    fresh_machine.assert_dmesg_clean()


@pytest.mark.machine(partitions=["6.1"], disks=[Disk("tools", partition_root), Disk("data", "64M")])
@rare("the same root as before, on another kernel")
def test_older_kernel(fresh_machine: Machine) -> None:
    """Debian 12's kernel on the same disks; what it wrote is there after its reboot and for the host."""
    disk, tools = fresh_machine.disk("data"), fresh_machine.disk("tools")
    fresh_machine.run(f"mkfs.ext4 -q {disk}")
    shell = start_with(fresh_machine, disk, flavour="6.1", more="--on-reboot restart")
    for life in (1, 2):
        own = inside(shell, disk)
        shell.run(f"mount -t ext4 {own} /m")
        if life == 1:
            shell.run("seq 200000 >/m/seq && umount /m")
            shell.send(b"reboot -f\n")
            wait_value(fresh_machine, "/sys/class/shimos/web/starts", "2", 60)
            wait_state(fresh_machine, "web", "running")
            shell.close()
            shell = fresh_machine.partition("web")
            shell.run(f"/mount-tools {tools.split('/')[-1]}")
    assert shell.run("md5sum </m/seq").output == fresh_machine.run("seq 200000 | md5sum").output
    shell.run("umount /m")
    shell.close()
    remove(fresh_machine)
    fresh_machine.run(f"e2fsck -fn {disk}")
    fresh_machine.assert_dmesg_clean()
