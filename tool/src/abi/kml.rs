//! `/dev/shimos-kml`, field for field as in `kernel/include/uapi/shimos_kml.h`.

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::errno::Errno;

use super::raw::{Argument, Header};

pub const VERSION: u32 = 1;
pub const REASON_LEN: usize = 128;
pub const ERROR_LEN: usize = 512;

const MAGIC: u8 = b'K';

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status {
    pub hdr: Header,
    pub tasks: u64,
    pub trusted: u64,
    pub refused: u64,
    pub syscalls: u64,
    pub calls: u64,
    pub promotions: u64,
    pub fixes: u64,
    pub retries: u64,
    pub reason: [u8; REASON_LEN],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Tasks {
    pub hdr: Header,
    pub tids: u64,
    pub room: u32,
    pub count: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Trust {
    pub hdr: Header,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ErrorText {
    pub hdr: Header,
    pub text: [u8; ERROR_LEN],
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
arguments!(Status, Tasks, Trust, ErrorText);

mod ioctl {
    use super::*;

    nix::ioctl_readwrite!(status, MAGIC, 0x60, Status);
    nix::ioctl_readwrite!(tasks, MAGIC, 0x61, Tasks);
    nix::ioctl_readwrite!(trust, MAGIC, 0x62, Trust);
    nix::ioctl_readwrite!(error, MAGIC, 0x64, ErrorText);
}

/// Ask what the module has counted.
pub fn status(device: &File) -> Result<Status, Errno> {
    let mut argument = Status::new();
    // SAFETY: the structure is the one the call is defined with, and lives
    // through the call; the same holds for every call below.
    unsafe { ioctl::status(device.as_raw_fd(), &mut argument) }?;
    Ok(argument)
}

/// Fill `tids` with as many as fit; returns how many there are.
pub fn tasks(device: &File, tids: &mut [u32]) -> Result<u32, Errno> {
    let mut argument = Tasks::new();
    argument.tids = tids.as_mut_ptr() as u64;
    argument.room = u32::try_from(tids.len()).map_err(|_| Errno::E2BIG)?;
    // SAFETY: see status(); `tids` has the room and outlives the call as well.
    unsafe { ioctl::tasks(device.as_raw_fd(), &mut argument) }?;
    Ok(argument.count)
}

/// Trust the caller's next exec.
pub fn trust_next(device: &File) -> Result<(), Errno> {
    let mut argument = Trust::new();
    // SAFETY: see status().
    unsafe { ioctl::trust(device.as_raw_fd(), &mut argument) }.map(drop)
}

/// Tell why the last call on this open file was refused; empty if that is not known.
pub fn error_text(device: &File) -> String {
    let mut argument = ErrorText::new();
    // SAFETY: see status().
    match unsafe { ioctl::error(device.as_raw_fd(), &mut argument) } {
        Ok(_) => super::text(&argument.text),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout_check::{Layout, fields};
    use super::*;

    #[test]
    fn the_structures_match_the_c_header() {
        let Some(mut check) = Layout::of(&["shimos_kml.h"]) else {
            return;
        };
        fields!(
            check,
            Status,
            "shimos_kml_status",
            hdr,
            tasks,
            trusted,
            refused,
            syscalls,
            calls,
            promotions,
            fixes,
            retries,
            reason
        );
        fields!(check, Tasks, "shimos_kml_tasks", hdr, tids, room, count);
        fields!(check, Trust, "shimos_kml_trust", hdr);
        fields!(check, ErrorText, "shimos_kml_error", hdr, text);
        check.value("SHIMOS_KML_VERSION", VERSION.into());
        check.value("SHIMOS_KML_REASON_LEN", REASON_LEN as u64);
        check.value("SHIMOS_KML_ERROR_LEN", ERROR_LEN as u64);
        check.value("_IOC_TYPE(SHIMOS_KML_STATUS)", MAGIC.into());
        check.value("_IOC_NR(SHIMOS_KML_STATUS)", 0x60);
        check.value("_IOC_NR(SHIMOS_KML_TASKS)", 0x61);
        check.value("_IOC_NR(SHIMOS_KML_TRUST)", 0x62);
        check.value("_IOC_NR(SHIMOS_KML_ERROR)", 0x64);
        check.value("_IOC_DIR(SHIMOS_KML_TRUST)", 3);
        check.compare();
    }
}
