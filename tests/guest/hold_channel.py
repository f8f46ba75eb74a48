#!/usr/bin/python3
"""Open a channel of /dev/ikc to kernel 1 and keep it; makes /tmp/open when it is open."""

import fcntl
import os
import struct
import time
from pathlib import Path

IKC_VERSION = 4
IKC_IOC_OPEN = 0xC020B800

channel = os.open("/dev/ikc", os.O_RDWR)
fcntl.ioctl(channel, IKC_IOC_OPEN, bytearray(struct.pack("8I", 32, IKC_VERSION, 1, 9, 9, 16, 64, 0)))
Path("/tmp/open").touch()
time.sleep(600)
