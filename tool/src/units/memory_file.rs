//! Files in memory, for what KLoader gets and no disk has.

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::error::{IoContext, Result};

/// Return what `fill` writes, open for reading only: the kernel does not load what somebody
/// may still write to. `what` begins the sentence if there can be none.
pub fn made(what: &str, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<File> {
    let mut writable: File = memfd_create(c"shimos", MFdFlags::MFD_CLOEXEC)
        .or_fail(what)?
        .into();
    fill(&mut writable)?;
    let path = format!("/proc/self/fd/{}", writable.as_raw_fd());
    let readable = File::open(path).or_fail(what)?;
    drop(writable);
    Ok(readable)
}
