//! The call of `/dev/shimos` that gives a partition a PCIe device.

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::errno::Errno;

use super::raw::{Argument, Header, MAGIC};

/// Of a device that is given: no IOMMU need confine it.
pub const PCI_UNSAFE: u32 = 1;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pci {
    pub hdr: Header,
    pub id: u32,
    pub segment: u32,
    pub bus: u8,
    pub device: u8,
    pub function: u8,
    pub reserved: u8,
    pub flags: u32,
}

// SAFETY: see Argument: integers behind the header.
unsafe impl Argument for Pci {}

mod ioctl {
    use super::{MAGIC, Pci};

    nix::ioctl_write_ptr!(pci, MAGIC, 12, Pci);
}

/// Give a partition a PCIe device; it comes back when the partition is destroyed.
pub fn pci(device: &File, argument: &Pci) -> Result<(), Errno> {
    // SAFETY: the kernel reads the structure, and knows its size by the call's number.
    unsafe { ioctl::pci(device.as_raw_fd(), argument) }.map(drop)
}
