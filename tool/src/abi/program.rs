//! Devices that a program serves, field for field as in
//! `kernel/include/uapi/shimos_program.h`.

use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;

use super::devices::{NAME_LEN, VERSION};
use super::raw::{Argument, Header, adopt};

pub const CONFIG_LEN: usize = 128;
pub const MAX_QUEUES: usize = 16;
pub const MAX_RANGES: usize = 16;
pub const START: u32 = 1;
pub const STOP: u32 = 2;

const MAGIC: u8 = 0xB9;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct AddProgram {
    pub hdr: Header,
    pub user: u32,
    pub r#type: u32,
    pub features: u64,
    pub queues: u32,
    pub ring: u32,
    pub config_len: u32,
    pub fd: i32,
    pub id: u32,
    pub reserved: u32,
    pub name: [u8; NAME_LEN],
    pub config: [u8; CONFIG_LEN],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub start: u64,
    pub size: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    pub desc: u64,
    pub avail: u64,
    pub used: u64,
    pub size: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Next {
    pub hdr: Header,
    pub event: u32,
    pub sequence: u32,
    pub features: u64,
    pub ranges: u32,
    pub queues: u32,
    pub range: [Range; MAX_RANGES],
    pub ring: [Ring; MAX_QUEUES],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Answer {
    pub hdr: Header,
    pub sequence: u32,
    pub error: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Events {
    pub hdr: Header,
    pub queue: u32,
    pub kick: i32,
    pub call: i32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Memory {
    pub hdr: Header,
    pub fd: i32,
    pub reserved: u32,
}

macro_rules! arguments {
    ($($name:ident),*) => {
        $(
            // SAFETY: repr(C), integers and arrays of such only, header first.
            unsafe impl Argument for $name {
                const VERSION: u32 = VERSION;
            }
        )*
    };
}
arguments!(AddProgram, Next, Answer, Events, Memory);

mod ioctl {
    use super::*;

    nix::ioctl_readwrite!(add, MAGIC, 5, AddProgram);
    nix::ioctl_readwrite!(next, MAGIC, 16, Next);
    nix::ioctl_write_ptr!(answer, MAGIC, 17, Answer);
    nix::ioctl_write_ptr!(events, MAGIC, 18, Events);
    nix::ioctl_readwrite!(memory, MAGIC, 19, Memory);
}

/// Share a device that the caller serves, by the descriptor that comes back.
pub fn add(device: &File, argument: &mut AddProgram) -> Result<File, Errno> {
    // SAFETY: the structure is the one the call is defined with, and lives through
    // the call; the same holds for every call below.
    unsafe { ioctl::add(device.as_raw_fd(), argument) }?;
    Ok(adopt(argument.fd))
}

/// Ask what is to be done.
pub fn next(program: &File) -> Result<Next, Errno> {
    let mut argument = Next::new();
    // SAFETY: see add().
    unsafe { ioctl::next(program.as_raw_fd(), &mut argument) }?;
    Ok(argument)
}

/// Say that it is done, or why not (an errno).
pub fn answer(program: &File, sequence: u32, error: u32) -> Result<(), Errno> {
    let mut argument = Answer::new();
    argument.sequence = sequence;
    argument.error = error;
    // SAFETY: see add().
    unsafe { ioctl::answer(program.as_raw_fd(), &argument) }.map(drop)
}

/// Name the eventfds by which both sides of a queue call each other.
pub fn events(
    program: &File,
    queue: u32,
    kick: BorrowedFd<'_>,
    call: BorrowedFd<'_>,
) -> Result<(), Errno> {
    let mut argument = Events::new();
    argument.queue = queue;
    argument.kick = kick.as_raw_fd();
    argument.call = call.as_raw_fd();
    // SAFETY: see add(); both descriptors are open through the call.
    unsafe { ioctl::events(program.as_raw_fd(), &argument) }.map(drop)
}

/// Open the user's memory as a file; an offset in it is a physical address.
pub fn memory(program: &File) -> Result<File, Errno> {
    let mut argument = Memory::new();
    // SAFETY: see add().
    unsafe { ioctl::memory(program.as_raw_fd(), &mut argument) }?;
    Ok(adopt(argument.fd))
}

#[cfg(test)]
mod tests {
    use super::super::layout_check::{Layout, fields};
    use super::*;

    #[test]
    fn the_structures_match_the_c_header() {
        let Some(mut check) = Layout::of(&["shimos_program.h"]) else {
            return;
        };
        fields!(
            check,
            AddProgram,
            "shimos_dev_add_program",
            hdr,
            user,
            features,
            queues,
            ring,
            config_len,
            fd,
            id,
            reserved,
            name,
            config
        );
        fields!(check, Range, "shimos_program_range", start, size);
        fields!(
            check,
            Ring,
            "shimos_program_ring",
            desc,
            avail,
            used,
            size,
            reserved
        );
        fields!(
            check,
            Next,
            "shimos_program_next",
            hdr,
            event,
            sequence,
            features,
            ranges,
            queues,
            range,
            ring
        );
        fields!(check, Answer, "shimos_program_answer", hdr, sequence, error);
        fields!(
            check,
            Events,
            "shimos_program_events",
            hdr,
            queue,
            kick,
            call,
            reserved
        );
        fields!(check, Memory, "shimos_program_memory", hdr, fd, reserved);
        check.value("SHIMOS_PROGRAM_CONFIG", CONFIG_LEN as u64);
        check.value("SHIMOS_PROGRAM_QUEUES", MAX_QUEUES as u64);
        check.value("SHIMOS_PROGRAM_RANGES", MAX_RANGES as u64);
        check.value("SHIMOS_PROGRAM_START", START.into());
        check.value("SHIMOS_PROGRAM_STOP", STOP.into());
        check.compare();
    }
}
