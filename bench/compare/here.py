"""The same comparison on this machine instead of the lab's: `bench/run --here`.

For real hardware with SHIMOS installed and KVM.  Python, compiler and disks are the
lab's; commands run in the machine's own mount namespace, whose file `bench/run` has
opened before it entered the lab.  The disks become loop
devices of copies.  What is changed (CPUs switched off, a bridge of its own, a
mount) is undone at the end.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from contextlib import suppress
from pathlib import Path

import pexpect

from bench.compare.system import HOST, NATIVE
from lab import host as lab_host
from lab.devices import Disk
from lab.machine import LAB_INITRD, Machine
from lab.paths import CACHE
from lab.shell import Shell

#: The file descriptor of the machine's mount namespace; see bench/run.
_MOUNT = 7
_CPUS = 4
_SHELLS = 8
# The same terminal as a console of the lab's machine; see lab/guest/host-shell.
_SHELL = "stty raw -echo isig noflsh opost -onlcr; PS1= PS2= exec bash --noprofile --norc --noediting -i"


class Here(Machine):
    """This machine, as the comparison wants one; ``cache`` is where it sees the lab's cache."""

    def __init__(self, cache: Path, disks: list[Disk]):
        super().__init__(partitions=["6.12"], disks=disks, memory="all of it")
        self._cache = cache
        self._loops: dict[str, str] = {}
        self._offline: list[int] = []

    @property
    def accelerator(self) -> str:
        """None: real CPUs."""
        return "none: real hardware, or what this system takes for it"

    @property
    def process(self) -> int | None:
        """No emulator."""
        return None

    def start(self) -> Machine:
        """Make shells and disks, and leave four CPUs online."""
        for number in range(_SHELLS):
            self.consoles.add(_shell(number))
        release = self.run("uname -r").output.strip()
        self.versions = {self.flavour: release}
        self._directory = Path(tempfile.mkdtemp(prefix="here-", dir=CACHE))
        for disk in self.spec.disks:
            self._attach(disk.made(), release)
        (self._directory / "initrd").write_bytes(lab_host.partition_initrd().read_bytes())
        self.run(f"cp {self._outside('initrd')} {LAB_INITRD}")
        online = self.online_cpus()
        if len(online) < _CPUS:
            raise AssertionError(f"the comparison needs {_CPUS} CPUs, this machine has {len(online)}")
        self._offline = [cpu for cpu in online if cpu >= _CPUS]
        self._switch(0)
        return self

    def _outside(self, name: str) -> str:
        assert self._directory
        return shlex.quote(str(self._cache / self._directory.name / name))

    def _attach(self, disk: Disk, release: str) -> None:
        assert self._directory
        assert isinstance(disk.content, Path)
        source = shlex.quote(str(self._cache / disk.content.name))
        copy = self._outside(disk.serial)
        self.run(f"cp --sparse=always --reflink=auto {source} {copy}", timeout=300)
        self._loops[disk.serial] = self.run(f"losetup --find --show --direct-io=on {copy}").output.strip()
        if disk.serial in ("native", "web", "db"):
            # The kernel that all run is this machine's: its modules must be there.
            modules = f"/lib/modules/{release}"
            self.run(
                f"d=$(mktemp -d) && mount {self._loops[disk.serial]} $d && mkdir -p $d{modules}"
                f" && cp -a {modules}/kernel {modules}/modules.* $d{modules}; umount $d; rmdir $d",
                timeout=600,
            )

    def stop(self) -> None:
        """Give back what was taken."""
        undo = [f"umount -R {NATIVE}", f"rmdir -p {NATIVE} /lab/kernels", "rmmod brd", f"rm -f {LAB_INITRD}"]
        undo += [f"losetup --detach {loop}" for loop in self._loops.values()]
        for command in undo:
            self.run(command, check=False)
        self._switch(1)
        if self._directory:
            self.run(f"rm -rf {self._outside('')}")
            self._directory = None
        with suppress(OSError):
            self.consoles.close()

    def _switch(self, online: int) -> None:
        for cpu in self._offline:
            self.run(f"echo {online} >/sys/devices/system/cpu/cpu{cpu}/online")

    def disk(self, serial: str) -> str:
        """Return the path of the disk with this serial; raises KeyError if there is none."""
        return self._loops[serial]

    def site(self, port: int, address: str = HOST) -> str:
        """Return the address of a server as it is: clients run on this machine, too."""
        return f"http://{address}:{port}"


def _shell(number: int) -> Shell:
    enter = f"--mount=/proc/{os.getpid()}/fd/{_MOUNT}"  # nsenter's own files are others
    channel = pexpect.spawn("nsenter", [enter, "sh", "-c", _SHELL], timeout=60, maxread=65536, echo=False)
    channel.delaybeforesend = None
    shell = Shell(channel, f"shell {number} of this machine")
    shell.recover()
    return shell
