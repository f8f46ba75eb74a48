"""Compiling a C project on a shared disk, and while a web server works beside it."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from bench.compare.system import HOST, Kernel, System, together
from bench.compare.workload import Group, Workload

#: The disk that the owner exports over the network; no kernel that works has it.
_EXPORTED = "work-db"
_FEW = "adler32.o compress.o crc32.o gzclose.o uncompr.o zutil.o"


def compile_it(system: System, kernel: Kernel, source: str = "") -> float:
    """Return seconds of make with two jobs on the disk, from cold caches to the last byte written."""
    target = "libz.a" if system.scale >= 1 else _FEW
    script = (
        f"set -e; mount {source or kernel.work} /work; rm -rf /work/build; cp -a /work/source /work/build; sync;"
        " echo 3 >/proc/sys/vm/drop_caches; begin=$EPOCHREALTIME;"
        f" make -s -C /work/build -j2 {target} >/dev/null; sync; echo $begin $EPOCHREALTIME"
    )
    # Mounted for this script only: two jobs of one kernel have a disk each.
    text = kernel.run(f"unshare --mount --propagation private bash -c '{script}'", timeout=3600)
    begin, end = map(float, text.split()[-2:])
    return end - begin


def on_disk(jobs: int) -> Callable[[System], float]:
    """Measure on the kernel's own disk, or its virtual block device: the mean of the jobs, in seconds."""

    def run(system: System) -> float:
        with system.jobs(jobs) as kernels:
            return statistics.mean(together(kernels, lambda kernel: compile_it(system, kernel)))

    return run


def over_nbd(system: System) -> float:
    """Return seconds on the owner's disk by the network block device."""
    owner, web = system.owner, system.pair[1]
    disk = system.machine.disk(_EXPORTED)
    owner.run(
        f"printf '[generic]\\n[work]\\nexportname = {disk}\\n' >/tmp/nbd.conf && nbd-server -C /tmp/nbd.conf -p /tmp/nbd.pid"
    )
    try:
        web.run(f"modprobe nbd && nbd-client -N work {HOST} /dev/nbd0")
        try:
            return compile_it(system, web, "/dev/nbd0")
        finally:
            web.run("nbd-client -d /dev/nbd0")
    finally:
        owner.run("kill $(cat /tmp/nbd.pid)")


def over_nfs(system: System) -> float:
    """Return seconds in a directory of the owner by NFS 4."""
    owner, web = system.owner, system.pair[1]
    disk = system.machine.disk(_EXPORTED)
    owner.run(
        f"mount {disk} /work && modprobe nfsd && {{ mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd; }}"
        " && exportfs -o rw,no_root_squash,fsid=0,no_subtree_check '*:/work' && rpc.nfsd -N 3 4"
        " && echo Y >/proc/fs/nfsd/v4_end_grace && rpc.mountd -N 3"
    )
    try:
        return compile_it(system, web, f"-t nfs4 {HOST}:/")
    finally:
        owner.run("rpc.nfsd 0; pkill -x rpc.mountd; exportfs -ua; umount /proc/fs/nfsd /work")


def _shared(name: str, what: str, run: Callable[[System], float], paper: str) -> Workload:
    return Workload(
        name, what, "s", run, systems=("shimos",), base="compile", paper={"shimos": paper}, runs=0.6, long=True
    )


GROUP = Group(
    "compile",
    "Compiling zlib on a shared disk",
    (
        Workload(
            "compile",
            "{1/2}: native on its disk, the others on their virtual block device",
            "s",
            on_disk(1),
            paper={"shimos": "0.999", "kvm": "0.75", "xen": "0.72"},
            runs=0.6,
        ),
        Workload(
            "compile-2",
            "{1/2, 1/2}, native {2/4}: a disk for each",
            "s",
            on_disk(2),
            paper={"shimos": "1.005", "kvm": "0.75", "xen": "0.74"},
            runs=0.6,
            long=True,
        ),
        _shared("compile-nbd", "{1/2} over NBD (paper: iSCSI)", over_nbd, "0.995"),
        _shared("compile-nfs", "{1/2} over NFS 4", over_nfs, "0.93"),
    ),
    (
        "The source package of Debian 13, configured, compiled by `make -j2` with cold caches, `sync` included; --quick"
        " compiles six of its files. In SHIMOS' {1/2, 1/2} the host compiles on its own disk and the partition on the"
        " host's. The papers compiled Linux itself.",
    ),
    "A compiler computes, and an emulator translates what it computes: the same for all. What differs is fork, exec and"
    " page faults, for which see the first table.",
)
