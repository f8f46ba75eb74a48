"""Starting the emulator and talking to its monitor."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qemu.qmp import QMPError
from qemu.qmp.legacy import QEMUMonitorProtocol

from lab.arch import DEFAULT, Arch
from lab.devices import Disk, Nic, PciDevice, Place, pci_arguments

SHELLS = 8


@dataclass
class Config:
    """One emulated machine, wherever it runs."""

    #: None: its firmware looks on the disks for what to boot.
    kernel: Path | None
    initrd: Path | None
    cmdline: str
    disks: list[Disk] = field(default_factory=list)
    nics: Sequence[Nic] = ()
    pci: Sequence[PciDevice] = ()
    cpus: int = 4
    memory: str = "4G"
    shells: int = SHELLS
    accel: str = "tcg"  # or kvm, icount, tcg-single
    arch: Arch = DEFAULT
    acpi: bool = True
    extra: Sequence[str] = ()

    def arguments(self, place: Place) -> list[str]:
        """Return the emulator's command line; the files of a new template are made."""
        args = [self.arch.emulator, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        # Whoever started it may be killed: nothing is left running.
        args += ["-run-with", "exit-with-parent=on"]
        args += ["-smp", str(self.cpus), "-m", self.memory, *self._memory(place)]
        if self.accel == "kvm":
            args += ["-accel", "kvm", "-cpu", "host"]
        else:
            # Counting instructions, the emulator lets virtual time pass by a
            # nanosecond for each, and runs one CPU at a time.
            threads = "multi" if self.accel == "tcg" else "single"
            args += ["-accel", f"tcg,thread={threads}"]
            if self.accel == "icount":
                args += ["-icount", "shift=0"]
            args += ["-cpu", self.arch.cpu]
        if self.kernel:
            args += ["-kernel", str(self.kernel), "-initrd", str(self.initrd), "-append", self.cmdline]
        # A clone's log begins with its template's.
        args += ["-chardev", f"file,id=log,append=on,path={place.directory / 'ttyS0.log'}", "-serial", "chardev:log"]
        args += ["-qmp", "chardev:monitor"]
        args += ["-device", "virtio-rng-pci"]
        for disk in self.disks:
            args += disk.arguments(place)
        for number, nic in enumerate(self.nics):
            args += nic.arguments(number)
        args += pci_arguments(self.pci, place)
        if self.shells:
            args += ["-device", f"virtio-serial-pci,max_ports={self.shells + 1}"]
        for number in range(self.shells):
            args += ["-device", f"virtconsole,chardev=shell{number}"]
        if place.role == "clone":
            args += ["-incoming", "defer", "-S"]
        return [*args, *self.extra]

    def _memory(self, place: Place) -> list[str]:
        """Return arguments for the memory: a template's is a file, which its clones map for themselves."""
        board, more = self.arch.described(self.acpi)
        if place.role == "cold":
            return ["-machine", board, *more]
        share = {"template": "share=on", "clone": "share=off,readonly=on,rom=off"}[place.role]
        file = f"memory-backend-file,id=ram,size={self.memory},mem-path={place.ground / 'ram'},{share}"
        return ["-object", file, "-machine", f"{board},memory-backend=ram", *more]


def _connected_pair() -> tuple[socket.socket, socket.socket]:
    """Return two ends of a TCP connection over loopback.

    A virtconsole throws output away when its socket is full. A Unix socket counts
    each small write as a large one; TCP joins them and holds far more.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
    for end in (ours, theirs):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return ours, theirs


class Emulator:
    """A running QEMU process."""

    def __init__(self, config: Config, place: Place):
        self.config = config
        self.place = place
        self.log = place.directory / "ttyS0.log"
        self._errors = place.directory / "qemu.log"
        self._qmp: QEMUMonitorProtocol | None = None
        self.log.touch()
        arguments = config.arguments(place)
        pairs = [_connected_pair() for _ in range(config.shells)]
        #: Our ends of the machine's consoles.
        self.shells = [ours for ours, _ in pairs]
        self._monitor, monitor = socket.socketpair()
        ends = {f"shell{number}": theirs for number, (_, theirs) in enumerate(pairs)} | {"monitor": monitor}
        for name, end in ends.items():
            arguments += ["-chardev", f"socket,id={name},fd={end.fileno()}"]
        with self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                env={**os.environ, "TMPDIR": str(place.directory)},
                pass_fds=[end.fileno() for end in ends.values()],
            )
        for end in ends.values():
            end.close()

    def alive(self) -> bool:
        """Return whether the emulator runs."""
        return self.process.poll() is None

    def errors(self) -> str:
        """Return what QEMU itself complained about."""
        return self._errors.read_text(errors="replace")

    def console(self) -> str:
        """Return everything the machine's kernel wrote to its serial console."""
        return self.log.read_bytes().decode(errors="replace").replace("\r\n", "\n")

    def qmp(self, command: str, **arguments: Any) -> Any:
        """Run a monitor command and return its answer."""
        if self._qmp is None:
            monitor = QEMUMonitorProtocol(self._monitor)
            monitor.connect(negotiate=True)
            self._qmp = monitor
        return self._qmp.cmd(command, **arguments)

    def hmp(self, command: str) -> str:
        """Run a command of the monitor for people and return what it prints."""
        return str(self.qmp("human-monitor-command", **{"command-line": command}))

    def wait(self, timeout: float) -> int:
        """Wait for QEMU's own end."""
        return self.process.wait(timeout)

    def stop(self) -> None:
        """End it; nothing on its disks is worth saving."""
        if self._qmp is not None:
            with suppress(OSError, QMPError, EOFError):  # it may be dead
                self._qmp.close()
            self._qmp = None
        self._monitor.close()
        if self.alive():
            self.process.kill()
        self.process.wait(30)
