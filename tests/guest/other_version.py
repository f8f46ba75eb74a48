#!/usr/bin/python3
"""Ask KLoader as a tool of another release would; prints what it answers."""

import errno
import fcntl
import os
import struct

READ_WRITE = 3 << 30 | 0xB7 << 8
SHIMOS_IOC_INFO, SHIMOS_IOC_ERROR = READ_WRITE | 0, READ_WRITE | 1
TEXT = 512
#: A version that nobody has, and a structure of its own size.
VERSION, SIZE = 77, 24

device = os.open("/dev/shimos", os.O_RDWR)
asked = bytearray(struct.pack("II", SIZE, VERSION) + bytes(4096))
try:
    fcntl.ioctl(device, SHIMOS_IOC_INFO | SIZE << 16, asked)
except OSError as refused:
    print(errno.errorcode[refused.errno or 0])
else:
    print("answered")
print("now", *struct.unpack_from("II", asked))
error = bytearray(struct.pack("II", 8 + TEXT, VERSION) + bytes(TEXT))
fcntl.ioctl(device, SHIMOS_IOC_ERROR | len(error) << 16, error)
print(bytes(error[8:]).partition(b"\0")[0].decode())
