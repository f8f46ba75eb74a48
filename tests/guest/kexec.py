#!/usr/bin/python3
"""Go on with another kernel, as `kexec -l` and `kexec -e` do: kexec.py KERNEL INITRD COMMAND-LINE."""

import ctypes
import os
import sys

KEXEC_FILE_LOAD = 320
LINUX_REBOOT_CMD_KEXEC = 0x45584543


def check(result: int) -> None:
    """Raise what C has left in errno."""
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


c = ctypes.CDLL(None, use_errno=True)
kernel, initrd = (os.open(path, os.O_RDONLY) for path in sys.argv[1:3])
line = sys.argv[3].encode() + b"\0"
check(c.syscall(KEXEC_FILE_LOAD, kernel, initrd, ctypes.c_ulong(len(line)), line, ctypes.c_ulong(0)))
os.sync()
check(c.reboot(LINUX_REBOOT_CMD_KEXEC))
