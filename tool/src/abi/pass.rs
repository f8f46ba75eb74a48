//! Open files that come over a Unix socket: unix(7), SCM_RIGHTS.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};

use super::raw::adopt;

/// Receive one file. Of several the others stay open and are nobody's.
pub fn receive_file(from: &UnixStream) -> io::Result<File> {
    let mut byte = [0; 64];
    let mut data = [IoSliceMut::new(&mut byte)];
    let mut space = nix::cmsg_space!([i32; 1]);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(from.as_raw_fd(), &mut data, Some(&mut space), flags)?;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(files) = control {
            if let Some(file) = files.first() {
                return Ok(adopt(*file));
            }
        }
    }
    Err(io::Error::other("no file came over the socket"))
}
