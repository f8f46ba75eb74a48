"""Disks, network cards and PCIe devices that a machine gets beside its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from lab.command import run

_UNITS = {"K": 10, "M": 20, "G": 30}


@dataclass(frozen=True)
class Place:
    """Where a machine keeps what it writes, and what becomes of that.

    ``cold``: in its own directory, gone with the machine.  ``template``: in the directory that
    will be the template.  ``clone``: over a template's, which stays as it is.
    """

    role: Literal["cold", "template", "clone"]
    #: Sockets, log and throw-away layers of this machine.
    directory: Path
    #: The template's directory; the same for a cold machine.
    ground: Path

    @property
    def throw_away(self) -> str:
        """The property of a drive whose writes go to a file that is already deleted."""
        return ",snapshot=on" if self.role == "clone" else ""

    def empty(self, name: str, bytes_: int) -> str:
        """Return properties of a drive that is an empty raw file; it is made unless a template has it."""
        file = self.ground / name
        if self.role != "clone":
            file.touch()
            os.truncate(file, bytes_)
        return f"file={file},format=raw{self.throw_away}"

    def image(self, name: str, base: Path) -> str:
        """Return properties of a drive with an image that stays as it is; a template's writes are a layer over it."""
        if self.role == "cold":
            return f"file={base},format=raw,snapshot=on"
        layer = self.ground / f"{name}.qcow2"
        if self.role == "template":
            run("qemu-img", "create", "-q", "-f", "qcow2", "-b", base, "-F", "raw", layer)
        return f"file={layer},format=qcow2{self.throw_away}"

    def late(self, name: str, image: Path) -> str:
        """Return properties of a drive whose content a template does not have: its machine has not read it yet."""
        if self.role == "template":
            return self.empty(name, image.stat().st_size)
        return f"file={image},format=raw,snapshot=on"


@dataclass(frozen=True)
class Disk:
    """A disk of the machine; nothing written to it outlives the machine.

    ``content`` is a size ("256M") for an empty disk, an image, or a function
    that makes an image: Disk("root", partition_root).  The host finds the disk
    by its serial: ``machine.disk("root")``.  ``drive`` and ``device`` are more
    properties for QEMU, such as "throttling.iops-total=500" and "num-queues=1".
    A ``late`` image may differ from clone to clone of one template; its size may not.
    """

    serial: str  # of at most 20 characters
    content: str | Path | Callable[[], Path]
    bus: Literal["virtio", "nvme"] = "virtio"
    drive: str = ""
    device: str = ""
    late: bool = False

    def made(self) -> Disk:
        """Return the same with its image made."""
        return replace(self, content=self.content()) if callable(self.content) else self

    def arguments(self, place: Place) -> list[str]:
        """Return the emulator's arguments for it."""
        if isinstance(self.content, str):
            file = place.empty(f"{self.serial}.raw", size(self.content))
        else:
            image = self.content if isinstance(self.content, Path) else self.content()
            file = place.late(f"{self.serial}.raw", image) if self.late else place.image(self.serial, image)
        drive = f"if=none,id=drive-{self.serial},cache=unsafe,discard=unmap"
        model = {"virtio": "virtio-blk-pci", "nvme": "nvme"}[self.bus]
        device = f"{model},id={self.serial},drive=drive-{self.serial},serial={self.serial}"
        return ["-drive", _join(file, drive, self.drive), "-device", _join(device, self.device)]


@dataclass(frozen=True)
class Nic:
    """A network card whose wire leads to the emulator's own user network.

    There the test's process is OUTSIDE: what it serves on 127.0.0.1 is reached
    there, by host and bridged partitions alike; an address comes by DHCP.
    ``device`` are more properties for QEMU.
    """

    model: str = "virtio-net-pci"
    device: str = ""

    @property
    def module(self) -> str:
        """Its driver; vmxnet3 is the one emulated card that cuts up large packets by itself."""
        return {"virtio-net-pci": "virtio_net"}.get(self.model, self.model)

    def arguments(self, number: int) -> list[str]:
        """Return the emulator's arguments for it.  Each card has a network of its own."""
        device = f"{self.model},id=nic{number},netdev=net{number},mac={mac(number)}"
        net = f"user,id=net{number},net={_net(number)}.0/24,ipv6=off"
        return ["-netdev", net, "-device", _join(device, self.device)]

    def setup(self, number: int) -> str:
        """Return the host's commands that give it the address that DHCP would."""
        link, net = f"eth{number}", _net(number)
        commands = f"ip link set {link} up && ip address add {net}.15/24 dev {link}"
        return commands + (f" && ip route add default via {net}.2" if number == 0 else "")


#: The address of the test's process on the first card's network.
OUTSIDE = "10.0.2.2"


def mac(number: int) -> str:
    """Return the hardware address of a machine's card."""
    return f"52:54:00:00:00:{number:02x}"


def _net(number: int) -> str:
    return f"10.0.{2 + number}"


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


def pci_arguments(devices: Sequence[PciDevice], place: Place) -> list[str]:
    """Return the emulator's arguments for all devices, each on a port and so on a bus of its own, from bus 1 on."""
    args: list[str] = []
    port = function = 0
    for number, device in enumerate(devices):
        port, function = (port, function + 1) if device.same_port else (port + 1, 0)
        if not function:
            args += ["-device", f"pcie-root-port,id=port{port},chassis={port},slot={port}"]
        drive = ""
        if device.disk:
            file = place.empty(f"pci{number}", device.disk << 20)
            args += ["-drive", _join(file, f"if=none,id=pci{number},cache=unsafe", device.disk_options)]
            drive = f",drive=pci{number}"
        args += ["-device", f"{device.model}{drive},id=given{number},bus=port{port},addr=0.{function},multifunction=on"]
    return args


def _join(*properties: str) -> str:
    return ",".join(filter(None, properties))


def size(text: str) -> int:
    """Return bytes of a size such as 64M."""
    return int(text[:-1]) << _UNITS[text[-1]] if text[-1] in _UNITS else int(text)
