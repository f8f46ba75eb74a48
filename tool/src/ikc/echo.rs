//! The echo service of a kernel, from the side of who asks.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use shimos_ikc::abi::{ALLOC_MAX, ECHO_CHANNEL, MAX_SLOT_SIZE, RING_HEADER};
use shimos_ikc::{Channel, Counts, Device, EchoMessage, Kernel, Op, Settings, slot_size_for};

use crate::error::{Error, Result};
use crate::ui::interrupt;

/// The longest a Ctrl-C goes unseen if it arrives just before a wait.
const SLICE: Duration = Duration::from_millis(100);
const SLOTS: usize = 64;

/// A connection with the service.
pub struct Echo {
    channel: Channel,
    name: String,
    timeout: Duration,
    /// Sent again and again; only its beginning changes.
    message: Vec<u8>,
    buffer: Vec<u8>,
    cookie: u64,
}

impl Echo {
    /// Connect to the service of the kernel called `name`, for messages of so many
    /// bytes. `timeout`: for this, and for every answer.
    pub fn connect(name: &str, size: u64, timeout: Duration) -> Result<Self> {
        let device = Device::open()?;
        let kernel = device.find(name)?;
        let settings = settings_for(size);
        let channel = Channel::open(&kernel, settings)
            .and_then(|pending| pending.connect(timeout))
            .map_err(|e| explain(e, &kernel))?;
        Self::over(channel, name, size, timeout)
    }

    /// Use a channel that is connected to a service.
    pub fn over(mut channel: Channel, name: &str, size: u64, timeout: Duration) -> Result<Self> {
        let limit = channel.sender().max().min(MAX_SLOT_SIZE);
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        if !(EchoMessage::BYTES..=limit).contains(&bytes) {
            return Err(Error::new(format!(
                "'{name}' cannot echo messages of {size} bytes: {} to {limit} are possible",
                EchoMessage::BYTES
            ))
            .hint("--size chooses another size"));
        }
        Ok(Self {
            channel,
            name: name.into(),
            timeout,
            message: (0..=u8::MAX).cycle().take(bytes).collect(),
            buffer: vec![0; MAX_SLOT_SIZE],
            cookie: first_cookie(),
        })
    }

    /// Return the own channel's number.
    pub fn channel(&self) -> u32 {
        self.channel.number()
    }

    /// Return what the sending half has counted.
    pub fn counts(&mut self) -> Counts {
        self.channel.sender().counts()
    }

    /// Never sleep from now on while waiting.
    pub fn never_sleep(&mut self) {
        self.channel.sender().set_spin(Duration::MAX);
        self.channel.receiver().set_spin(Duration::MAX);
    }

    /// Send one message there and wait for it; `None`: no answer in time.
    pub fn round_trip(&mut self) -> Result<Option<Duration>> {
        self.prepare(Op::Echo);
        let start = Instant::now();
        self.send()?;
        let Some((answer, time)) = self.answer(start)? else {
            return Ok(None);
        };
        let rest = EchoMessage::BYTES..;
        if answer != self.message.len()
            || self.buffer.get(rest.start..answer) != self.message.get(rest)
        {
            return Err(Error::new(format!(
                "what '{}' sent back is not what was sent",
                self.name
            )));
        }
        Ok(Some(time))
    }

    /// Get ready for `push`.
    pub fn begin_pushing(&mut self) {
        self.prepare(Op::Sink);
    }

    /// Send one message that is only counted there; in a batch, see `flush`.
    pub fn push(&mut self) -> Result<()> {
        match self.channel.put(&self.message) {
            Err(shimos_ikc::Error::NoRoom { .. }) => {
                self.wait_for_room()?;
                Ok(self.channel.put(&self.message)?)
            }
            other => Ok(other?),
        }
    }

