//! `/dev/shimos-devices`, field for field as in
//! `kernel/include/uapi/shimos_devices.h`.

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::errno::Errno;

use super::raw::{Argument, Header};

pub const VERSION: u32 = 2;
pub const NAME_LEN: usize = 64;
pub const IFNAME_LEN: usize = 16;
pub const ERROR_LEN: usize = 512;

pub const DISK_READ_ONLY: u32 = 1 << 0;
pub const FORCE: u32 = 1 << 0;
pub const NEXT: u32 = 1 << 0;
pub const TYPE_NET: u32 = 1;
pub const TYPE_DISK: u32 = 2;
pub const TYPE_VSOCK: u32 = 19;
pub const TYPE_FS: u32 = 26;

const MAGIC: u8 = 0xB9;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ErrorText {
    pub hdr: Header,
    pub text: [u8; ERROR_LEN],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct AddDisk {
    pub hdr: Header,
    pub user: u32,
    pub fd: i32,
    pub flags: u32,
    pub queues: u32,
    pub name: [u8; NAME_LEN],
    pub id: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct AddNet {
    pub hdr: Header,
    pub user: u32,
    pub queues: u32,
    pub ifname: [u8; IFNAME_LEN],
    pub bridge: [u8; IFNAME_LEN],
    pub mac: [u8; 6],
    pub mtu: u16,
    pub id: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Remove {
    pub hdr: Header,
    pub id: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status {
    pub hdr: Header,
    pub id: u32,
    pub flags: u32,
    pub user: u32,
    pub r#type: u32,
    pub state: u32,
    pub queues: u32,
    pub user_name: [u8; 32],
    pub name: [u8; NAME_LEN],
    pub problem: [u8; 128],
    pub major: u32,
    pub minor: u32,
    pub capacity: u64,
    pub mac: [u8; 6],
    pub mtu: u16,
    pub reserved: u32,
    pub features: u64,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub write_bytes: u64,
    pub others: u64,
    pub errors: u64,
    pub kicks: u64,
    pub calls: u64,
    pub calls_saved: u64,
    pub direct_bytes: u64,
    pub copied_bytes: u64,
    pub polled_ns: u64,
}

macro_rules! arguments {
    ($($name:ident),*) => {
        $(
            // SAFETY: repr(C), integers and integer arrays only, header first.
            unsafe impl Argument for $name {
                const VERSION: u32 = VERSION;
            }
        )*
    };
}
arguments!(ErrorText, AddDisk, AddNet, Remove, Status);

mod ioctl {
    use super::*;

    nix::ioctl_readwrite!(error, MAGIC, 0, ErrorText);
    nix::ioctl_readwrite!(add_disk, MAGIC, 1, AddDisk);
    nix::ioctl_readwrite!(add_net, MAGIC, 2, AddNet);
    nix::ioctl_write_ptr!(remove, MAGIC, 3, Remove);
    nix::ioctl_readwrite!(status, MAGIC, 4, Status);
}

/// Ask why the last call on this open file was refused.
pub fn error_text(device: &File, argument: &mut ErrorText) -> Result<(), Errno> {
    // SAFETY: the structure is the one the call is defined with, and lives
    // through the call; the same holds for every call below.
    unsafe { ioctl::error(device.as_raw_fd(), argument) }.map(drop)
}

/// Share a disk. `disk` is the open block device; this fills in its number.
pub fn add_disk(device: &File, argument: &mut AddDisk, disk: &File) -> Result<(), Errno> {
    argument.fd = disk.as_raw_fd();
    // SAFETY: see error_text(); `disk` stays open through the call as well.
    unsafe { ioctl::add_disk(device.as_raw_fd(), argument) }.map(drop)
}

/// Share a network device; its number comes back.
pub fn add_net(device: &File, argument: &mut AddNet) -> Result<(), Errno> {
    // SAFETY: see error_text().
    unsafe { ioctl::add_net(device.as_raw_fd(), argument) }.map(drop)
}

/// Remove a shared device; what `flags` can be is in the header.
pub fn remove(device: &File, id: u32, flags: u32) -> Result<(), Errno> {
    let mut argument = Remove::new();
    argument.id = id;
    argument.flags = flags;
    // SAFETY: see error_text().
    unsafe { ioctl::remove(device.as_raw_fd(), &argument) }.map(drop)
}

/// Ask about a device, or with the flag for it about the next one.
pub fn status(device: &File, argument: &mut Status) -> Result<(), Errno> {
    // SAFETY: see error_text().
    unsafe { ioctl::status(device.as_raw_fd(), argument) }.map(drop)
}

#[cfg(test)]
mod tests {
    use super::super::layout_check::{Layout, fields};
    use super::*;

    #[test]
    fn the_structures_match_the_c_header() {
        let Some(mut check) = Layout::of(&["shimos_devices.h"]) else {
            return;
        };
        fields!(check, ErrorText, "shimos_dev_error", hdr, text);
        fields!(
            check,
            AddDisk,
            "shimos_dev_add_disk",
            hdr,
            user,
            fd,
            flags,
            queues,
            name,
            id,
            reserved
        );
        fields!(
            check,
            AddNet,
            "shimos_dev_add_net",
            hdr,
            user,
            queues,
            ifname,
            bridge,
            mac,
            mtu,
            id,
            reserved
        );
        fields!(check, Remove, "shimos_dev_remove", hdr, id, flags);
        fields!(
            check,
            Status,
            "shimos_dev_status",
            hdr,
            id,
            flags,
            user,
            state,
            queues,
            user_name,
            name,
            problem,
            major,
            minor,
            capacity,
            mac,
            mtu,
            reserved,
            features,
            reads,
            read_bytes,
            writes,
            write_bytes,
            others,
            errors,
            kicks,
            calls,
            calls_saved,
            direct_bytes,
            copied_bytes,
            polled_ns
        );
        check.value(
            "offsetof(struct shimos_dev_status, type)",
            std::mem::offset_of!(Status, r#type) as u64,
        );
        check.value("SHIMOS_DEV_VERSION", VERSION.into());
        check.value("SHIMOS_DEV_NAME", NAME_LEN as u64);
        check.value("SHIMOS_DEV_IFNAME", IFNAME_LEN as u64);
        check.value("SHIMOS_DEV_ERROR_LEN", ERROR_LEN as u64);
        check.value("SHIMOS_DISK_READ_ONLY", DISK_READ_ONLY.into());
        check.value("SHIMOS_DEV_FORCE", FORCE.into());
        check.value("SHIMOS_DEV_NEXT", NEXT.into());
        check.value("SHIMOS_DEV_NET", TYPE_NET.into());
        check.value("SHIMOS_DEV_DISK", TYPE_DISK.into());
        check.value("SHIMOS_DEV_VSOCK", TYPE_VSOCK.into());
        check.value("SHIMOS_DEV_FS", TYPE_FS.into());
        check.value("SHIMOS_DEV_IOC_MAGIC", MAGIC.into());
        check.compare();
    }
}
