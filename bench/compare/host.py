"""The machine of the comparison, and native Linux on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

from bench.compare import disks
from bench.compare.system import CHROOT, HOST, NATIVE, WEB, Kernel, System
from lab import progress
from lab.arch import ARCHES, Arch
from lab.arch import NATIVE as HERE
from lab.devices import OUTSIDE, Disk, Nic
from lab.machine import Machine

#: Who has which copy of the disks.
USERS = ("native", "web", "db")
RAM_MIB = 64
LINK = "bench0"
#: Where the links of the lab's /boot lead.
KERNELS = "/lab/kernels"


def copies(arch: Arch = HERE) -> list[Disk]:
    """Return for each kernel a copy of the root, the tools and the work."""
    made = [Disk(user, partial(disks.root, arch)) for user in USERS]
    made += [Disk(f"tools-{user}", partial(disks.tools, arch)) for user in USERS]
    return made + [Disk(f"work-{user}", disks.work) for user in USERS]


def machine(icount: bool, arch: str = HERE.name) -> Machine:
    """Return a machine with four CPUs and a card, not started."""
    return Machine(
        arch=arch,
        partitions=["6.12"],
        memory="7G",
        disks=copies(ARCHES[arch]),
        nics=[Nic()],
        icount=icount,
        load=False,
    )


def prepare(host: Machine) -> None:
    """Mount the common root; fill the RAM disks, so that their pages are there before anything is measured."""
    with progress.step("preparing the host"):
        binds = " && ".join(f"mount --rbind /{d} {NATIVE}/{d}" for d in ("dev", "proc", "sys", "run", "tmp", "boot"))
        host.run(
            f"mkdir -p {NATIVE} && mount -o noatime {host.disk('native')} {NATIVE}"
            f" && mount -o ro {host.disk('tools-native')} {NATIVE}/bench && mkdir -p {NATIVE}{KERNELS} {KERNELS} && {binds}"
            f" && mount --rbind {KERNELS} {NATIVE}{KERNELS} && mount --make-rslave {NATIVE}"
            f" && modprobe -a brd bridge tun && rmmod brd && modprobe brd rd_nr=2 rd_size={RAM_MIB << 10}"
            f" && for d in 0 1; do dd if=/dev/zero of=/dev/ram$d bs=1M count={RAM_MIB} status=none; done",
            timeout=180,
        )


def kernel(host: Machine, number: int = 0) -> Kernel:
    """Return the host's kernel, as one that works; ``number`` is a shell for work side by side."""
    work = host.disk("work-native" if number == 0 else "work-web")
    return Kernel("host", HOST, host.shell(number), f"/dev/ram{number}", work, CHROOT)


@contextmanager
def native(host: Machine, scale: float) -> Iterator[System]:
    """Yield stock Linux by itself: with two CPUs for one job, with four for two."""

    @contextmanager
    def shaped(count: int) -> Iterator[None]:
        spare = range(2 * count, 4)
        set_online(host, spare, 0)
        try:
            yield
        finally:
            set_online(host, spare, 1)

    pair = kernel(host, 0), kernel(host, 1)
    with nullcontext() if host.nics else bridge(host):  # where else would its address be
        yield System("native", host, scale, pair[0], pair, shaped)


def set_online(host: Machine, cpus: range, online: int) -> None:
    """Switch CPUs on or off."""
    for cpu in cpus:
        host.run(f"echo {online} >/sys/devices/system/cpu/cpu{cpu}/online")


@contextmanager
def bridge(host: Machine) -> Iterator[None]:
    """Have a bridge, to which others connect, with the host's card in it if it has one to spare."""
    route = f"ip route add default via {OUTSIDE}"
    card = f"ip address flush dev eth0 && ip link set eth0 master {LINK}" if host.nics else "true"
    host.run(
        f"ip link add {LINK} type bridge && {card} && ip link set {LINK} up && ip address add {HOST}/24 dev {LINK}"
        + (f" && {route}" if host.nics else "")
    )
    try:
        yield
    finally:
        host.run(f"ip link delete {LINK}")
        if host.nics:
            host.run(f"ip address add {HOST}/24 dev eth0 && {route}")


def cmdline(root: str, address: str, tty: str) -> str:
    """Return what every kernel but the host's is told, beside its console."""
    return f"root={root} rw init=/usr/sbin/bench-init net.ifnames=0 quiet bench.ip={address}/24 bench.tty={tty}"


__all__ = ["WEB", "bridge", "cmdline", "kernel", "machine", "native", "prepare"]
