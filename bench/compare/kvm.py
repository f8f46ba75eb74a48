"""KVM: two guests of two CPUs, as the field runs them: virtio, vhost, the host's cache left out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from bench.compare import host as on_host
from bench.compare.system import CHROOT, DB, MEMORY_MIB, WEB, Kernel, System
from lab import progress
from lab.machine import Machine
from lab.partition import PartitionConsole

#: Name, address, RAM disk and host shell of each guest.
GUESTS = (("db", DB, "/dev/ram1", 2), ("web", WEB, "/dev/ram0", 3))

#: More than twice what a boot takes. Now and then a guest hangs, for the emulator delivers an interrupt twice (docs/lab.md).
BOOT_SECONDS = 180.0


@contextmanager
def kvm(host: Machine, scale: float) -> Iterator[System]:
    """Yield two guests on the bridge."""
    host.run("modprobe -a kvm_amd vhost_net || modprobe -a kvm_intel vhost_net")
    with on_host.bridge(host), ExitStack() as stack:
        with progress.step("booting the KVM guests"):
            for name, address, ram, shell in GUESTS:
                stack.callback(host.shell(shell).recover)
                stack.callback(stop, host, name)  # first the guest's end, then its console's shell
                start(host, name, address, ram)
            consoles = [attach(host, name, shell) for name, _, _, shell in GUESTS]
        db, web = (
            Kernel(name, address, console, "/dev/vdc", "/dev/vdd")
            for (name, address, _, _), console in zip(GUESTS, consoles, strict=True)
        )
        yield System("kvm", host, scale, on_host.kernel(host), (db, web))


def start(host: Machine, name: str, address: str, ram: str, more: str = "") -> None:
    """Start a guest; QEMU, which may be given more options, comes from the common root."""
    flavour = host.flavour
    words = f"console=ttyS0 {on_host.cmdline('/dev/vda', address, 'hvc0')}"
    disks = [host.disk(name), host.disk(f"tools-{name}"), ram, host.disk(f"work-{name}")]
    drives = " ".join(
        f"-drive file={disk},if=virtio,format=raw,cache=none,aio=native{',readonly=on' if 'tools' in what else ''}"
        for disk, what in zip(disks, ("root", "tools", "ram", "work"), strict=True)
    )
    last = address.rpartition(".")[2]
    host.run(
        f"ip tuntap add tap-{name} mode tap && ip link set tap-{name} master {on_host.LINK} up && {CHROOT}"
        + base(flavour_paths(host, flavour), name, MEMORY_MIB, words)
        + f" {drives} -netdev tap,id=net,ifname=tap-{name},script=no,downscript=no,vhost=on"
        f" -device virtio-net-pci,netdev=net,mac=52:54:00:00:01:{last}"
        f" -serial file:/run/{name}.log -chardev socket,id=console,path=/run/{name}.console,server=on,wait=off"
        " -device virtio-serial-pci -device virtconsole,chardev=console -daemonize" + more,
        timeout=120,
    )


def flavour_paths(host: Machine, flavour: str) -> tuple[str, str]:
    """Return the host's own kernel, for guests, and Debian's initrd for it."""
    return host.vmlinuz(flavour), host.debian_initrd(flavour)


def base(boot: tuple[str, str], name: str, memory: int, words: str, cpus: int = 2) -> str:
    """Return the part of QEMU's command line that all guests share."""
    return (
        f"qemu-system-x86_64 -name {name} -nodefaults -no-user-config -display none -machine q35,accel=kvm -cpu host"
        f" -smp {cpus} -m {memory} -kernel {boot[0]} -initrd {boot[1]} -append '{words}' -pidfile /run/{name}.pid"
    )


def attach(host: Machine, name: str, number: int) -> PartitionConsole:
    """Return the guest's console in a shell of the host."""
    console = PartitionConsole(host.shell(number), name)
    console.command = f"{CHROOT}socat -,raw,echo=0 UNIX-CONNECT:/run/{name}.console"
    console.greeting = ""
    console.attach(timeout=BOOT_SECONDS)
    return console


def stop(host: Machine, name: str) -> None:
    """End a guest at once; its disks are copies."""
    host.run(
        f"pid=$(cat /run/{name}.pid) && kill -9 $pid; while [ -d /proc/$pid ]; do sleep 0.1; done;"
        f" ip link delete tap-{name}",
        check=False,
    )
