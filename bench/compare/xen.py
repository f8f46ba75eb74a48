"""Xen: two paravirtual domains of two CPUs, as in the papers, and Debian's first domain that owns the devices.

Xen is a boot loader's business: the emulator loads the hypervisor, which finds
Linux and its initramfs as modules.  The first domain is Debian's generic kernel,
for the cloud flavour cannot be one; the domains that work have the same kernel as
everybody else.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from bench.compare import disks
from bench.compare import host as on_host
from bench.compare.system import CHROOT, DB, MEMORY_MIB, NATIVE, WEB, Kernel, System
from lab import cache, progress
from lab.machine import Machine
from lab.partition import PartitionConsole
from lab.qemu import Config

DOM0 = "6.12-generic"
#: Name, address, RAM disk and shell of each domain.
DOMAINS = (("db", DB, "/dev/ram1", 2), ("web", WEB, "/dev/ram0", 3))
# The emulated CPU has neither the idle states nor the MWAIT that Xen would use. It does XSAVE and XRSTOR
# although CR0.TS is set, where a processor raises #NM: a domain would save registers that are another's.
_XEN = (
    "cpuidle=0 mwait-idle=0 spec-ctrl=eager-fpu console=com1 com1=115200,8n1 loglvl=warning guest_loglvl=warning"
    " dom0_mem=3G,max:3G"
)
# What the service of xen-utils does; there is no service manager in the lab.
_DAEMONS = (
    "modprobe -a xenfs xen-evtchn xen-gntdev xen-gntalloc xen-privcmd xen-blkback xen-netback"
    f" && mount -t xenfs xenfs {NATIVE}/proc/xen"
)
_STORE = (
    "mkdir -p /run/xen /run/xenstored /var/log/xen /var/lib/xen && cd /usr/lib/xen-4.20/bin"
    " && ./xenstored --pid-file /run/xenstored.pid && ./xen-init-dom0 && ./xenconsoled --pid-file=/run/xenconsoled.pid"
)

# Xen's own scripts for disks and cards run dozens of programs (that for disks looks through all of
# the store for another domain with the same one), which in the emulator takes longer than the 10
# seconds they have.
_BLOCK_SCRIPT, _CARD_SCRIPT = "/run/block-known", "/run/vif-known"
_BLOCK = """#!/bin/sh -e
[ "$1" = add ] || exit 0
disk=$(xenstore-read "$XENBUS_PATH/params")
xenstore-write "$XENBUS_PATH/physical-device-path" "$disk" \\
	"$XENBUS_PATH/physical-device" "$(stat -L -c %t:%T "$disk")" \\
	"$XENBUS_PATH/hotplug-status" connected
"""
_CARD = f"""#!/bin/sh -e
[ "$1" = online ] || exit 0
ip link set "$vif" master {on_host.LINK} up
xenstore-write "$XENBUS_PATH/hotplug-status" connected
"""


class XenMachine(Machine):
    """The lab's machine with Xen beneath its host."""

    #: A paravirtual kernel's page tables are the hypervisor's business, each entry a trap.
    BOOT_SECONDS = 480.0

    #: Xen is the kernel here, and what it needs is in none of the keys.
    TEMPLATES = False

    def adapt(self, config: Config) -> Config:
        """Boot Xen, and Linux as its first module; Linux has one console less for shells."""
        linux = f"{config.kernel} {config.cmdline.replace('console=ttyS0', 'console=hvc0')},{config.initrd}"
        # Linux has 8 such consoles, and Xen's own is one of them.
        shells = config.shells - 1
        return replace(config, kernel=hypervisor(), cmdline=_XEN, initrd=Path(linux), shells=shells)


def hypervisor() -> Path:
    """Return Debian's Xen, unpacked as a loader of multiboot images wants it."""
    packed = next((disks.tree() / "boot").glob("xen-*.gz"))
    return cache.make(
        "xen",
        cache.digest(packed),
        "unpacking Xen",
        lambda target: _write(target, gzip.decompress(packed.read_bytes())),
    )


def _write(target: Path, data: bytes) -> None:
    target.write_bytes(data)


def machine(icount: bool) -> Machine:
    """Return the machine of the comparison, with Xen."""
    return XenMachine(
        **vars(on_host.machine(icount).spec) | {"kernel": DOM0, "ipi_broadcast": True, "cmdline": "quiet"}
    )


@contextmanager
def xen(host: Machine, scale: float) -> Iterator[System]:
    """Yield two domains on the bridge."""
    with on_host.bridge(host), ExitStack() as stack:
        host.run(f"[ -e /run/xenconsoled.pid ] || {{ {_DAEMONS} && {CHROOT}sh -c '{_STORE}'; }}", timeout=180)
        for script, text in ((_BLOCK_SCRIPT, _BLOCK), (_CARD_SCRIPT, _CARD)):
            host.put(script, text.encode(), 0o755)
        with progress.step("booting Xen's domains"):
            for name, address, ram, shell in DOMAINS:
                stack.callback(host.shell(shell).recover)
                stack.callback(host.run, f"{CHROOT}xl destroy {name}", check=False)
                create(host, name, address, ram)
            consoles = [attach(host, name, shell) for name, _, _, shell in DOMAINS]
        db, web = (
            Kernel(name, address, console, "/dev/xvdc", "/dev/xvdd")
            for (name, address, _, _), console in zip(DOMAINS, consoles, strict=True)
        )
        yield System("xen", host, scale, on_host.kernel(host), (db, web))


def create(host: Machine, name: str, address: str, ram: str) -> None:
    """Start a domain."""
    devices = [host.disk(name), host.disk(f"tools-{name}"), ram, host.disk(f"work-{name}")]
    modes = ("w", "r", "w", "w")
    block = ", ".join(
        f"'vdev=xvd{x},access={m},backendtype=phy,script={_BLOCK_SCRIPT},target={d}'"
        for d, x, m in zip(devices, "abcd", modes, strict=True)
    )
    words = on_host.cmdline("/dev/xvda", address, "hvc0")
    put_config(host, name, MEMORY_MIB, 2, host.debian_initrd("6.12"), words)
    host.run(f"printf '%s\\n' \"disk = [{block}]\" \"vif = ['script={_CARD_SCRIPT}']\" >>/run/{name}.cfg")
    host.run(f"{CHROOT}xl create /run/{name}.cfg", timeout=900)


def put_config(host: Machine, name: str, memory: int, cpus: int, initrd: str, words: str) -> None:
    """Write what all domains have into /run/NAME.cfg; ``memory`` is in MiB."""
    lines = (
        f"name = '{name}'",
        "type = 'pv'",
        # libxenguest's own unpacking fails now and then in the emulator
        f"kernel = '{host.vmlinux('6.12')}'",
        f"ramdisk = '{initrd}'",
        f"extra = 'console=hvc0 {words}'",
        f"memory = {memory}",
        f"vcpus = {cpus}",
    )
    host.put(f"/run/{name}.cfg", "".join(f"{line}\n" for line in lines).encode())


def attach(host: Machine, name: str, number: int) -> PartitionConsole:
    """Return the domain's console in a shell of the host."""
    console = PartitionConsole(host.shell(number), name)
    console.command, console.greeting = f"{CHROOT}xl console {name}", ""
    console.attach(timeout=900)
    return console
