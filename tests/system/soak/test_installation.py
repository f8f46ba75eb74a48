"""An ordinary installation: what docs/tutorial.md says, on a Debian with firmware, GRUB and systemd.

Most of the time is DKMS, whose compiler is emulated.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab import build, files, kernels
from lab.devices import OUTSIDE, Disk, mac
from lab.installed import Firmware, Installed
from lab.partition_root import partition_root

#: Seconds for what systemd does on an emulated machine that has other work too, and for what a compiler does.
LONG, COMPILING = 1200.0, 10800.0
#: What the machine is upgraded to: newer than the release's own, but soon after a point release.
NEWER = "6.12-security"
MARKER = "no_ipi_broadcast=1"
BRIDGE = {
    "10-br0.netdev": "[NetDev]\nName=br0\nKind=bridge\n",
    "10-card.network": f"[Match]\nPermanentMACAddress={mac(0)}\n[Network]\nBridge=br0\n",
    "20-br0.network": "[Match]\nName=br0\n[Network]\nDHCP=ipv4\n",
}
WEB = """\
cpus = 2
memory = "1G"
cmdline = "root=/dev/vda"

[[disk]]
path = "/dev/vg0/web"

[[net]]
bridge = "br0"
"""
#: Whatever has our name, but what the user has made, and where the packages came from.
OURS = "find / -xdev -name '*shimos*' ! -path '/etc/shimos*' ! -path '/var/log/*' ! -path '/mnt/*' ! -path '/tmp/*'"


def packages(directory: Path) -> Path:
    """Make the packages, and a disk that has them and a newer kernel."""
    made = build.packages(directory, "PROFILE=lab")
    tree = directory / "tree"
    tree.mkdir()
    for package in made.glob("*.deb"):
        (tree / package.name).write_bytes(package.read_bytes())
    kernels.archive(NEWER, tree / "newer")
    files.ext4(tree, directory / "packages", 1 << 20)
    return directory / "packages"


def answered(machine: Installed, answer: str) -> str:
    """Return what `shimos doctor --fix` prints to a terminal at which somebody answers so."""
    command = f"echo {answer} | script --quiet --return --command 'shimos doctor --fix' /dev/null"
    return machine.run(command, check=False).output


def install(machine: Installed) -> None:
    """Install the packages; DKMS builds for the kernel that runs."""
    machine.run("mount /dev/disk/by-id/virtio-packages /mnt")
    machine.run("apt-get --yes install /mnt/shimos_*.deb /mnt/shimos-dkms_*.deb", COMPILING)
    machine.run("umount /mnt")
    assert "installed" in machine.run("dkms status shimos", LONG).output


def mend(machine: Installed) -> None:
    """Let the doctor write what it misses, after a refusal and a no."""
    added = "/etc/default/grub.d/shimos.cfg"
    assert machine.run("shimos doctor", check=False).status == 1
    asked = machine.run("shimos doctor --fix", check=False)
    assert asked.status == 1 and "shimos doctor --fix --yes" in asked.output
    assert "Nothing has been changed." in answered(machine, "no")
    assert machine.run(f"[ -e {added} ]", check=False).status == 1
    assert "Done: restart the machine." in answered(machine, "yes")
    assert MARKER in machine.run("cat /boot/grub/grub.cfg").output
    assert f"{added} has all that is missing" in answered(machine, "yes")
    machine.restart()
    assert MARKER in machine.run("cat /proc/cmdline").output
    machine.run("modprobe shimos_kloader && shimos doctor")


def describe(machine: Installed) -> None:
    """Make a bridge, a logical volume with a Debian on it, and the file that describes the partition."""
    for name, text in BRIDGE.items():
        machine.run(f"cat >/etc/systemd/network/{name} <<'END'\n{text}END")
    machine.run("systemctl restart systemd-networkd && /usr/lib/systemd/systemd-networkd-wait-online -4 -i br0", 120)
    machine.run("pvcreate /dev/disk/by-id/virtio-volumes && vgcreate vg0 /dev/disk/by-id/virtio-volumes", 120)
    machine.run("lvcreate --yes --name web --extents 100%FREE vg0", 120)
    machine.run("dd if=/dev/disk/by-id/virtio-root of=/dev/vg0/web bs=1M conv=sparse,fsync", 120)
    machine.run("mount /dev/vg0/web /mnt && cp -a /lib/modules/$(uname -r) /mnt/lib/modules/ && umount /mnt", 120)
    machine.run(f"mkdir -p /etc/shimos && cat >/etc/shimos/web.toml <<'END'\n{WEB}END")


def look_inside(machine: Installed) -> None:
    """Log in to the partition: its kernel is the host's, its root the volume, its network the bridge."""
    kernel = machine.run("uname -r").output
    web = machine.partition("web", LONG, login="root")
    assert web.run("uname -r").output == kernel
    web.run("modprobe loop")
    assert web.run("findmnt -no SOURCE,FSTYPE /").output.split() == ["/dev/vda", "ext4"]
    web.run("/usr/lib/systemd/systemd-networkd-wait-online -4 -i eth0", 120)
    web.run(f"ping -c 1 -W 20 {OUTSIDE}")
    web.close()


