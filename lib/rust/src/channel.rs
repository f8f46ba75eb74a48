//! A channel: made, connected, used.

use std::fs::File;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;

use crate::abi::{self, Argument as _};
use crate::device::{self, Kernel};
use crate::error::{Error, Result};
use crate::link::{Bell, Link};
use crate::receiver::Receiver;
use crate::ring::ring_bytes;
use crate::sender::Sender;
use crate::sys::{self, Consumer, Mapping, Producer};

/// What a channel is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The own number, where the peer sends to; `None`: any.
    pub channel: Option<u32>,
    /// The peer's, where this end sends to.
    pub peer_channel: u32,
    /// Of the own ring: so many messages may wait here.
    pub slots: u32,
    /// A message may have 8 bytes less; a multiple of 16.
    pub slot_size: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            channel: None,
            peer_channel: 0,
            slots: 64,
            slot_size: 256,
        }
    }
}

/// One end of a channel, whose other end may not be there yet.
pub struct Pending {
    file: File,
    peer: String,
    channel: u32,
    peer_channel: u32,
    receive: Arc<Mapping>,
    consumer: Consumer,
}

/// A connected channel. Closed when it is dropped, both halves of it.
pub struct Channel {
    number: u32,
    sender: Sender,
    receiver: Receiver,
}

impl Channel {
    /// Put a connected channel together.
    pub(crate) fn new(number: u32, sender: Sender, receiver: Receiver) -> Self {
        Self {
            number,
            sender,
            receiver,
        }
    }

    /// Make the receiving end: from now on `peer` can connect to it.
    pub fn open(peer: &Kernel, settings: Settings) -> Result<Pending> {
        let slot_size = u32::try_from(settings.slot_size).unwrap_or(u32::MAX);
        let bad_ring = || Error::BadRing {
            slots: settings.slots,
            slot_size: settings.slot_size,
        };
        let bytes = ring_bytes(settings.slots, slot_size).ok_or_else(bad_ring)?;
        let file = device::open_file()?;
        let mut raw = abi::Open::new();
        raw.peer = peer.number;
        raw.channel = settings.channel.unwrap_or(abi::ANY_CHANNEL);
        raw.peer_channel = settings.peer_channel;
        raw.slots = settings.slots;
        raw.slot_size = slot_size;
        let sent = raw.hdr;
        sys::open(&file, &mut raw).map_err(|errno| match errno {
            Errno::ENXIO => Error::UnknownKernel {
                name: peer.name.clone(),
                known: Vec::new(),
            },
            Errno::EHOSTDOWN => down(&peer.name),
            Errno::EBUSY => Error::ChannelTaken {
                peer: peer.name.clone(),
                channel: settings.channel,
            },
            Errno::ENOSPC => bad_ring(),
            Errno::ENOMEM => Error::AreaFull,
            errno => Error::of_call("cannot open a channel", errno, sent, raw.hdr),
        })?;
        let receive = map(&file, abi::MAP_RECEIVE, bytes)?;
        let consumer = Consumer::new(receive.clone(), settings.slots, slot_size);
        Ok(Pending {
            file,
            peer: peer.name.clone(),
            channel: raw.channel,
            peer_channel: settings.peer_channel,
            receive,
            consumer: consumer.map_err(|_| bad_ring())?,
        })
    }

    /// Return the own number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Return the half that sends, for what only it can do.
    pub fn sender(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// Return the half that receives, for what only it can do.
    pub fn receiver(&mut self) -> &mut Receiver {
        &mut self.receiver
    }

    /// Divide it into two halves, for two threads. It is closed when both are dropped.
    pub fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }

    /// See [`Sender::put`].
    pub fn put(&mut self, message: &[u8]) -> Result<()> {
        self.sender.put(message)
    }

    /// See [`Sender::flush`].
    pub fn flush(&mut self) -> Result<()> {
        self.sender.flush()
    }

    /// See [`Sender::try_send`].
    pub fn try_send(&mut self, message: &[u8]) -> Result<()> {
        self.sender.try_send(message)
    }

    /// See [`Sender::send`].
    pub fn send(&mut self, message: &[u8], timeout: Option<Duration>) -> Result<()> {
        self.sender.send(message, timeout)
    }

    /// See [`Receiver::try_receive`].
    pub fn try_receive<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>> {
        self.receiver.try_receive(buffer)
    }

    /// See [`Receiver::receive`].
    pub fn receive<'b>(
        &mut self,
        buffer: &'b mut [u8],
        timeout: Option<Duration>,
    ) -> Result<Option<&'b [u8]>> {
        self.receiver.receive(buffer, timeout)
    }
}

impl Pending {
    /// Return the own number, also if any was asked for.
    pub fn number(&self) -> u32 {
        self.channel
    }

    /// Wait until the peer has opened its end, and take it; `NotOpened` after the timeout.
    pub fn connect(self, timeout: Duration) -> Result<Channel> {
        let mut raw = abi::Connect::new();
        raw.timeout_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        let sent = raw.hdr;
        sys::connect(&self.file, &mut raw).map_err(|errno| match errno {
            Errno::ETIME => Error::NotOpened {
                peer: self.peer.clone(),
                channel: self.peer_channel,
            },
            Errno::EHOSTDOWN => down(&self.peer),
            Errno::EPIPE => Error::Gone {
                peer: self.peer.clone(),
            },
            Errno::EBUSY => Error::PeerChannelTaken {
                peer: self.peer.clone(),
                channel: self.peer_channel,
            },
            errno => Error::of_call("cannot connect", errno, sent, raw.hdr),
        })?;
        let broken = || Error::Broken {
            peer: self.peer.clone(),
        };
        let bytes = ring_bytes(raw.slots, raw.slot_size).ok_or_else(broken)?;
        let send = map(&self.file, abi::MAP_SEND, bytes)?;
        let producer = Producer::new(send).map_err(|_| broken())?;
        let link = Arc::new(Link {
            peer: self.peer,
            bell: Bell::Device(self.file),
            receive: self.receive,
        });
        Ok(Channel {
            number: self.channel,
            sender: Sender::new(link.clone(), producer),
            receiver: Receiver::new(link, self.consumer),
        })
    }
}

fn down(peer: &str) -> Error {
    Error::Down { peer: peer.into() }
}

fn map(file: &File, offset: i64, bytes: u64) -> Result<Arc<Mapping>> {
    let bytes = usize::try_from(bytes).ok().and_then(NonZeroUsize::new);
    bytes
        .ok_or(Errno::EINVAL)
        // The system call takes whole pages whatever it is told.
        .and_then(|bytes| Mapping::of_file(file, offset, bytes))
        .map(Arc::new)
        .map_err(|errno| Error::System {
            what: "cannot map the channel's ring",
            errno,
        })
}

#[cfg(test)]
mod tests;
