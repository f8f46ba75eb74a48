"""Starting the emulator and talking to its monitor."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qemu.qmp import QMPError
from qemu.qmp.legacy import QEMUMonitorProtocol

from lab import cache, progress
from lab.devices import Disk, Nic
from lab.kernels import Kernel
from lab.paths import CACHE

#: Time limit for the probe whether KVM can boot a stock kernel here.
_PROBE_SECONDS = 20.0
SHELLS = 8


@dataclass(frozen=True)
class PciDevice:
    """A PCIe device behind a root port of its own, or beside the one before it."""

    #: QEMU's name and options: ``nvme,serial=lab1``.
    model: str
    #: MiB of an empty disk for it; 0: it takes none.
    disk: int = 0
    #: What QEMU shall know of the disk, too: ``throttling.bps-total=1000000``.
    disk_options: str = ""
    #: One more function of the device before.
    same_port: bool = False


def _pci_arguments(devices: Sequence[PciDevice], directory: Path) -> list[str]:
    args: list[str] = []
    port = function = 0
    for number, device in enumerate(devices):
        port, function = (port, function + 1) if device.same_port else (port + 1, 0)
        if not function:
            args += ["-device", f"pcie-root-port,id=port{port},chassis={port},slot={port}"]
        drive = ""
        if device.disk:
            path = directory / f"pci{number}"
            with path.open("wb") as file:
                file.truncate(device.disk << 20)
            options = f",{device.disk_options}" if device.disk_options else ""
            args += ["-drive", f"file={path},if=none,id=pci{number},format=raw,cache=unsafe{options}"]
            drive = f",drive=pci{number}"
        args += ["-device", f"{device.model}{drive},id=given{number},bus=port{port},addr=0.{function},multifunction=on"]
    return args


@dataclass
class Config:
    """One emulated machine."""

    kernel: Path
    initrd: Path
    cmdline: str
    directory: Path  # for sockets, logs and throw-away layers
    disks: list[Disk] = field(default_factory=list)
    nics: list[Nic] = field(default_factory=list)
    pci: Sequence[PciDevice] = ()
    cpus: int = 4
    memory: str = "4G"
    shells: int = SHELLS
    accel: str = "tcg"  # or kvm, icount, tcg-single
    extra: list[str] = field(default_factory=list)

    def arguments(self) -> list[str]:
        """The emulator's command line."""
        d = self.directory
        args = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        args += ["-machine", "q35", "-smp", str(self.cpus), "-m", self.memory]
        if self.accel == "kvm":
            args += ["-accel", "kvm", "-cpu", "host"]
        else:
            # Counting instructions, the emulator lets virtual time pass by a
            # nanosecond for each, and runs one CPU at a time.
            threads = "multi" if self.accel == "tcg" else "single"
            args += ["-accel", f"tcg,thread={threads}"]
            if self.accel == "icount":
                args += ["-icount", "shift=0"]
            # The emulator does `rep movsb` a byte at a time. Without these two
            # features kernels clear and copy pages in ways it does faster.
            args += ["-cpu", "max,-erms,-fsrm"]
        args += ["-kernel", str(self.kernel), "-initrd", str(self.initrd), "-append", self.cmdline]
        args += ["-chardev", f"file,id=log,path={d / 'ttyS0.log'}", "-serial", "chardev:log"]
        args += ["-qmp", f"unix:{d / 'qmp'},server=on,wait=off"]
        args += ["-device", "virtio-rng-pci"]
        for disk in self.disks:
            args += disk.arguments(d)
        for number, nic in enumerate(self.nics):
            args += nic.arguments(number)
        args += _pci_arguments(self.pci, d)
        if self.shells:
            args += ["-device", f"virtio-serial-pci,max_ports={self.shells + 1}"]
        for number in range(self.shells):
            args += ["-device", f"virtconsole,chardev=shell{number}"]
        return args + self.extra


def _connected_pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a TCP connection over loopback.

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

    def __init__(self, config: Config):
        self.config = config
        self.log = config.directory / "ttyS0.log"
        self._errors = config.directory / "qemu.log"
        self._qmp: QEMUMonitorProtocol | None = None
        self.log.touch()
        pairs = [_connected_pair() for _ in range(config.shells)]
        #: Our ends of the machine's consoles.
        self.shells = [ours for ours, _ in pairs]
        arguments = config.arguments()
        for number, (_, theirs) in enumerate(pairs):
            arguments += ["-chardev", f"socket,id=shell{number},fd={theirs.fileno()}"]
        with self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                env={**os.environ, "TMPDIR": str(config.directory)},
                pass_fds=[theirs.fileno() for _, theirs in pairs],
            )
        for _, theirs in pairs:
            theirs.close()

    def alive(self) -> bool:
        return self.process.poll() is None

    def errors(self) -> str:
        """What QEMU itself complained about."""
        return self._errors.read_text(errors="replace")

    def console(self) -> str:
        """Everything the machine's kernel wrote to its serial console."""
        return self.log.read_bytes().decode(errors="replace").replace("\r\n", "\n")

    def qmp(self, command: str, **arguments: Any) -> Any:
        """Run a monitor command and return its answer."""
        if self._qmp is None:
            monitor = QEMUMonitorProtocol(str(self.config.directory / "qmp"))
            monitor.connect(negotiate=True)
            self._qmp = monitor
        return self._qmp.cmd(command, **arguments)

    def wait(self, timeout: float) -> int:
        """Wait for QEMU's own end."""
        return self.process.wait(timeout)

    def stop(self) -> None:
        """End it; nothing on its disks is worth saving."""
        if self._qmp is not None:
            with suppress(OSError, QMPError):  # it may be dead
                self._qmp.close()
            self._qmp = None
        if self.alive():
            self.process.kill()
        self.process.wait(30)


def accelerator(kernel: Kernel, initrd: Path) -> str:
    """``kvm`` if it really boots this stock kernel here, else ``tcg``.

    A /dev/kvm that opens proves little: it may be nested in a way in which no
    stock kernel comes up.  The answer is kept until this machine boots anew.
    """
    forced = os.environ.get("SHIMOS_ACCEL")
    if forced:
        return forced
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    file = CACHE / "accelerator.json"
    with cache.lock("accelerator"):
        try:
            known = json.loads(file.read_text())
            if known["boot_id"] == boot_id:
                return str(known["accel"])
        except (OSError, ValueError, KeyError):
            pass
        with progress.step("probing whether KVM can boot a stock kernel here"):
            accel = "kvm" if _kvm_boots(kernel, initrd) else "tcg"
        progress.say(f"  it {'can' if accel == 'kvm' else 'cannot: using emulation (TCG)'}")
        new = file.with_suffix(".new")
        new.write_text(json.dumps({"boot_id": boot_id, "accel": accel}))
        new.rename(file)
    return accel


def _kvm_boots(kernel: Kernel, initrd: Path) -> bool:
    with tempfile.TemporaryDirectory(prefix="probe-") as directory:
        cmdline = "console=ttyS0 panic=-1 tsc=reliable"
        config = Config(kernel.image, initrd, cmdline, Path(directory), shells=0, accel="kvm", memory="1G")
        emulator = Emulator(config)
        try:
            deadline = time.monotonic() + _PROBE_SECONDS
            while emulator.alive() and time.monotonic() < deadline:
                if "lab-init: " in emulator.console():
                    return True
                time.sleep(0.1)
            return False
        finally:
            emulator.stop()
