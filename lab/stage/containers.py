"""Containers: what a machine needs for them, an image, and bundles."""

from __future__ import annotations

from lab.machine import Machine
from lab.paths import SRC
from lab.stage.partitions import PROGRAMS

#: Where the runtime remembers them.
ROOT = "/run/shimos-oci"
#: A root with one program in it is an image, too.
_IMAGE = (
    "mkdir -p /tmp/image/usr/bin /tmp/image/etc && ln -s usr/bin /tmp/image/bin"
    " && cp /bin/busybox /tmp/image/usr/bin && /bin/busybox --install -s /tmp/image/bin"
    " && echo root:x:0:0:root:/:/bin/sh >/tmp/image/etc/passwd"
    " && tar -C /tmp/image -c . | podman import - busybox && rm -rf /tmp/image"
)


def prepare(machine: Machine) -> None:
    """Give the machine what runs containers."""
    machine.run("modprobe -a vhost_vsock shimos_backend overlay")
    machine.run("mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup; mkdir -p /dev/mqueue")
    machine.run("ln -sf shimos /usr/bin/shimos-oci && mkdir -p /etc/containers/containers.conf.d")
    settings = SRC / "tool/dist/50-shimos.conf"
    machine.put(f"/etc/containers/containers.conf.d/{settings.name}", settings.read_bytes())
    machine.run(f"ln -sf {PROGRAMS}/virtiofsd /usr/local/bin/virtiofsd")


def image(machine: Machine) -> None:
    """Have podman know the image ``busybox``."""
    machine.run(_IMAGE, timeout=120)


def bundle(machine: Machine, words: str, annotations: str = "", flavour: str = "6.12", more: str = "") -> None:
    """Make a bundle in /tmp/b: busybox with these words, in quotes, on a kernel of that flavour.

    ``annotations`` and ``more`` are more of the description, each with a comma at its end.
    """
    # not anew: a container of it may run
    machine.run("mkdir -p /tmp/b/rootfs/bin && cp -n /bin/busybox /tmp/b/rootfs/bin/ && rm -f /tmp/b/config.json")
    machine.run("cd /tmp/b && crun spec")
    annotations += f'"org.shimos.kernel": "{machine.vmlinux(flavour)}", "org.shimos.memory": "288M"'
    change = f's/"terminal": true/"terminal": false/; s|"ociVersion"|{more}"annotations": {{{annotations}}}, &|'
    machine.run(f'sed -i \'{change}; s|"sh"|"busybox", {words}|\' /tmp/b/config.json')


def pool(machine: Machine, cpuset: str, count: int = 1, flavour: str = "6.12") -> None:
    """Keep a pool of warm partitions that fit the bundle; its number is in /tmp/keep.pid, what it says in /tmp/keep."""
    kernel = machine.vmlinux(flavour)
    settings = f'cpuset = "{cpuset}"\n[[warm]]\ncount = {count}\nmemory = "288M"\nkernel = "{kernel}"\n'
    machine.run("mkdir -p /etc/shimos")
    machine.put("/etc/shimos/oci.toml", settings.encode())
    machine.run("shimos pool keep >/tmp/keep 2>&1 & echo $! >/tmp/keep.pid")


def end_pool(machine: Machine) -> None:
    """End what ``pool()`` has begun, with the partitions that wait."""
    machine.run("kill $(cat /tmp/keep.pid); while pgrep -f '^shimos pool keep'; do sleep 0.1; done", timeout=60)
