"""Disks and network cards that a machine gets beside its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

_UNITS = {"K": 10, "M": 20, "G": 30}


@dataclass(frozen=True)
class Disk:
    """A disk of the machine; nothing written to it outlives the machine.

    ``content`` is a size ("256M") for an empty disk, an image, or a function
    that makes an image: Disk("root", partition_root).  The host finds the disk
    by its serial: ``machine.disk("root")``.  ``drive`` and ``device`` are more
    properties for QEMU, such as "throttling.iops-total=500" and "num-queues=1".
    """

    serial: str  # of at most 20 characters
    content: str | Path | Callable[[], Path]
    bus: Literal["virtio", "nvme"] = "virtio"
    drive: str = ""
    device: str = ""

    def made(self) -> Disk:
        """The same with its image made."""
        return replace(self, content=self.content()) if callable(self.content) else self

    def arguments(self, directory: Path) -> list[str]:
        """For the emulator; an empty disk is a sparse file in the directory."""
        drive = f"if=none,id=drive-{self.serial},format=raw,cache=unsafe,discard=unmap"
        if isinstance(self.content, str):
            file = directory / f"{self.serial}.raw"
            file.touch()
            os.truncate(file, size(self.content))
        else:
            file = self.content if isinstance(self.content, Path) else self.content()
            # Writes go to a file that is already deleted.
            drive += ",snapshot=on"
        model = {"virtio": "virtio-blk-pci", "nvme": "nvme"}[self.bus]
        device = f"{model},id={self.serial},drive=drive-{self.serial},serial={self.serial}"
        return ["-drive", _join(f"file={file}", drive, self.drive), "-device", _join(device, self.device)]


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
        """For the emulator.  Each card has a network of its own."""
        device = f"{self.model},id=nic{number},netdev=net{number},mac={mac(number)}"
        net = f"user,id=net{number},net={_net(number)}.0/24,ipv6=off"
        return ["-netdev", net, "-device", _join(device, self.device)]

    def setup(self, number: int) -> str:
        """The host's commands that give it the address that DHCP would."""
        link, net = f"eth{number}", _net(number)
        commands = f"ip link set {link} up && ip address add {net}.15/24 dev {link}"
        return commands + (f" && ip route add default via {net}.2" if number == 0 else "")


#: The address of the test's process on the first card's network.
OUTSIDE = "10.0.2.2"


def mac(number: int) -> str:
    """The hardware address of a machine's card."""
    return f"52:54:00:00:00:{number:02x}"


def _net(number: int) -> str:
    return f"10.0.{2 + number}"


def _join(*properties: str) -> str:
    return ",".join(filter(None, properties))


def size(text: str) -> int:
    """Bytes of a size such as 64M."""
    return int(text[:-1]) << _UNITS[text[-1]] if text[-1] in _UNITS else int(text)
