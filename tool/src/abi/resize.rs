//! The call of `/dev/shimos` that changes a partition while it runs.

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::errno::Errno;

use super::raw::{Argument, Header, MAGIC};

pub const RESIZE_ADD_CPU: u32 = 1;
pub const RESIZE_REMOVE_CPU: u32 = 2;
pub const RESIZE_ADD_MEMORY: u32 = 3;
pub const RESIZE_REMOVE_MEMORY: u32 = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Resize {
    pub hdr: Header,
    pub id: u32,
    pub what: u32,
    pub cpu: u32,
    pub reserved: u32,
    pub size: u64,
}

// SAFETY: see Argument: integers behind the header.
unsafe impl Argument for Resize {}

mod ioctl {
    use super::{MAGIC, Resize};

    nix::ioctl_readwrite!(resize, MAGIC, 25, Resize);
}

/// Give a running partition a CPU or memory, or take some back; `size` gets how much memory it was.
pub fn resize(device: &File, argument: &mut Resize) -> Result<(), Errno> {
    // SAFETY: the kernel reads and writes the structure, and knows its size by the call's number.
    unsafe { ioctl::resize(device.as_raw_fd(), argument) }.map(drop)
}
