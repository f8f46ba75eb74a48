//! The calls of `/dev/shimos` that are about the host's own CPUs.

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::errno::Errno;

use super::raw::{Argument, Header, MAGIC};

pub const HOST_CPUS: usize = 16;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostMove {
    pub hdr: Header,
    pub cpu: u32,
    pub core: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostCpu {
    pub cpu: u32,
    pub core: u32,
    pub exits: u64,
    pub moves: u64,
    pub moved_ns: u64,
    pub moved_max_ns: u64,
    pub priority: u32,
    pub lost: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostPriority {
    pub hdr: Header,
    pub cpu: u32,
    pub priority: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostCpus {
    pub hdr: Header,
    pub count: u32,
    pub reserved: u32,
    pub at: [HostCpu; HOST_CPUS],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostPolicy {
    pub hdr: Header,
    pub policy: u32,
    pub flags: u32,
}

pub const HOST_POLICY_SET: u32 = 1;

// SAFETY: see Argument: integers, and arrays of them, behind the header.
unsafe impl Argument for HostMove {}
// SAFETY: the same.
unsafe impl Argument for HostCpus {}
// SAFETY: the same.
unsafe impl Argument for HostPolicy {}
// SAFETY: the same.
unsafe impl Argument for HostPriority {}

mod ioctl {
    use super::{HostCpus, HostMove, HostPolicy, HostPriority, MAGIC};

    nix::ioctl_write_ptr!(host_move, MAGIC, 19, HostMove);
    nix::ioctl_readwrite!(host_cpus, MAGIC, 20, HostCpus);
    nix::ioctl_readwrite!(host_policy, MAGIC, 21, HostPolicy);
    nix::ioctl_write_ptr!(host_priority, MAGIC, 22, HostPriority);
}

/// Let one of the host's CPUs run on another one's core.
pub fn host_move(device: &File, argument: &HostMove) -> Result<(), Errno> {
    // SAFETY: the kernel reads the structure, and knows its size by the call's number.
    unsafe { ioctl::host_move(device.as_raw_fd(), argument) }.map(drop)
}

/// Ask for the host's CPUs beside real-time programs.
pub fn host_cpus(device: &File, argument: &mut HostCpus) -> Result<(), Errno> {
    // SAFETY: the same, and it writes no more than that.
    unsafe { ioctl::host_cpus(device.as_raw_fd(), argument) }.map(drop)
}

/// Ask for the policy, or set it.
pub fn host_policy(device: &File, argument: &mut HostPolicy) -> Result<(), Errno> {
    // SAFETY: the same.
    unsafe { ioctl::host_policy(device.as_raw_fd(), argument) }.map(drop)
}

/// Set up to which priority of programs a CPU's real-time tasks go first.
pub fn host_priority(device: &File, argument: &HostPriority) -> Result<(), Errno> {
    // SAFETY: the kernel reads the structure, and knows its size by the call's number.
    unsafe { ioctl::host_priority(device.as_raw_fd(), argument) }.map(drop)
}
