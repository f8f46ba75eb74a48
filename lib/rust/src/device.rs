//! `/dev/ikc` without a channel: who is there, which queues, how full the area is.

use std::fs::{File, OpenOptions};
use std::io;

use nix::errno::Errno;

use crate::abi::{self, Argument, Header};
use crate::error::{Error, Result};
use crate::sys;

/// The device's path.
pub const PATH: &str = "/dev/ikc";

/// What becomes of a kernel's CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no such kernel.
    Absent,
    /// Its CPUs stand still.
    Down,
    /// Its CPUs run.
    Up,
    /// The module says something that this library does not know.
    Unknown,
}

impl State {
    fn from_raw(raw: u32) -> Self {
        match raw {
            0 => State::Absent,
            1 => State::Down,
            2 => State::Up,
            _ => State::Unknown,
        }
    }
}

/// A kernel of this machine. The host is number 0 and called "host".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The number by which the kernels know it.
    pub number: u32,
    /// The partition's name.
    pub name: String,
    /// Whether its CPUs run.
    pub state: State,
    /// It takes packets.
    pub ready: bool,
    /// It is the one that this program runs on.
    pub is_self: bool,
    /// Counts its starts.
    pub life: u32,
}

/// One direction: packets from one kernel for a queue of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// The number of the kernel that reads.
    pub receiver: u32,
    /// The number of the kernel that writes.
    pub sender: u32,
    /// Its number at the receiver.
    pub number: u32,
    /// How many packets it holds.
    pub slots: u32,
    /// The largest packet, in bytes.
    pub slot_size: u32,
    /// The sender uses it.
    pub attached: bool,
    /// The receiver saw nonsense in it.
    pub broken: bool,
    /// Packets written so far.
    pub packets: u64,
    /// Doorbells.
    pub rung: u64,
    /// Doorbells that were not needed.
    pub saved: u64,
    /// Writes that found no room.
    pub full: u64,
}

impl Queue {
    /// Return the number of the user programs' channel; `None`: a queue of the kernel's.
    pub fn channel(&self) -> Option<u32> {
        self.number.checked_sub(abi::FIRST_CHANNEL)
    }
}

/// The memory that all kernels share, and this kernel's use of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// Its size.
    pub bytes: u64,
    /// How many of these bytes are allocated.
    pub used: u64,
    /// How many blocks are allocated.
    pub blocks: u64,
    /// Allocations that this kernel could not make.
    pub failed: u64,
    /// How many of these asked for more than a block can have.
    pub too_large: u64,
    /// Blocks that this kernel wanted to free twice.
    pub double_free: u64,
    /// Blocks of others that this kernel wanted to free.
    pub foreign_free: u64,
    /// Blocks taken back from dead kernels (by the host).
    pub reclaimed: u64,
}

/// The device.
pub struct Device {
    file: File,
}

impl Device {
    /// Open `/dev/ikc`.
    ///
    /// # Errors
    /// `NoDevice`, `Permission`, or `NotPart` if no area is shared with this kernel.
    pub fn open() -> Result<Self> {
        Ok(Self { file: open_file()? })
    }

    /// Return all kernels, this one included, lowest number first.
    pub fn kernels(&self) -> Result<Vec<Kernel>> {
        let mut list = Vec::new();
        let mut number = 0;
        while number < abi::MAX_KERNELS {
            let mut raw = abi::KernelInfo::new();
            raw.number = number;
            raw.flags = abi::KERNEL_NEXT;
            let found = call("cannot list the kernels", &mut raw, |raw| {
                sys::kernel(&self.file, raw)
            })?;
            // Never backwards, whatever the answer.
            if !found || raw.number < number {
                break;
            }
            number = raw.number.saturating_add(1);
            let kernel = kernel_from(&raw);
            if kernel.state != State::Absent {
                list.push(kernel);
            }
        }
        Ok(list)
    }

    /// Return the kernel called `name`, or an error that lists those there are.
    pub fn find(&self, name: &str) -> Result<Kernel> {
        let mut known = self.kernels()?;
        if let Some(at) = known.iter().position(|k| k.name == name) {
            return Ok(known.swap_remove(at));
        }
        Err(Error::UnknownKernel {
            name: name.into(),
            known: known.into_iter().map(|k| k.name).collect(),
        })
    }

