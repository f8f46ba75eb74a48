#!/usr/bin/python3
"""Run a guest of one instruction, hlt, under KVM and say why the guest was left."""

import ctypes
import fcntl
import mmap
import os
import struct

KVM_CREATE_VM = 0xAE01
KVM_GET_VCPU_MMAP_SIZE = 0xAE04
KVM_CREATE_VCPU = 0xAE41
KVM_SET_USER_MEMORY_REGION = 0x4020AE46
KVM_RUN = 0xAE80
KVM_SET_REGS = 0x4090AE82
KVM_GET_SREGS, KVM_SET_SREGS = 0x8138AE83, 0x4138AE84

kvm = os.open("/dev/kvm", os.O_RDWR)
vm = fcntl.ioctl(kvm, KVM_CREATE_VM, 0)
memory = mmap.mmap(-1, 0x1000)
memory[0] = 0xF4
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
fcntl.ioctl(vm, KVM_SET_USER_MEMORY_REGION, struct.pack("<IIQQQ", 0, 0, 0, 0x1000, address))
cpu = fcntl.ioctl(vm, KVM_CREATE_VCPU, 0)
state = mmap.mmap(cpu, fcntl.ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0))
print("ready", flush=True)
special = bytearray(312)
fcntl.ioctl(cpu, KVM_GET_SREGS, special)
struct.pack_into("<QIH", special, 0, 0, 0xFFFF, 0)  # the code segment begins at 0
fcntl.ioctl(cpu, KVM_SET_SREGS, special)
fcntl.ioctl(cpu, KVM_SET_REGS, struct.pack("<18Q", *[0] * 17, 2))
fcntl.ioctl(cpu, KVM_RUN, 0)
print("left for", struct.unpack_from("<I", state, 8)[0])
