//! Loop devices, as `linux/loop.h` defines them, and the lock on a file that goes
//! with one.

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc;

pub const READ_ONLY: u32 = 1;
pub const AUTOCLEAR: u32 = 4;
pub const DIRECT_IO: u32 = 16;
pub const NAME_LEN: usize = 64;

/// `struct loop_info64`
#[repr(C)]
#[derive(Clone, Copy)]
struct Info {
    lo_device: u64,
    lo_inode: u64,
    lo_rdevice: u64,
    lo_offset: u64,
    lo_sizelimit: u64,
    lo_number: u32,
    lo_encrypt_type: u32,
    lo_encrypt_key_size: u32,
    lo_flags: u32,
    lo_file_name: [u8; NAME_LEN],
    lo_crypt_name: [u8; NAME_LEN],
    lo_encrypt_key: [u8; 32],
    lo_init: [u64; 2],
}

/// `struct loop_config`
#[repr(C)]
#[derive(Clone, Copy)]
struct Config {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

mod ioctl {
    use super::Config;

    nix::ioctl_write_ptr_bad!(configure, 0x4C0A, Config);
    nix::ioctl_none_bad!(get_free, 0x4C82);
}

/// Return the number of a free loop device, made if need be.
pub fn get_free(control: &File) -> Result<u32, Errno> {
    // SAFETY: the call has no argument.
    let number = unsafe { ioctl::get_free(control.as_raw_fd()) }?;
    u32::try_from(number).map_err(|_| Errno::EINVAL)
}

/// Put `file` behind the loop device. `limit`: bytes of it, 0: all. `EBUSY`:
/// somebody else has taken this device meanwhile.
pub fn configure(
    device: &File,
    file: &File,
    name: &[u8],
    flags: u32,
    limit: u64,
) -> Result<(), Errno> {
    // SAFETY: all zero is valid for integers and arrays of them.
    let mut config: Config = unsafe { std::mem::zeroed() };
    config.fd = u32::try_from(file.as_raw_fd()).map_err(|_| Errno::EBADF)?;
    config.info.lo_flags = flags;
    config.info.lo_sizelimit = limit;
    // With a final NUL.
    let field = config.info.lo_file_name.iter_mut().take(NAME_LEN - 1);
    for (to, from) in field.zip(name) {
        *to = *from;
    }
    // SAFETY: the structure is the one the call is defined with; it and the file
    // live through the call.
    unsafe { ioctl::configure(device.as_raw_fd(), &config) }.map(drop)
}

/// Take a lock by flock(2), without waiting. It holds until the last user of this open file
/// has gone, and a loop device is one.
pub fn lock(file: &File, exclusive: bool) -> Result<(), Errno> {
    let how = match exclusive {
        true => libc::LOCK_EX,
        false => libc::LOCK_SH,
    };
    // SAFETY: the file is open, and the call touches no memory.
    Errno::result(unsafe { libc::flock(file.as_raw_fd(), how | libc::LOCK_NB) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::super::layout_check::{Layout, fields};
    use super::*;

    #[test]
    fn the_structures_match_the_system_s() {
        let Some(mut check) = Layout::of(&["linux/loop.h"]) else {
            return;
        };
        fields!(
            check,
            Info,
            "loop_info64",
            lo_device,
            lo_offset,
            lo_sizelimit,
            lo_number,
            lo_flags,
            lo_file_name,
            lo_crypt_name,
            lo_encrypt_key,
            lo_init
        );
        fields!(check, Config, "loop_config", fd, block_size, info);
        check.value("LO_FLAGS_READ_ONLY", READ_ONLY.into());
        check.value("LO_FLAGS_AUTOCLEAR", AUTOCLEAR.into());
        check.value("LO_FLAGS_DIRECT_IO", DIRECT_IO.into());
        check.value("LO_NAME_SIZE", NAME_LEN as u64);
        check.value("LOOP_CONFIGURE", 0x4C0A);
        check.value("LOOP_CTL_GET_FREE", 0x4C82);
        check.compare();
    }

    #[test]
    fn one_writer_or_many_readers() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        let (a, b) = (open(), open());
        lock(&a, false).unwrap();
        lock(&b, false).unwrap();
        assert_eq!(lock(&b, true), Err(Errno::EWOULDBLOCK));
        // Not by closing it: a program that another test is just starting may still have it open.
        // SAFETY: the file is open, and the call touches no memory.
        Errno::result(unsafe { libc::flock(a.as_raw_fd(), libc::LOCK_UN) }).unwrap();
        assert_eq!(lock(&b, true), Ok(()));
        assert_eq!(lock(&open(), false), Err(Errno::EWOULDBLOCK));
    }
}
