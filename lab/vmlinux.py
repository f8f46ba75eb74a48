"""The kernel in a bzImage, unpacked: an emulated partition would spend a third of its start on that."""

from __future__ import annotations

import struct
from pathlib import Path

from lab.command import CommandError, run

#: How Debian's packings begin, and what undoes them.
_PACKERS = {
    b"\x28\xb5\x2f\xfd": ("zstd", "-dcq"),
    b"\x02\x21\x4c\x18": ("lz4", "-dcq"),
    b"\xfd7zXZ": ("xz", "-dcq"),
}
#: Where the setup header has the number of its sectors, and the payload's place and length.
_SECTORS, _PAYLOAD = 0x1F1, 0x248
_FILTER = 'from=$1 to=$2; shift 2; "$@" <"$from" >"$to"'


def unpack(image: Path, target: Path) -> None:
    """Write the ELF file that a bzImage holds (Linux x86 boot protocol, 2.08 and later) to ``target``."""
    data = image.read_bytes()
    offset, length = struct.unpack_from("<II", data, _PAYLOAD)
    begin = ((data[_SECTORS] or 4) + 1) * 512 + offset
    # The last word is the size, which the programs would take for damage.
    payload = data[begin : begin + length - 4]
    program = next((words for magic, words in _PACKERS.items() if payload.startswith(magic)), None)
    if not program:
        raise CommandError(f"{image}: lab/vmlinux.py does not know how the kernel in it is packed")
    packed, new = target.with_suffix(".packed"), target.with_suffix(".new")
    packed.write_bytes(payload)
    run("sh", "-c", _FILTER, "sh", packed, new, *program)
    packed.unlink()
    with new.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            raise CommandError(f"{image}: what it holds is no ELF file")
    new.rename(target)
