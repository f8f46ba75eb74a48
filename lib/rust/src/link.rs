//! What both directions of a channel share: the doorbell, and whether the peer is
//! there.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::error::{Error, Result};
use crate::pair::LocalBell;
use crate::sys::{self, Mapping};

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum For {
    Message,
    Room,
}

/// How the peer is rung, and heard.
pub enum Bell {
    Device(File),
    /// Both ends are in this process.
    Local(LocalBell),
}

/// What both halves of a channel share.
pub struct Link {
    /// The peer's name, for errors.
    pub peer: String,
    pub bell: Bell,
    /// The own ring; the kernel marks it when the peer is gone.
    pub receive: Arc<Mapping>,
}

impl Link {
    /// Tell whether the peer has closed its end, or its kernel ended.
    pub fn peer_gone(&self) -> bool {
        self.receive.closed()
    }

    /// Make the error of a peer that is gone.
    pub fn gone(&self) -> Error {
        Error::Gone {
            peer: self.peer.clone(),
        }
    }

    /// Make the error of a peer that wrote nonsense.
    pub fn broken(&self) -> Error {
        Error::Broken {
            peer: self.peer.clone(),
        }
    }

    /// Ring the peer. That it is gone is found out elsewhere.
    pub fn notify(&self) -> Result<()> {
        let result = match &self.bell {
            Bell::Device(file) => sys::notify(file),
            Bell::Local(bell) => bell.ring(),
        };
        match result {
            Err(Errno::EPIPE) => Ok(()),
            Err(errno) if !self.peer_gone() => Err(Error::System {
                what: "cannot ring the peer",
                errno,
            }),
            _ => Ok(()),
        }
    }

    /// Sleep until the doorbell rings, a signal arrives (`Interrupted`), or the
    /// deadline has passed. The caller looks what it was.
    pub fn sleep(&self, what: For, deadline: Option<Instant>) -> Result<()> {
        let events = match what {
            For::Message => PollFlags::POLLIN,
            For::Room => PollFlags::POLLOUT,
        };
        let (fd, events) = match &self.bell {
            Bell::Device(file) => (file.as_fd(), events),
            Bell::Local(bell) => (bell.fd(what), PollFlags::POLLIN),
        };
        let mut fds = [PollFd::new(fd, events)];
        match poll(&mut fds, timeout(deadline)) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Err(Error::Interrupted),
            Err(errno) => {
                return Err(Error::System {
                    what: "cannot wait for the peer",
                    errno,
                });
            }
        }
        if let Bell::Local(bell) = &self.bell {
            bell.quiet(what);
        }
        let seen = fds[0].revents().unwrap_or(PollFlags::empty());
        if seen.intersects(PollFlags::POLLERR | PollFlags::POLLNVAL) {
            return Err(Error::System {
                what: "cannot wait for the peer",
                errno: Errno::EIO,
            });
        }
        if seen.contains(PollFlags::POLLHUP) && !seen.intersects(events) {
            return Err(self.gone());
        }
        Ok(())
    }
}

/// The time left, in whole milliseconds, not less than it is.
fn timeout(deadline: Option<Instant>) -> PollTimeout {
    let Some(deadline) = deadline else {
        return PollTimeout::NONE;
    };
    let left = deadline.saturating_duration_since(Instant::now());
    let ms = left.as_nanos().div_ceil(1_000_000);
    PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX)
}
