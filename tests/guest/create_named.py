#!/usr/bin/python3
"""Ask KLoader for a partition with a name that the tool refuses, a CPU and no memory; prints what it answers."""

import ctypes
import fcntl
import os
import struct
import sys

SHIMOS_IOC_CREATE, SHIMOS_IOC_ERROR = (3 << 30 | 0xB7 << 8 | number for number in (2, 1))
TEXT = 512

device = os.open("/dev/shimos", os.O_RDWR)
cpu = ctypes.c_uint32(1)
size, version = 8, 0
# The first time KLoader says which size and version it wants.
for _ in range(2):
    asked = struct.pack("II32sQQI", size, version, sys.argv[1].encode(), 0, ctypes.addressof(cpu), 1)
    create = bytearray(asked + bytes(size))
    try:
        fcntl.ioctl(device, SHIMOS_IOC_CREATE | size << 16, create)
    except OSError:
        size, version = struct.unpack_from("II", create)
error = bytearray(struct.pack("II", 8 + TEXT, version) + bytes(TEXT))
fcntl.ioctl(device, SHIMOS_IOC_ERROR | len(error) << 16, error)
print(bytes(error[8:]).partition(b"\0")[0].decode())
