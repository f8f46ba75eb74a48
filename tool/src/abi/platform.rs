//! What a partition's platform description is made of, and how it is handed over.

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::errno::Errno;

use super::raw::{Argument, Header, MAGIC, MAX_CPUS, MAX_RANGES, Range};

pub const CONDUIT_HVC: u32 = 1;
pub const CONDUIT_SMC: u32 = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Platform {
    pub hdr: Header,
    pub id: u32,
    pub conduit: u32,
    pub shared: u64,
    pub shared_size: u64,
    pub initrd: u64,
    pub initrd_size: u64,
    pub distributor: u64,
    pub distributor_size: u64,
    pub redistributors: u64,
    pub redistributors_size: u64,
    pub timer: [u32; 4],
    pub timer_flags: u32,
    pub cpu_count: u32,
    pub cpus: [u64; MAX_CPUS],
    pub range_count: u32,
    pub reserved: u32,
    pub ranges: [Range; MAX_RANGES],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Describe {
    pub hdr: Header,
    pub id: u32,
    pub size: u32,
    pub description: u64,
    pub seed: u32,
    pub start: u32,
    pub entropy: u32,
    pub reserved: u32,
}

// SAFETY: repr(C), integers and arrays of them only, header first.
unsafe impl Argument for Platform {}
// SAFETY: as above.
unsafe impl Argument for Describe {}

mod ioctl {
    use super::*;

    nix::ioctl_readwrite!(platform, MAGIC, 23, Platform);
    nix::ioctl_write_ptr!(describe, MAGIC, 24, Describe);
}

/// Ask what the description of a loaded partition's platform must say.
pub fn platform(device: &File, argument: &mut Platform) -> Result<(), Errno> {
    // SAFETY: the structure is the one the call is defined with, and lives
    // through the call.
    unsafe { ioctl::platform(device.as_raw_fd(), argument) }.map(drop)
}

/// Hand a description over. This fills in the pointer and the size.
pub fn describe(device: &File, argument: &mut Describe, description: &[u8]) -> Result<(), Errno> {
    argument.description = description.as_ptr() as u64;
    argument.size = u32::try_from(description.len()).map_err(|_| Errno::E2BIG)?;
    // SAFETY: as above; `description` outlives the call as well.
    unsafe { ioctl::describe(device.as_raw_fd(), argument) }.map(drop)
}