def partitions(machine: Installed) -> list[tuple[str, str]]:
    """Return the partitions and their states."""
    listed = json.loads(machine.run("shimos ls --json").output)["partitions"]
    return [(partition["name"], partition["state"]) for partition in listed]


def live(machine: Installed) -> None:
    """Start the partition by its unit, and restart the machine."""
    machine.run("systemctl enable --now shimos@web", LONG)
    assert partitions(machine) == [("web", "running")]
    look_inside(machine)

    restart(machine)


def restart(machine: Installed) -> None:
    """Restart the machine: the partition stops with it in order, and starts with it."""
    machine.restart()
    machine.run("systemctl is-system-running --wait", LONG, check=False)
    machine.run("systemctl is-active shimos@web")
    assert partitions(machine) == [("web", "running")]
    look_inside(machine)


def upgrade(machine: Installed) -> bool:
    """Upgrade the kernel, host's and partition's, as apt does it by itself; False if Debian has no newer one."""
    older = machine.run("uname -r").output.strip()
    machine.run("mount /dev/disk/by-id/virtio-packages /mnt")
    machine.run("echo 'deb [trusted=yes] file:/mnt/newer ./' >/etc/apt/sources.list && apt-get update", LONG)
    found = "linux-image" in machine.run("apt list --upgradable").output
    # The archive has nothing that a kernel recommends, nor has the machine; apt would keep the older one.
    machine.run("apt upgrade --yes --no-install-recommends", COMPILING)
    machine.run("umount /mnt")
    if not found:
        return False
    newer = machine.run("linux-version list | linux-version sort | tail -n 1").output.strip()
    built = machine.run("dkms status shimos", LONG).output
    assert newer != older and all(f", {kernel}, x86_64: installed" in built for kernel in (older, newer)), built

    # The partition's disk has modules of its own.
    machine.run("systemctl stop shimos@web", LONG)
    machine.run(f"mount /dev/vg0/web /mnt && cp -a /lib/modules/{newer} /mnt/lib/modules/ && umount /mnt", 120)
    restart(machine)
    assert machine.run("uname -r").output.strip() == newer
    machine.run("shimos doctor")
    return True


def end(machine: Installed) -> None:
    """End the partition: its disk is in order."""
    machine.run("systemctl disable --now shimos@web", LONG)
    assert partitions(machine) == []
    machine.run("e2fsck -fn /dev/vg0/web", 120)


def remove(machine: Installed) -> None:
    """Purge the packages: nothing of them is left."""
    machine.run("modprobe -r shimos_backend shimos_kloader shimos_ikc")
    machine.run("apt-get --yes purge shimos shimos-dkms", LONG)
    assert machine.run(OURS).output == ""
    assert MARKER not in machine.run("cat /boot/grub/grub.cfg").output
    assert machine.run("cat /sys/devices/system/cpu/online").output == "0-3\n"
    machine.restart()
    assert MARKER not in machine.run("cat /proc/cmdline").output


@pytest.mark.parametrize("firmware", ["uefi", "bios"])
def test_from_package_to_purge(firmware: Firmware, tmp_path: Path) -> None:
    """All of the tutorial, restarts of the machine, a newer kernel, and back to what it was."""
    disks = [Disk("packages", packages(tmp_path)), Disk("root", partition_root), Disk("volumes", "3G")]
    with Installed(firmware, disks) as machine:
        assert machine.run("[ -d /sys/firmware/efi ]", check=False).status == (firmware == "bios")
        assert machine.run(OURS).output == ""
        install(machine)
        mend(machine)
        describe(machine)
        live(machine)
        upgraded = upgrade(machine)
        end(machine)
        remove(machine)
    if not upgraded:
        pytest.skip("Debian's security archive has no newer kernel now: all but the upgrade has passed")
