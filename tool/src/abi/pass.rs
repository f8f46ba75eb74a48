//! Open files that other programs get: over a Unix socket (unix(7), SCM_RIGHTS), or from the one
//! that starts them.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::libc;
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

/// The first number behind standard input, output and error.
const GIVEN: i32 = 3;

/// Let a program that is about to start have a file, the only one beside its input and output.
pub fn give(command: &mut Command, file: File) {
    let pass = move || {
        // SAFETY: these system calls concern numbers of files only, and only those of the new
        // process; both are async-signal-safe.
        let done = unsafe {
            match file.as_raw_fd() {
                GIVEN => libc::fcntl(GIVEN, libc::F_SETFD, 0),
                other => libc::dup2(other, GIVEN),
            }
        };
        Errno::result(done).map(drop).map_err(io::Error::from)
    };
    // SAFETY: it allocates nothing and takes no lock.
    unsafe { command.pre_exec(pass) };
}

/// Return the file that the program was started with; once.
pub fn given() -> File {
    adopt(GIVEN)
}