    /// Wake the service if it sleeps, after a batch.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.channel.flush()?)
    }

    /// Ask how many messages and bytes were counted there since the last time.
    pub fn count(&mut self) -> Result<(u64, u64)> {
        self.prepare(Op::Count);
        self.send()?;
        let deadline = Instant::now() + self.timeout;
        while let Some(len) = self.receive(deadline)? {
            // An echo that comes late is nobody's any more.
            match self.buffer.get(..len).and_then(EchoMessage::get) {
                Some(answer) if answer.op == Op::Count as u16 => {
                    return Ok((answer.cookie, answer.bytes));
                }
                _ => {}
            }
        }
        Err(self.silent())
    }

    fn silent(&self) -> Error {
        let seconds = self.timeout.as_secs_f64();
        Error::new(format!("'{}' did not answer within {seconds} s", self.name))
            .hint("it may hang; `shimos ls` on the host says more")
    }

    fn prepare(&mut self, op: Op) {
        self.cookie = self.cookie.wrapping_add(1);
        EchoMessage::new(op, self.channel.number(), self.cookie).put(&mut self.message);
    }

    fn send(&mut self) -> Result<()> {
        match self.channel.try_send(&self.message) {
            Err(shimos_ikc::Error::NoRoom { .. }) => {
                self.wait_for_room()?;
                Ok(self.channel.try_send(&self.message)?)
            }
            other => Ok(other?),
        }
    }

    /// The length of the answer to the last message, and when it came.
    fn answer(&mut self, start: Instant) -> Result<Option<(usize, Duration)>> {
        while let Some(len) = self.receive(start + self.timeout)? {
            let time = start.elapsed();
            let answer = self.buffer.get(..len).and_then(EchoMessage::get);
            // Another cookie: what was given up came late.
            if answer.is_some_and(|answer| answer.cookie == self.cookie) {
                return Ok(Some((len, time)));
            }
        }
        Ok(None)
    }

    fn receive(&mut self, deadline: Instant) -> Result<Option<usize>> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self
                .channel
                .receive(&mut self.buffer, Some(left.min(SLICE)))
            {
                Ok(Some(message)) => return Ok(Some(message.len())),
                Ok(None) if left.is_zero() => return Ok(None),
                Ok(None) | Err(shimos_ikc::Error::Interrupted) => interrupt::check()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn wait_for_room(&mut self) -> Result<()> {
        let deadline = Instant::now() + self.timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.channel.sender().wait_for_room(Some(left.min(SLICE))) {
                Ok(()) => return Ok(()),
                Err(shimos_ikc::Error::NoRoom { .. }) if left.is_zero() => {
                    return Err(self.silent());
                }
                Err(shimos_ikc::Error::NoRoom { .. } | shimos_ikc::Error::Interrupted) => {
                    interrupt::check()?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Not those of an earlier program, whose answers may still be on their way to the
/// channel that is ours now.
fn first_cookie() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}

/// The own ring: its slots hold what comes back, and it fits into the area. A size
/// that is too large is found out later, when the peer's limit is known.
fn settings_for(size: u64) -> Settings {
    let message = usize::try_from(size)
        .unwrap_or(usize::MAX)
        .max(EchoMessage::BYTES);
    let slot_size = slot_size_for(message).min(MAX_SLOT_SIZE);
    let slots = ((ALLOC_MAX - RING_HEADER) / slot_size).min(SLOTS);
    Settings {
        channel: None,
        peer_channel: ECHO_CHANNEL,
        slots: slots as u32,
        slot_size,
    }
}

/// What a failed connection means, this being the echo service.
fn explain(error: shimos_ikc::Error, kernel: &Kernel) -> Error {
    let name = &kernel.name;
    match error {
        shimos_ikc::Error::PeerChannelTaken { .. } => {
            Error::new(format!("the echo service of '{name}' is in use"))
                .hint("another `shimos ping` or `shimos perf` runs on this kernel: one at a time")
        }
        shimos_ikc::Error::NotOpened { .. } => {
            Error::new(format!("the echo service of '{name}' is not there"))
                .hint("its shimos_ikc module may not be up yet: try again, or with --timeout")
        }
        shimos_ikc::Error::System { .. } if kernel.is_self => {
            Error::new(format!("'{name}' is this kernel itself")).hint("name another one")
        }
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ikc::fake::{Manner, service};
    use shimos_ikc::State;

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[test]
    fn round_trips() {
        let mut echo = Echo::over(service(Manner::Honest), "web", 64, TIMEOUT).unwrap();
        for _ in 0..100 {
            assert!(echo.round_trip().unwrap().is_some());
        }
        echo.never_sleep();
        assert!(echo.round_trip().unwrap().is_some());
        assert_eq!(echo.counts().packets, 101);
    }

    #[test]
    fn counting() {
        let mut echo = Echo::over(service(Manner::Honest), "web", 100, TIMEOUT).unwrap();
        echo.begin_pushing();
        for _ in 0..1000 {
            echo.push().unwrap();
        }
        echo.flush().unwrap();
        assert_eq!(echo.count(), Ok((1000, 100_000)));
        assert_eq!(echo.count(), Ok((0, 0)), "it begins anew");
    }

    #[test]
    fn bad_services() {
        let short = Duration::from_millis(20);
        let mut echo = Echo::over(service(Manner::Silent), "web", 64, short).unwrap();
        assert_eq!(echo.round_trip(), Ok(None));
        assert!(echo.count().unwrap_err().to_string().contains("0.02 s"));
        let mut echo = Echo::over(service(Manner::Garbles), "web", 64, TIMEOUT).unwrap();
        let error = echo.round_trip().unwrap_err();
        assert!(error.to_string().contains("is not what was sent"));
        let mut echo = Echo::over(service(Manner::Leaves), "web", 64, TIMEOUT).unwrap();
        let error = echo.round_trip().unwrap_err();
        assert!(error.to_string().contains("has closed"), "{error}");
    }

    #[test]
    fn sizes_have_limits() {
        for size in [0, 23, 249, 1 << 40] {
            let error = Echo::over(service(Manner::Honest), "web", size, TIMEOUT)
                .err()
                .unwrap();
            let text = error.to_string();
            assert!(text.contains("24 to 248"), "{text}");
        }
        for size in [24, 248] {
            let mut echo = Echo::over(service(Manner::Honest), "web", size, TIMEOUT).unwrap();
            assert!(echo.round_trip().unwrap().is_some());
        }
    }

    #[test]
    fn the_own_ring_always_fits() {
        for size in [0, 24, 64, 1000, 4088, 16376, 16377, u64::MAX] {
            let settings = settings_for(size);
            let slot_size = u32::try_from(settings.slot_size).unwrap();
            let bytes = shimos_ikc::ring_bytes(settings.slots, slot_size).unwrap();
            assert!(bytes <= ALLOC_MAX as u64, "{size}: {settings:?}");
        }
    }

    #[test]
    fn a_busy_service_is_explained() {
        let kernel = Kernel {
            number: 1,
            name: "web".into(),
            state: State::Up,
            ready: true,
            is_self: false,
            life: 1,
        };
        let error = shimos_ikc::Error::PeerChannelTaken {
            peer: "web".into(),
            channel: ECHO_CHANNEL,
        };
        let Error::Failed { message, hint } = explain(error, &kernel) else {
            panic!()
        };
        assert_eq!(message, "the echo service of 'web' is in use");
        assert!(hint.unwrap().contains("shimos perf"));
    }
}
