#!/usr/bin/python3
"""Load another kernel, as kexec-tools do: kexec.py [-p] KERNEL INITRD COMMAND-LINE.

It is gone on with at once, or with -p when this one panics.
"""

import ctypes
import os
import sys

KEXEC_FILE_LOAD = 320
KEXEC_FILE_ON_CRASH = 2
LINUX_REBOOT_CMD_KEXEC = 0x45584543


def check(result: int) -> None:
    """Raise what C has left in errno."""
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


c = ctypes.CDLL(None, use_errno=True)
arguments = sys.argv[1:]
on_crash = arguments[0] == "-p"
kernel, initrd = (os.open(path, os.O_RDONLY) for path in arguments[on_crash:][:2])
line = arguments[-1].encode() + b"\0"
flags = ctypes.c_ulong(KEXEC_FILE_ON_CRASH * on_crash)
check(c.syscall(KEXEC_FILE_LOAD, kernel, initrd, ctypes.c_ulong(len(line)), line, flags))
if not on_crash:
    os.sync()
    check(c.reboot(LINUX_REBOOT_CMD_KEXEC))
