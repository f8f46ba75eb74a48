//! The sending half of a channel.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;

use crate::error::{Error, Result};
use crate::link::{For, Link};
use crate::ring::Counts;
use crate::spin::Spin;
use crate::sys::Producer;

/// The half of a channel that sends.
pub struct Sender {
    link: Arc<Link>,
    producer: Producer,
    spin: Spin,
}

impl Sender {
    /// Put the half together.
    pub(crate) fn new(link: Arc<Link>, producer: Producer) -> Self {
        Self {
            link,
            producer,
            spin: Spin::default(),
        }
    }

    /// Return the bytes of the largest message that the peer takes.
    pub fn max(&mut self) -> usize {
        self.producer.max()
    }

    /// Return what this half has counted.
    pub fn counts(&mut self) -> Counts {
        let [packets, rung, saved, full] = self.producer.counts();
        Counts {
            packets,
            rung,
            saved,
            full,
        }
    }

    /// Set how long `send` spins for room before it sleeps, see
    /// [`crate::Receiver::set_spin`].
    pub fn set_spin(&mut self, max: Duration) {
        self.spin = Spin::up_to(max);
    }

    /// Put one message of a batch into the peer's ring. [`Sender::flush`] wakes the
    /// peer if it sleeps. Never blocks: `NoRoom` if the ring is full; what was put
    /// before is flushed then, or there never would be room.
    pub fn put(&mut self, message: &[u8]) -> Result<()> {
        match self.producer.write(message) {
            Ok(()) => Ok(()),
            Err(Errno::EMSGSIZE) => Err(Error::TooLarge {
                size: message.len(),
                limit: self.producer.max(),
            }),
            // What a peer that is gone left may look full, or like nonsense.
            Err(_) if self.link.peer_gone() => Err(self.link.gone()),
            Err(Errno::EAGAIN) => {
                self.flush()?;
                Err(Error::NoRoom {
                    peer: self.link.peer.clone(),
                })
            }
            Err(_) => Err(self.link.broken()),
        }
    }

    /// Wake the peer if it sleeps, after one or many messages.
    pub fn flush(&mut self) -> Result<()> {
        if self.producer.must_ring() {
            self.link.notify()?;
        }
        match self.link.peer_gone() {
            true => Err(self.link.gone()),
            false => Ok(()),
        }
    }

    /// Send one message. Never blocks: `NoRoom` if the ring is full.
    pub fn try_send(&mut self, message: &[u8]) -> Result<()> {
        self.put(message)?;
        self.flush()
    }

    /// Send one message, wait for room if need be; `NoRoom` after the timeout.
    pub fn send(&mut self, message: &[u8], timeout: Option<Duration>) -> Result<()> {
        match self.try_send(message) {
            Err(Error::NoRoom { .. }) => {
                self.wait_for_room(timeout)?;
                self.try_send(message)
            }
            other => other,
        }
    }

    /// Wait until [`Sender::put`] would do something: put, or fail for another
    /// reason than `NoRoom`.
    pub fn wait_for_room(&mut self, timeout: Option<Duration>) -> Result<()> {
        let start = Instant::now();
        let deadline = timeout.and_then(|timeout| start.checked_add(timeout));
        let (link, producer) = (&self.link, &mut self.producer);
        self.spin
            .spin(start, deadline, || producer.has_room() || link.peer_gone());
        while !self.producer.has_room() && !self.link.peer_gone() {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Error::NoRoom {
                    peer: self.link.peer.clone(),
                });
            }
            if !self.spin.never_sleeps() && self.producer.wait_for_room() {
                self.link.sleep(For::Room, deadline)?;
            }
        }
        self.spin.adapt(start.elapsed());
        Ok(())
    }
}
