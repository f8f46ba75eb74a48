//! Two ends of a channel within one process: for tests of programs that use
//! channels, this crate's own among them.

use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use nix::errno::Errno;
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::abi;
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::link::{Bell, For, Link};
use crate::receiver::Receiver;
use crate::ring::ring_bytes;
use crate::sender::Sender;
use crate::sys::{Consumer, Mapping, Producer};

/// What one end sleeps on: a doorbell for each of its directions.
struct Ears {
    message: EventFd,
    room: EventFd,
}

impl Ears {
    fn new() -> nix::Result<Arc<Self>> {
        let bell = || EventFd::from_value_and_flags(0, EfdFlags::EFD_NONBLOCK);
        Ok(Arc::new(Self {
            message: bell()?,
            room: bell()?,
        }))
    }

    fn of(&self, what: For) -> &EventFd {
        match what {
            For::Message => &self.message,
            For::Room => &self.room,
        }
    }
}

/// A doorbell between two ends in this process.
pub struct LocalBell {
    own: Arc<Ears>,
    peer: Arc<Ears>,
    /// The peer's ring, to be marked when this end closes.
    send: Arc<Mapping>,
}

impl LocalBell {
    /// Wake the other end, whatever it sleeps for.
    pub fn ring(&self) -> nix::Result<()> {
        self.peer.message.write(1)?;
        self.peer.room.write(1)?;
        Ok(())
    }

    /// Return what can be polled for one of the directions.
    pub fn fd(&self, what: For) -> BorrowedFd<'_> {
        self.own.of(what).as_fd()
    }

    /// Forget what has rung; whoever slept looks at the ring now.
    pub fn quiet(&self, what: For) {
        let _ = self.own.of(what).read();
    }
}

impl Drop for LocalBell {
    fn drop(&mut self) {
        self.send.close();
        let _ = self.ring();
    }
}

impl Channel {
    /// Make two channels that are connected with each other, without any device.
    pub fn pair(slots: u32, slot_size: u32) -> Result<(Channel, Channel)> {
        let bytes = ring_bytes(slots, slot_size)
            .and_then(|bytes| usize::try_from(bytes).ok())
            .and_then(NonZeroUsize::new)
            .ok_or(Error::BadRing {
                slots,
                slot_size: slot_size as usize,
            })?;
        let make = || -> nix::Result<(Channel, Channel)> {
            let rings = [Mapping::anonymous(bytes)?, Mapping::anonymous(bytes)?];
            let [left, right] = rings.map(Arc::new);
            left.init_ring(slots, slot_size)?;
            right.init_ring(slots, slot_size)?;
            let (ears, others) = (Ears::new()?, Ears::new()?);
            let end = |own: &Arc<Mapping>, peer: &Arc<Mapping>, ears: &Arc<Ears>, others| {
                let bell = LocalBell {
                    own: ears.clone(),
                    peer: others,
                    send: peer.clone(),
                };
                one_end(own, peer, bell, slots, slot_size)
            };
            Ok((
                end(&left, &right, &ears, others.clone())?,
                end(&right, &left, &others, ears.clone())?,
            ))
        };
        make().map_err(|errno: Errno| Error::System {
            what: "cannot make a pair of channels",
            errno,
        })
    }
}

fn one_end(
    own: &Arc<Mapping>,
    peer: &Arc<Mapping>,
    bell: LocalBell,
    slots: u32,
    slot_size: u32,
) -> nix::Result<Channel> {
    let consumer = Consumer::new(own.clone(), slots, slot_size)?;
    let producer = Producer::new(peer.clone())?;
    let link = Arc::new(Link {
        peer: "peer".into(),
        bell: Bell::Local(bell),
        receive: own.clone(),
    });
    Ok(Channel::new(
        abi::ECHO_CHANNEL,
        Sender::new(link.clone(), producer),
        Receiver::new(link, consumer),
    ))
}
