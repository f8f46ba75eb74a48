//! Linux's own vhost for sockets, as `linux/vhost.h` defines it, and the mappings of a
//! user's memory that it works on.

use std::fs::File;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

use super::program::{MAX_RANGES, Range, Ring};

const MAGIC: u8 = 0xAF;

#[repr(C)]
#[derive(Clone, Copy)]
struct Region {
    guest_phys_addr: u64,
    memory_size: u64,
    userspace_addr: u64,
    flags_padding: u64,
}

/// `struct vhost_memory` with room for all ranges.
#[repr(C)]
struct Table {
    nregions: u32,
    padding: u32,
    regions: [Region; MAX_RANGES],
}

#[repr(C)]
struct State {
    index: u32,
    num: u32,
}

#[repr(C)]
struct Address {
    index: u32,
    flags: u32,
    desc_user_addr: u64,
    used_user_addr: u64,
    avail_user_addr: u64,
    log_guest_addr: u64,
}

#[repr(C)]
struct Descriptor {
    index: u32,
    fd: i32,
}

mod ioctl {
    use super::*;

    nix::ioctl_read!(get_features, MAGIC, 0x00, u64);
    nix::ioctl_write_ptr!(set_features, MAGIC, 0x00, u64);
    nix::ioctl_none!(set_owner, MAGIC, 0x01);
    // The table's length is not part of its number.
    nix::ioctl_write_ptr_bad!(
        set_mem_table,
        nix::request_code_write!(MAGIC, 0x03, 8),
        Table
    );
    nix::ioctl_write_ptr!(set_vring_num, MAGIC, 0x10, State);
    nix::ioctl_write_ptr!(set_vring_addr, MAGIC, 0x11, Address);
    nix::ioctl_write_ptr!(set_vring_base, MAGIC, 0x12, State);
    nix::ioctl_write_ptr!(set_vring_kick, MAGIC, 0x20, Descriptor);
    nix::ioctl_write_ptr!(set_vring_call, MAGIC, 0x21, Descriptor);
    nix::ioctl_write_ptr!(vsock_set_guest_cid, MAGIC, 0x60, u64);
    nix::ioctl_write_ptr!(vsock_set_running, MAGIC, 0x61, i32);
}

/// Become its owner; returns the features of virtio that it knows.
pub fn own(vhost: &File) -> Result<u64, Errno> {
    let mut features = 0;
    // SAFETY: the argument is what the call is defined with, and lives through the
    // call; the same holds for every call below.
    unsafe {
        ioctl::set_owner(vhost.as_raw_fd())?;
        ioctl::get_features(vhost.as_raw_fd(), &mut features)?;
    }
    Ok(features)
}

/// Say which features the driver has accepted.
pub fn set_features(vhost: &File, features: u64) -> Result<(), Errno> {
    // SAFETY: see own().
    unsafe { ioctl::set_features(vhost.as_raw_fd(), &features) }.map(drop)
}

/// Give the user an address. `EADDRINUSE`: somebody has it.
pub fn set_cid(vhost: &File, cid: u64) -> Result<(), Errno> {
    // SAFETY: see own().
    unsafe { ioctl::vsock_set_guest_cid(vhost.as_raw_fd(), &cid) }.map(drop)
}

/// Begin to serve, or end.
pub fn set_running(vhost: &File, running: bool) -> Result<(), Errno> {
    let running = i32::from(running);
    // SAFETY: see own().
    unsafe { ioctl::vsock_set_running(vhost.as_raw_fd(), &running) }.map(drop)
}

/// A range of the user's memory, mapped until it is dropped.
pub struct Mapping {
    range: Range,
    at: NonNull<std::ffi::c_void>,
    len: usize,
}

impl Mapping {
    /// Map a range of the file that is the user's memory.
    pub fn new(memory: &File, range: Range) -> Result<Self, Errno> {
        let len = usize::try_from(range.size).map_err(|_| Errno::EOVERFLOW)?;
        let offset = range.start.try_into().map_err(|_| Errno::EOVERFLOW)?;
        // SAFETY: the kernel chooses the place; nothing in this program looks at
        // what is there, it only hands the address to vhost.
        let at = unsafe {
            mmap(
                None,
                NonZeroUsize::new(len).ok_or(Errno::EINVAL)?,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_SHARED,
                memory,
                offset,
            )
        }?;
        Ok(Mapping { range, at, len })
    }

    fn address(&self) -> u64 {
        self.at.as_ptr() as u64
    }

    /// Return where this program has an address of the user's, if it is in here.
    fn here(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.range.start)?;
        (offset < self.range.size).then(|| self.address().wrapping_add(offset))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped by new(), and nobody has its address any more: vhost
        // has been stopped.
        let _ = unsafe { munmap(self.at, self.len) };
    }
}

/// Say where the user's memory is; at most `MAX_RANGES` mappings.
pub fn set_memory(vhost: &File, mappings: &[Mapping]) -> Result<(), Errno> {
    let none = Region {
        guest_phys_addr: 0,
        memory_size: 0,
        userspace_addr: 0,
        flags_padding: 0,
    };
    let mut table = Table {
        nregions: u32::try_from(mappings.len()).map_err(|_| Errno::E2BIG)?,
        padding: 0,
        regions: [none; MAX_RANGES],
    };
    if mappings.len() > MAX_RANGES {
        return Err(Errno::E2BIG);
    }
    for (region, mapping) in table.regions.iter_mut().zip(mappings) {
        region.guest_phys_addr = mapping.range.start;
        region.memory_size = mapping.range.size;
        region.userspace_addr = mapping.address();
    }
    // SAFETY: see own(); there are as many regions as it says.
    unsafe { ioctl::set_mem_table(vhost.as_raw_fd(), &table) }.map(drop)
}

/// Say where a ring is, and by which eventfds its two sides call each other.
pub fn set_ring(
    vhost: &File,
    index: u32,
    ring: &Ring,
    mappings: &[Mapping],
    kick: BorrowedFd<'_>,
    call: BorrowedFd<'_>,
) -> Result<(), Errno> {
    let here = |address| {
        let found = mappings.iter().find_map(|mapping| mapping.here(address));
        found.ok_or(Errno::EFAULT)
    };
    let num = State {
        index,
        num: ring.size,
    };
    let base = State { index, num: 0 };
    let address = Address {
        index,
        flags: 0,
        desc_user_addr: here(ring.desc)?,
        used_user_addr: here(ring.used)?,
        avail_user_addr: here(ring.avail)?,
        log_guest_addr: 0,
    };
    let descriptor = |fd: BorrowedFd<'_>| Descriptor {
        index,
        fd: fd.as_raw_fd(),
    };
    let fd = vhost.as_raw_fd();
    // SAFETY: see own(); both descriptors are open through the calls.
    unsafe {
        ioctl::set_vring_num(fd, &num)?;
        ioctl::set_vring_base(fd, &base)?;
        ioctl::set_vring_addr(fd, &address)?;
        ioctl::set_vring_kick(fd, &descriptor(kick))?;
        ioctl::set_vring_call(fd, &descriptor(call))?;
    }
    Ok(())
}