    /// Return all open queues.
    pub fn queues(&self) -> Result<Vec<Queue>> {
        let mut list = Vec::new();
        let mut next = (0, 0, 0);
        while next.0 < abi::MAX_KERNELS {
            let mut raw = abi::QueueInfo::new();
            (raw.receiver, raw.sender, raw.queue) = next;
            let found = call("cannot list the queues", &mut raw, |raw| {
                sys::queue(&self.file, raw)
            })?;
            let place = (raw.receiver, raw.sender, raw.queue);
            if !found || place < next {
                break;
            }
            next = after(place);
            list.push(queue_from(&raw));
        }
        Ok(list)
    }

    /// Return how full the shared area is, and what this kernel did wrong with it.
    pub fn area(&self) -> Result<Area> {
        let mut raw = abi::AreaInfo::new();
        let sent = raw.hdr;
        sys::area(&self.file, &mut raw)
            .map_err(|e| Error::of_call("cannot ask about the shared area", e, sent, raw.hdr))?;
        Ok(Area {
            bytes: raw.bytes,
            used: raw.used,
            blocks: raw.blocks,
            failed: raw.failed,
            too_large: raw.too_large,
            double_free: raw.double_free,
            foreign_free: raw.foreign_free,
            reclaimed: raw.reclaimed,
        })
    }
}

/// Open `/dev/ikc`; see [`Device::open`].
pub(crate) fn open_file() -> Result<File> {
    let opened = OpenOptions::new().read(true).write(true).open(PATH);
    opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::NoDevice,
        io::ErrorKind::PermissionDenied => Error::Permission,
        _ => match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENODEV | Errno::ENXIO) => Error::NotPart,
            errno => Error::System {
                what: "cannot open /dev/ikc",
                errno: errno.unwrap_or(Errno::EIO),
            },
        },
    })
}

/// A call that goes through a list; false at its end.
fn call<T: Argument>(
    what: &'static str,
    argument: &mut T,
    call: impl FnOnce(&mut T) -> nix::Result<()>,
) -> Result<bool> {
    let sent: Header = *argument.header();
    match call(argument) {
        Ok(()) => Ok(true),
        Err(Errno::ENOENT | Errno::ENXIO) => Ok(false),
        Err(errno) => Err(Error::of_call(what, errno, sent, *argument.header())),
    }
}

/// The place to go on at.
fn after((receiver, sender, queue): (u32, u32, u32)) -> (u32, u32, u32) {
    if queue < abi::QUEUES - 1 {
        (receiver, sender, queue + 1)
    } else if sender < abi::MAX_KERNELS - 1 {
        (receiver, sender + 1, 0)
    } else {
        (receiver.saturating_add(1), 0, 0)
    }
}

fn kernel_from(raw: &abi::KernelInfo) -> Kernel {
    let end = raw.name.iter().position(|b| *b == 0);
    let name = raw.name.get(..end.unwrap_or(abi::NAME_LEN));
    Kernel {
        number: raw.number,
        name: String::from_utf8_lossy(name.unwrap_or_default()).into_owned(),
        state: State::from_raw(raw.state),
        ready: raw.ready != 0,
        is_self: raw.is_self != 0,
        life: raw.life,
    }
}

fn queue_from(raw: &abi::QueueInfo) -> Queue {
    Queue {
        receiver: raw.receiver,
        sender: raw.sender,
        number: raw.queue,
        slots: raw.slots,
        slot_size: raw.slot_size,
        attached: raw.attached != 0,
        broken: raw.broken != 0,
        packets: raw.packets,
        rung: raw.rung,
        saved: raw.saved,
        full: raw.full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_each_other() {
        assert_eq!(after((0, 1, 2)), (0, 1, 3));
        assert_eq!(after((0, 1, 63)), (0, 2, 0));
        assert_eq!(after((0, 15, 63)), (1, 0, 0));
    }

    #[test]
    fn names_end_at_their_nul() {
        let mut raw = abi::KernelInfo::new();
        raw.name[..5].copy_from_slice(b"web\0x");
        raw.state = 2;
        assert_eq!(kernel_from(&raw).name, "web");
        raw.name = [b'x'; abi::NAME_LEN];
        raw.state = 9;
        let kernel = kernel_from(&raw);
        assert_eq!(kernel.name.len(), abi::NAME_LEN);
        assert_eq!(kernel.state, State::Unknown);
    }

    #[test]
    fn queues_and_channels() {
        let queue = |number| Queue {
            number,
            ..Queue::default()
        };
        assert_eq!(queue(3).channel(), None);
        assert_eq!(queue(32).channel(), Some(0));
        assert_eq!(queue(63).channel(), Some(abi::ECHO_CHANNEL));
    }
}
