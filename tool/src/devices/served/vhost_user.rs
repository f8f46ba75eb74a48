//! The front end of vhost-user, as far as a file system needs it (QEMU's
//! docs/interop/vhost-user): a daemon serves the rings, on memory that it maps itself.
//!
//! All of it is small, fixed messages, a dozen kinds: the crate that has the whole
//! protocol would bring nine others.

use std::fs::File;
use std::io::{IoSlice, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

use super::program::{Program, RING_FEATURES, Range, Ring, Server, Start};
use super::virtiofsd::Daemon;
use crate::devices::{Kind, Offer};
use crate::error::{Error, IoContext, Result};

const GET_FEATURES: u32 = 1;
const SET_FEATURES: u32 = 2;
const SET_OWNER: u32 = 3;
const SET_MEM_TABLE: u32 = 5;
const SET_VRING_NUM: u32 = 8;
const SET_VRING_ADDR: u32 = 9;
const SET_VRING_BASE: u32 = 10;
const GET_VRING_BASE: u32 = 11;
const SET_VRING_KICK: u32 = 12;
const SET_VRING_CALL: u32 = 13;
const GET_PROTOCOL_FEATURES: u32 = 15;
const SET_PROTOCOL_FEATURES: u32 = 16;
const SET_VRING_ENABLE: u32 = 18;

/// The protocol's version, as it stands in the flags of all messages.
const VERSION: u32 = 1;
const PROTOCOL_FEATURES: u64 = 1 << 30;
/// Regions in one table, and so descriptors in one message.
const MAX_REGIONS: usize = 8;
/// Less than the back end waits.
const PATIENCE: Duration = Duration::from_secs(8);
/// No answer that is asked for here is longer.
const MAX_ANSWER: usize = 8;

/// One for what is urgent, one for requests.
const FS_QUEUES: u32 = 2;
/// As long as a tag can be (virtio 1.2, 5.11.4).
pub const FS_TAG_LEN: usize = 36;

/// A connection to a daemon.
pub struct FrontEnd {
    socket: UnixStream,
}

/// Put numbers behind one another as the protocol has them, in the machine's order.
macro_rules! bytes {
    ($($value:expr),* $(,)?) => {
        [$(&$value.to_ne_bytes()[..]),*].concat()
    };
}

impl FrontEnd {
    /// Connect to a daemon that listens there.
    pub fn connect(path: &Path) -> Result<Self> {
        let socket = UnixStream::connect(path)
            .or_fail(format_args!("cannot connect to {}", path.display()))
            .map_err(|e| e.hint("start the daemon first"))?;
        Self::over(socket)
    }

    /// Speak over a socket that is connected already.
    pub fn over(socket: UnixStream) -> Result<Self> {
        let timeouts = socket.set_read_timeout(Some(PATIENCE));
        timeouts
            .and_then(|()| socket.set_write_timeout(Some(PATIENCE)))
            .or_fail("cannot set a timeout")?;
        Ok(FrontEnd { socket })
    }

    fn say_with(&self, request: u32, payload: &[u8], descriptors: &[RawFd]) -> Result<()> {
        let size = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        let message = [&bytes!(request, VERSION, size)[..], payload].concat();
        let rights = [ControlMessage::ScmRights(descriptors)];
        let rights = if descriptors.is_empty() {
            &[][..]
        } else {
            &rights[..]
        };
        let sent = sendmsg::<()>(
            self.socket.as_raw_fd(),
            &[IoSlice::new(&message)],
            rights,
            MsgFlags::MSG_NOSIGNAL,
            None,
        )
        .or_fail("cannot speak to the daemon")?;
        match sent == message.len() {
            true => Ok(()),
            false => Err(Error::new("the daemon takes half of a message")),
        }
    }

    fn say(&self, request: u32, payload: &[u8]) -> Result<()> {
        self.say_with(request, payload, &[])
    }

    /// Say it, and return the answer.
    fn ask(&self, request: u32, payload: &[u8]) -> Result<[u8; MAX_ANSWER]> {
        self.say(request, payload)?;
        let mut head = [0; 12];
        let mut answer = [0; MAX_ANSWER];
        let hear = |place: &mut [u8]| {
            (&self.socket)
                .read_exact(place)
                .or_fail("no answer from the daemon")
        };
        hear(&mut head)?;
        let [request_back, _, size] = [0, 4, 8].map(|at| {
            let word = head.get(at..at + 4).and_then(|word| word.try_into().ok());
            u32::from_ne_bytes(word.unwrap_or_default())
        });
        match answer.get_mut(..size as usize) {
            Some(place) if request_back == request => hear(place)?,
            _ => return Err(Error::new("the daemon answers something else")),
        }
        Ok(answer)
    }

    fn ask_number(&self, request: u32) -> Result<u64> {
        self.ask(request, &[]).map(u64::from_ne_bytes)
    }

    /// Begin the session; returns the features of virtio that the daemon has.
    pub fn begin(&self) -> Result<u64> {
        let features = self.ask_number(GET_FEATURES)?;
        let needed = RING_FEATURES | PROTOCOL_FEATURES;
        if features & needed != needed {
            return Err(Error::new(format!(
                "the daemon's features are {features:#x}, and {needed:#x} are needed"
            )));
        }
        self.ask_number(GET_PROTOCOL_FEATURES)?;
        self.say(SET_PROTOCOL_FEATURES, &bytes!(0u64))?;
        self.say(SET_OWNER, &[])?;
        Ok(features & !PROTOCOL_FEATURES)
    }

    /// Let the daemon serve; it does when this returns.
    fn start(&self, program: &Program, start: &Start) -> Result<()> {
        self.say(SET_FEATURES, &bytes!(start.features | PROTOCOL_FEATURES))?;
        let ranges: Vec<Range> = start.ranges().collect();
        self.give_memory(&program.memory()?, &ranges)?;
        for (index, ring) in start.rings() {
            self.start_ring(program, index, &ring)?;
        }
        // All before it is done when this is answered.
        self.ask_number(GET_FEATURES).map(drop)
    }

    fn give_memory(&self, memory: &File, ranges: &[Range]) -> Result<()> {
        if ranges.len() > MAX_REGIONS {
            return Err(Error::new(format!(
                "its memory is in {} pieces, and the daemon is told of {MAX_REGIONS} at most",
                ranges.len()
            )));
        }
        let mut payload = bytes!(ranges.len() as u32, 0u32);
        for range in ranges {
            // Nothing is mapped here: our addresses are the user's.
            payload.extend(bytes!(range.start, range.size, range.start, range.start));
        }
        self.say_with(
            SET_MEM_TABLE,
            &payload,
            &vec![memory.as_raw_fd(); ranges.len()],
        )
    }

    fn start_ring(&self, program: &Program, index: u32, ring: &Ring) -> Result<()> {
        let doorbells = program.doorbells(index)?;
        self.say(SET_VRING_NUM, &bytes!(index, ring.size))?;
        self.say(SET_VRING_BASE, &bytes!(index, 0u32))?;
        let address = bytes!(index, 0u32, ring.desc, ring.used, ring.avail, 0u64);
        self.say(SET_VRING_ADDR, &address)?;
        let number = bytes!(u64::from(index));
        self.say_with(SET_VRING_CALL, &number, &[doorbells.call.as_raw_fd()])?;
        self.say_with(SET_VRING_KICK, &number, &[doorbells.kick.as_raw_fd()])?;
        self.say(SET_VRING_ENABLE, &bytes!(index, 1u32))
    }

    /// The answer comes when nothing of the ring is in work any more.
    fn stop_ring(&self, index: u32) -> Result<()> {
        self.ask(GET_VRING_BASE, &bytes!(index, 0u32)).map(drop)
    }
}

/// A file system that a daemon serves.
pub struct Fs {
    pub front_end: FrontEnd,
    /// If it is ours.
    pub daemon: Option<Daemon>,
}

impl Fs {
    /// Return what it offers (virtio 1.2, 5.11).
    pub fn offer(tag: &str, features: u64) -> Offer {
        let mut config = tag.as_bytes().to_vec();
        config.resize(FS_TAG_LEN, 0);
        config.extend(1u32.to_le_bytes());
        Offer {
            kind: Kind::Fs,
            name: tag.into(),
            features: features & RING_FEATURES,
            queues: FS_QUEUES,
            config,
        }
    }
}

impl Server for Fs {
    fn start(&mut self, program: &Program, start: &Start) -> Result<()> {
        self.front_end.start(program, start)
    }

    fn stop(&mut self) -> Result<()> {
        (0..FS_QUEUES).try_for_each(|index| self.front_end.stop_ring(index))
    }

    fn connection(&self) -> Option<BorrowedFd<'_>> {
        Some(self.front_end.socket.as_fd())
    }

    fn gone(&mut self) -> Error {
        match &mut self.daemon {
            Some(daemon) => daemon.ended(),
            None => Error::new("its daemon has closed the connection"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::thread;

    /// A daemon that answers what is given, a message for each request that wants one.
    fn daemon(answers: Vec<Vec<u8>>) -> FrontEnd {
        let (ours, theirs) = UnixStream::pair().unwrap();
        thread::spawn(move || {
            for answer in answers {
                let _ = (&theirs).read(&mut [0; 512]);
                let _ = (&theirs).write_all(&answer);
            }
            let _ = theirs.shutdown(std::net::Shutdown::Write);
            let _ = (&theirs).read_to_end(&mut Vec::new());
        });
        FrontEnd::over(ours).unwrap()
    }

    fn number(request: u32, value: u64) -> Vec<u8> {
        bytes!(request, 5u32, 8u32, value)
    }

    #[test]
    fn a_session_begins() {
        let all = RING_FEATURES | PROTOCOL_FEATURES | 1;
        let answers = vec![number(GET_FEATURES, all), number(GET_PROTOCOL_FEATURES, 0)];
        assert_eq!(daemon(answers).begin(), Ok(RING_FEATURES | 1));
    }

    #[test]
    fn what_no_daemon_should_say() {
        let error = |answer: Vec<u8>| daemon(vec![answer]).begin().unwrap_err().to_string();
        let other = "the daemon answers something else";
        assert_eq!(error(number(SET_OWNER, 0)), other);
        assert_eq!(error(bytes!(GET_FEATURES, 5u32, 9u32, 0u64, 0u64)), other);
        assert!(error(number(GET_FEATURES, 1)).contains("features are 0x1"));
        assert!(error(vec![1]).contains("no answer"), "and then it is gone");
    }

    #[test]
    fn what_a_file_system_offers() {
        let offer = Fs::offer("www", !0);
        assert_eq!(offer.features, RING_FEATURES);
        assert_eq!(
            (offer.config.len(), &offer.config[..4]),
            (40, &b"www\0"[..])
        );
        assert_eq!(&offer.config[36..], [1, 0, 0, 0]);
    }

    #[test]
    fn memory_in_too_many_pieces() {
        let range = Range { start: 0, size: 1 };
        let front_end = daemon(Vec::new());
        let file = tempfile::tempfile().unwrap();
        let error = front_end.give_memory(&file, &[range; 9]).unwrap_err();
        assert!(error.to_string().contains("in 9 pieces"), "{error}");
        assert_eq!(front_end.give_memory(&file, &[range; 8]), Ok(()));
    }
}
