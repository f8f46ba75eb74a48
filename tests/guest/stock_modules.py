#!/usr/bin/python3
"""Lay modules of a kernel out uncompressed, for the insmod of a partition; prints their names.

stock_modules.py TO VERSION NAME...             with all that they need: 10-crc16.ko and so on, in loading order
stock_modules.py --alone TO VERSION NAME...     only these: brd.ko
"""

import lzma
import subprocess
import sys
from pathlib import Path


def said(*command: str) -> list[str]:
    """Return the lines that a program prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def needed(version: str, names: list[str]) -> dict[str, Path]:
    """Return modules and their needs by numbered names; what is built in has none."""
    lines = [line for name in names for line in said("modprobe", "-S", version, "--show-depends", name)]
    paths = dict.fromkeys(Path(line.split()[1]) for line in lines if line.startswith("insmod "))
    return {f"{n}-{path.name.removesuffix('.xz')}": path for n, path in enumerate(paths, 10)}


def main() -> None:
    """Lay them out as the arguments say, and print their names."""
    alone = sys.argv[1] == "--alone"
    to, version, *names = sys.argv[1 + alone :]
    if alone:
        found = {f"{name}.ko": Path(said("modinfo", "-n", "-k", version, name)[0]) for name in names}
    else:
        found = needed(version, names)
    Path(to).mkdir(parents=True, exist_ok=True)
    for name, path in found.items():
        data = path.read_bytes()
        (Path(to) / name).write_bytes(lzma.decompress(data) if path.suffix == ".xz" else data)
        print(name)


main()
