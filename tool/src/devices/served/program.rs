//! A device's descriptor: what its program is asked to do (`uapi/shimos_program.h`).

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::abi::program as raw;
use crate::devices::Offer;
use crate::devices::node::Node;
use crate::error::{Error, IoContext, Result};
use crate::system::kernel_log;
use crate::ui::refusal::OrRefuse;

/// virtio's bits that the back end insists on: INDIRECT_DESC, EVENT_IDX and VERSION_1.
pub const RING_FEATURES: u64 = (1 << 28) | (1 << 29) | (1 << 32);

/// What is known when a driver starts.
pub use raw::{Next as Start, Range, Ring};

impl Start {
    /// Return the ranges of the user's memory.
    pub fn ranges(&self) -> impl Iterator<Item = Range> + '_ {
        self.range.iter().take(self.ranges as usize).copied()
    }

    /// Return the queues that are used, and their numbers.
    pub fn rings(&self) -> impl Iterator<Item = (u32, Ring)> + '_ {
        let all = (0..self.queues).zip(self.ring.iter().copied());
        all.filter(|(_, ring)| ring.size != 0)
    }
}

/// The two eventfds of a queue.
pub struct Doorbells {
    pub kick: OwnedFd,
    pub call: OwnedFd,
}

/// Who serves.
pub trait Server {
    /// Begin: a driver is there.
    fn start(&mut self, program: &Program, start: &Start) -> Result<()>;
    /// Take nothing more from the rings, and finish what was taken.
    fn stop(&mut self) -> Result<()>;
    /// Return what hangs up when it is gone.
    fn connection(&self) -> Option<BorrowedFd<'_>>;
    /// Say why it is gone.
    fn gone(&mut self) -> Error;
}

/// A device that this process serves. It goes when this is dropped.
pub struct Program {
    file: File,
    name: String,
}

impl Program {
    /// Share it with the kernel of that number.
    pub fn add(node: &Node, user: u32, offer: &Offer) -> Result<(u32, Self)> {
        let (id, file) = node
            .add_program(user, offer)
            .or_refuse(format_args!("cannot share {} {}", offer.kind, offer.name))?;
        let name = format!("{} {}", offer.kind, offer.name);
        Ok((id, Program { file, name }))
    }

    /// Return the user's memory: what is at an offset has it as its physical address.
    pub fn memory(&self) -> Result<File> {
        raw::memory(&self.file).or_fail("cannot open the memory")
    }

    /// Make the eventfds of a queue.
    pub fn doorbells(&self, queue: u32) -> Result<Doorbells> {
        let make = || -> nix::Result<Doorbells> {
            let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
            let (kick, call) = (
                EventFd::from_value_and_flags(0, flags)?,
                EventFd::from_value_and_flags(0, flags)?,
            );
            raw::events(&self.file, queue, kick.as_fd(), call.as_fd())?;
            Ok(Doorbells {
                kick: kick.into(),
                call: call.into(),
            })
        };
        make().or_fail("cannot make doorbells")
    }

    /// Do what is asked until the device is gone, which is no error.
    pub fn serve(&self, server: &mut dyn Server) -> Result<()> {
        loop {
            let (asked, gone) = self.wait(server)?;
            if asked.contains(PollFlags::POLLHUP) {
                return Ok(());
            }
            if gone {
                return Err(server.gone());
            }
            if asked.contains(PollFlags::POLLIN) {
                self.do_next(server)?;
            }
        }
    }

    /// Wait for something to do; whether the server has gone comes along.
    fn wait(&self, server: &dyn Server) -> Result<(PollFlags, bool)> {
        let mut polled = vec![PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
        polled.extend(
            server
                .connection()
                .map(|fd| PollFd::new(fd, PollFlags::empty())),
        );
        match poll(&mut polled, PollTimeout::NONE) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok((PollFlags::empty(), false)),
            Err(e) => return Err(e).or_fail("cannot wait"),
        }
        let mut found = polled
            .iter()
            .map(|p| p.revents().unwrap_or(PollFlags::empty()));
        let asked = found.next().unwrap_or(PollFlags::empty());
        Ok((asked, found.next().is_some_and(|flags| !flags.is_empty())))
    }

    fn do_next(&self, server: &mut dyn Server) -> Result<()> {
        let next = raw::next(&self.file).or_fail("cannot ask the back end")?;
        let error = match next.event {
            raw::START => match server.start(self, &next) {
                Ok(()) => 0,
                Err(e) => {
                    kernel_log::error(format_args!("{} does not start: {e}", self.name));
                    Errno::EIO as u32
                }
            },
            raw::STOP => {
                server.stop()?;
                0
            }
            _ => return Ok(()),
        };
        match raw::answer(&self.file, next.sequence, error) {
            // It took too long, and the back end has gone on without the answer.
            Ok(()) | Err(Errno::ESTALE) => Ok(()),
            Err(e) => Err(e).or_fail("cannot answer the back end"),
        }
    }
}
