//! The ioctls of `/dev/ikc`.

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::errno::Errno;

use crate::abi::{AreaInfo, Connect, IOC_MAGIC, KernelInfo, Open, QueueInfo};

mod ioctl {
    use super::*;

    nix::ioctl_readwrite!(open, IOC_MAGIC, 0, Open);
    nix::ioctl_readwrite!(connect, IOC_MAGIC, 1, Connect);
    nix::ioctl_none!(notify, IOC_MAGIC, 2);
    nix::ioctl_readwrite!(kernel, IOC_MAGIC, 4, KernelInfo);
    nix::ioctl_readwrite!(queue, IOC_MAGIC, 5, QueueInfo);
    nix::ioctl_readwrite!(area, IOC_MAGIC, 6, AreaInfo);
}

/// The calls' numbers, to be compared with the header's.
#[cfg(test)]
pub const CALLS: &[(&str, u64)] = &[
    (
        "IKC_IOC_OPEN",
        nix::request_code_readwrite!(IOC_MAGIC, 0, size_of::<Open>()),
    ),
    (
        "IKC_IOC_CONNECT",
        nix::request_code_readwrite!(IOC_MAGIC, 1, size_of::<Connect>()),
    ),
    ("IKC_IOC_NOTIFY", nix::request_code_none!(IOC_MAGIC, 2)),
    (
        "IKC_IOC_KERNEL",
        nix::request_code_readwrite!(IOC_MAGIC, 4, size_of::<KernelInfo>()),
    ),
    (
        "IKC_IOC_QUEUE",
        nix::request_code_readwrite!(IOC_MAGIC, 5, size_of::<QueueInfo>()),
    ),
    (
        "IKC_IOC_AREA",
        nix::request_code_readwrite!(IOC_MAGIC, 6, size_of::<AreaInfo>()),
    ),
];

/// Open a channel: `IKC_IOC_OPEN`.
pub fn open(device: &File, argument: &mut Open) -> Result<(), Errno> {
    // SAFETY: the structure is the one the call is defined with, and lives
    // through the call; the same holds for every call below.
    unsafe { ioctl::open(device.as_raw_fd(), argument) }.map(drop)
}

/// Take the peer's end: `IKC_IOC_CONNECT`.
pub fn connect(device: &File, argument: &mut Connect) -> Result<(), Errno> {
    // SAFETY: see open().
    unsafe { ioctl::connect(device.as_raw_fd(), argument) }.map(drop)
}

/// Ring the peer: `IKC_IOC_NOTIFY`.
pub fn notify(device: &File) -> Result<(), Errno> {
    // SAFETY: there is no argument.
    unsafe { ioctl::notify(device.as_raw_fd()) }.map(drop)
}

/// Ask about a kernel: `IKC_IOC_KERNEL`.
pub fn kernel(device: &File, argument: &mut KernelInfo) -> Result<(), Errno> {
    // SAFETY: see open().
    unsafe { ioctl::kernel(device.as_raw_fd(), argument) }.map(drop)
}

/// Ask about a queue: `IKC_IOC_QUEUE`.
pub fn queue(device: &File, argument: &mut QueueInfo) -> Result<(), Errno> {
    // SAFETY: see open().
    unsafe { ioctl::queue(device.as_raw_fd(), argument) }.map(drop)
}

/// Ask about the shared area: `IKC_IOC_AREA`.
pub fn area(device: &File, argument: &mut AreaInfo) -> Result<(), Errno> {
    // SAFETY: see open().
    unsafe { ioctl::area(device.as_raw_fd(), argument) }.map(drop)
}
