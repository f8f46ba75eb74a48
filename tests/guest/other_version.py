#!/usr/bin/python3
"""Ask KLoader as a tool of another release would; prints what it answers."""

import errno
import fcntl
import os
import struct

READ_WRITE = 3 << 30 | 0xB7 << 8
SHIMOS_IOC_INFO, SHIMOS_IOC_ERROR = READ_WRITE | 0, READ_WRITE | 1
TEXT = 512
#: A version that nobody has.
VERSION = 77

device = os.open("/dev/shimos", os.O_RDWR)


def ask(size: int) -> int:
    """Ask with a structure of so many bytes; how many KLoader has."""
    asked = bytearray(struct.pack("II", size, VERSION) + bytes(8192))
    try:
        fcntl.ioctl(device, SHIMOS_IOC_INFO | size << 16, asked)
    except OSError as refused:
        print(errno.errorcode[refused.errno or 0])
    else:
        print("answered")
    right, version = struct.unpack_from("II", asked)
    print("now", right, version)
    error = bytearray(struct.pack("II", 8 + TEXT, VERSION) + bytes(TEXT))
    fcntl.ioctl(device, SHIMOS_IOC_ERROR | len(error) << 16, error)
    print(bytes(error[8:]).partition(b"\0")[0].decode())
    return int(right)


ask(ask(24))
