r"""A machine of the lab for whoever wants to try something on it.

lab/run 6.12 -- uname -r      run a command as root, print its output, end with its status
lab/run 6.12                  a shell; `exit` or Ctrl-\ leaves it
lab/run --arch arm64 6.12     on another kind of machine
"""

from __future__ import annotations

import argparse
import shlex
import sys

from lab import kernels, progress, terminal
from lab.arch import ARCHES, DEFAULT
from lab.devices import Disk, Nic
from lab.machine import Machine
from lab.shell import ShellError


def main(words: list[str]) -> int:
    """Return the command's exit status, or 125 where the lab itself failed."""
    own, command = words, ""
    if "--" in words:
        own, command = words[: words.index("--")], shlex.join(words[words.index("--") + 1 :])
        if not command:
            raise SystemExit("lab/run: no command after --; leave out both for a shell")
    parser = _parser()
    arguments = parser.parse_args(own)
    if arguments.device_tree and ARCHES[arguments.arch].firmware is None:
        parser.error(f"--device-tree: machines of {arguments.arch} have ACPI; add --arch arm64")
    with Machine(
        arch=arguments.arch,
        acpi=not arguments.device_tree,
        kernel=arguments.kernel,
        partitions=arguments.partition or ["6.1", "6.12"],
        cpus=arguments.cpus,
        memory=arguments.memory,
        disks=[Disk(f"disk{n}", size) for n, size in enumerate(arguments.disk)],
        nics=[Nic()] * arguments.nics,
        debian_initrds=arguments.debian_initrds,
        load=not arguments.bare,
    ) as machine:
        progress.say(f"the machine is up after {machine.boot_seconds:.1f} s ({machine.accelerator})")
        if not command:
            terminal.shell(
                machine, _GREETING.format(kernel=machine.vmlinuz("6.1") if "6.1" in machine.versions else "…")
            )
            return 0
        return terminal.command(machine, command)


_GREETING = """
This is a shell on the emulated machine; `exit` leaves it (and ends the machine), Ctrl-\\ does so at once.

    shimos doctor
    shimos run web --cpuset 2-3 --memory 1G --kernel {kernel} --initrd /boot/lab-initrd.img
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernel", choices=sorted(kernels.FLAVOURS), help="the host's kernel")
    parser.add_argument("--partition", action="append", choices=sorted(kernels.FLAVOURS), help="kernel for partitions")
    parser.add_argument("--arch", choices=sorted(ARCHES), default=DEFAULT.name, help=f"of the machine ({DEFAULT.name})")
    parser.add_argument("--device-tree", action="store_true", help="an arm64 machine without ACPI")
    parser.add_argument("--cpus", type=int, default=4, metavar="N", help="number of CPUs (4)")
    parser.add_argument("--memory", default="4G", metavar="SIZE", help="memory (4G)")
    parser.add_argument("--disk", action="append", default=[], metavar="SIZE", help="one more, empty disk")
    parser.add_argument("--nics", type=int, default=0, metavar="N", help="number of network cards (0)")
    parser.add_argument(
        "--debian-initrds", action="store_true", help="have /boot/initrd.img-* on a foreign machine, too"
    )
    parser.add_argument("--bare", action="store_true", help="do not load KLoader")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ShellError as error:
        print(f"lab/run: {error}", file=sys.stderr)
        sys.exit(125)
