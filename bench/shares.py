"""A directory of the host's and sockets to it, in a partition and in a KVM guest.

Both have the same root, the same kernel, two CPUs, and the same virtiofsd, which is Debian's and
has the same options.  Beside them the host itself, and a RAM disk of the host's with ext4: shared
by SHIMOS, and KVM's virtio-blk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from bench.compare import host as on_host
from bench.compare import kvm, shimos
from bench.compare.system import CHROOT, HOST, MEMORY_MIB, WEB, Kernel
from lab import progress
from lab.machine import Machine
from lab.stage.partitions import PROGRAMS

SHARED, CID = "/run/bench-share", 77
#: What fio does: its words, and the field of its terse output that counts.
LOADS = {
    "read 4 KiB, depth 1, 1/s": ("--rw=randread --bs=4k --iodepth=1", 8),
    "read 4 KiB, depth 32, 1/s": ("--rw=randread --bs=4k --iodepth=32", 8),
    "write 4 KiB, depth 1, 1/s": ("--rw=randwrite --bs=4k --iodepth=1", 49),
    "read 128 KiB in order, depth 8, 1/s": ("--rw=read --bs=128k --iodepth=8", 8),
}
_FIO = "fio --name=x --size=24m --ioengine=libaio --direct=1 --time_based --output-format=terse --terse-version=3"


def files(kernel: Kernel, place: str, seconds: int) -> list[float]:
    """Return what each load comes to there, and the seconds of a tree of files that is written, read and removed."""
    found = []
    for words, field in LOADS.values():
        line = f"{_FIO} --directory={place} --runtime={seconds} {words} | tail -n 1 | cut -d ';' -f {field}"
        found.append(float(kernel.run(line).split()[-1]))
    work = f"mkdir -p /tmp/work && mount -o ro {kernel.work} /tmp/work"
    # in its own memory first, so that what is read is not its disk's
    tree = f"cp -a /tmp/work/source /tmp/tree && umount /tmp/work && cd {place}"
    clone = "for i in 1 2 3 4; do cp -a /tmp/tree $i; done; sync; cat $(find 1 2 3 4 -type f) | wc -c; rm -r 1 2 3 4"
    out = kernel.run(f"{work} && {tree} && bash -c 'time ({clone})' 2>&1; cd / && rm -r /tmp/tree")
    match = re.search(r"real\s+(\d+)m([\d.]+)s", out)
    assert match, out
    return [*found, int(match[1]) * 60 + float(match[2])]


def sockets(kernel: Kernel, to: str) -> list[float]:
    """Return microseconds of a message there and back, and Mbit/s of a stream, of each kind of socket."""
    ping = float(kernel.run(f"/bench/sockets {to} ping 2000").split()[-1])
    send = float(kernel.run(f"/bench/sockets {to} send 2000").split()[-1])
    return [ping / 1000, 65536 * 8 / send * 1000]


@contextmanager
def partition(host: Machine) -> Iterator[Kernel]:
    """Yield a partition with the directory and a vsock."""
    host.load()
    host.run("modprobe -a vhost_vsock shimos_backend")
    kernel = shimos.start(host, f"--fs {SHARED},tag=bench --vsock={CID}")
    try:
        yield kernel
    finally:
        shimos.stop(host)


@contextmanager
def guest(host: Machine) -> Iterator[Kernel]:
    """Yield a KVM guest with the same."""
    host.run("modprobe -a vhost_vsock vhost_net && (modprobe kvm_amd || modprobe kvm_intel)")
    host.run(f"virtiofsd --socket-path /run/bench.fs --shared-dir {SHARED} >/run/bench-fs.log 2>&1 &")
    host.run("until [ -S /run/bench.fs ]; do sleep 0.1; done")
    more = (
        f" -object memory-backend-memfd,id=mem,size={MEMORY_MIB}M,share=on -machine memory-backend=mem"
        " -chardev socket,id=fs,path=/run/bench.fs -device vhost-user-fs-pci,chardev=fs,tag=bench"
        f" -device vhost-vsock-pci,guest-cid={CID}"
    )
    with progress.step("booting the KVM guest"):
        kvm.start(host, "web", WEB, "/dev/ram0", more)
        console = kvm.attach(host, "web", 3)
    try:
        yield Kernel("web", WEB, console, "/dev/vdc", "/dev/vdd")
    finally:
        kvm.stop(host, "web")
        host.shell(3).recover()


def measured(kernel: Kernel, seconds: int) -> tuple[list[float], list[float], list[float]]:
    """Return figures of the directory, of the disk, and of sockets: by a vsock, and by the network."""
    kernel.run("modprobe -q virtiofs; modprobe -q vmw_vsock_virtio_transport; mkdir -p /mnt/fs /mnt/disk")
    kernel.run(f"mount -t virtiofs bench /mnt/fs && mkfs.ext4 -q -F {kernel.ram} && mount {kernel.ram} /mnt/disk")
    of_files = files(kernel, "/mnt/fs", seconds)
    of_disk = files(kernel, "/mnt/disk", seconds)
    kernel.run("umount /mnt/fs /mnt/disk")
    return of_files, of_disk, [*sockets(kernel, "vsock 2"), *sockets(kernel, f"tcp {HOST}")]


def table(seconds: int) -> None:
    """Measure and print."""
    with on_host.machine(icount=False) as host:
        on_host.prepare(host)
        host.run(f"mkdir -p {SHARED} && mount -t tmpfs none {SHARED} && ln -sf {PROGRAMS}/virtiofsd /usr/local/bin/")
        with on_host.bridge(host):
            host.run(f"({CHROOT}/bench/sockets serve >/run/bench-sockets 2>&1 &)")
            itself = on_host.kernel(host, 1)
            own_files = files(itself, SHARED, seconds)
            own_sockets = sockets(itself, f"tcp {HOST}")
            with partition(host) as kernel:
                by_shimos = measured(kernel, seconds)
            with guest(host) as kernel:
                by_kvm = measured(kernel, seconds)
    rows = [*LOADS, "4 trees of C sources written, read, removed, s"]
    print("\n| files | host itself | partition, virtiofs | KVM, virtiofs | partition, disk | KVM, disk |")
    print("| --- |" + " --- |" * 5)
    for name, *cells in zip(rows, own_files, by_shimos[0], by_kvm[0], by_shimos[1], by_kvm[1], strict=True):
        print(f"| {name} | {' | '.join(f'{cell:.5g}' for cell in cells)} |")
    print("\n| sockets to the host | loopback TCP | partition, vsock | KVM, vsock | partition, TCP | KVM, TCP |")
    print("| --- |" + " --- |" * 5)
    for number, name in enumerate(("a byte there and back, us", "64 KiB pieces, Mbit/s")):
        cells = [own_sockets[number], *(s[2][number + at] for at in (0, 2) for s in (by_shimos, by_kvm))]
        print(f"| {name} | {' | '.join(f'{cell:.5g}' for cell in cells)} |")
