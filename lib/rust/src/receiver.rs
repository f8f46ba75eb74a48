//! The receiving half of a channel.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;

use crate::error::{Error, Result};
use crate::link::{For, Link};
use crate::spin::Spin;
use crate::sys::Consumer;

/// The half of a channel that receives.
pub struct Receiver {
    link: Arc<Link>,
    consumer: Consumer,
    spin: Spin,
}

impl Receiver {
    /// Put the half together.
    pub(crate) fn new(link: Arc<Link>, consumer: Consumer) -> Self {
        Self {
            link,
            consumer,
            spin: Spin::default(),
        }
    }

    /// Set how long `receive` may spin before it sleeps. It adapts: shorter, if messages do
    /// not tend to come that soon. Zero: never spin. `Duration::MAX`: never sleep, and see
    /// no signal; give `receive` a timeout then.
    pub fn set_spin(&mut self, max: Duration) {
        self.spin = Spin::up_to(max);
    }

    /// Take the next message if there is one. Never blocks.
    pub fn try_receive<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>> {
        let len = self.take(buffer)?;
        Ok(len.and_then(|len| buffer.get(..len)))
    }

    /// Take the next message, wait for it if need be; `None` after the timeout.
    pub fn receive<'b>(
        &mut self,
        buffer: &'b mut [u8],
        timeout: Option<Duration>,
    ) -> Result<Option<&'b [u8]>> {
        let len = match self.take(buffer)? {
            Some(len) => Some(len),
            None => self.wait(buffer, timeout)?,
        };
        Ok(len.and_then(|len| buffer.get(..len)))
    }

    fn wait(&mut self, buffer: &mut [u8], timeout: Option<Duration>) -> Result<Option<usize>> {
        let start = Instant::now();
        let deadline = timeout.and_then(|timeout| start.checked_add(timeout));
        let (link, consumer) = (&self.link, &mut self.consumer);
        self.spin
            .spin(start, deadline, || consumer.ready() || link.peer_gone());
        loop {
            if let Some(len) = self.take(buffer)? {
                self.spin.adapt(start.elapsed());
                return Ok(Some(len));
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(None);
            }
            if !self.spin.never_sleeps() && self.may_sleep()? {
                self.link.sleep(For::Message, deadline)?;
            }
        }
    }

    fn take(&mut self, buffer: &mut [u8]) -> Result<Option<usize>> {
        // Asked before the ring is: what a peer left there is not lost.
        let gone = self.link.peer_gone();
        let result = self.consumer.read(buffer);
        self.ring_back()?;
        match result {
            Ok(len) => Ok(Some(len)),
            Err(Errno::EAGAIN) if gone => Err(self.link.gone()),
            Err(Errno::EAGAIN) => Ok(None),
            Err(Errno::EMSGSIZE) => Err(Error::BufferTooSmall { size: buffer.len() }),
            Err(_) => Err(self.link.broken()),
        }
    }

    fn may_sleep(&mut self) -> Result<bool> {
        let quiet = self.consumer.arm();
        // Arming tells the producer what is free; it may be waiting for that.
        self.ring_back()?;
        Ok(quiet && !self.link.peer_gone())
    }

    fn ring_back(&mut self) -> Result<()> {
        match self.consumer.must_ring_back() {
            true => self.link.notify(),
            false => Ok(()),
        }
    }
}
