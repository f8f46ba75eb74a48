//! What can go wrong: what, why, and what to do about it.

use std::fmt;

use nix::errno::Errno;

use crate::abi::{self, Header};

/// What a call of this library returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// There is no `/dev/ikc`.
    NoDevice,
    /// Only root may.
    Permission,
    /// This kernel has the module, but no area to share.
    NotPart,
    /// The module has another interface: (version, bytes of the argument).
    Version {
        /// This library's.
        ours: (u32, u32),
        /// The module's.
        theirs: (u32, u32),
    },
    /// The module does not know this call.
    UnknownCall,
    /// No kernel has that name.
    UnknownKernel {
        /// What was asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The peer's CPUs stand still, or it has not joined yet.
    Down {
        /// The peer's name.
        peer: String,
    },
    /// Somebody on this kernel has opened this channel; `None`: all of them.
    ChannelTaken {
        /// The peer's name.
        peer: String,
        /// The own number.
        channel: Option<u32>,
    },
    /// Somebody on this kernel sends to the peer's channel already.
    PeerChannelTaken {
        /// The peer's name.
        peer: String,
        /// The peer's number.
        channel: u32,
    },
    /// A ring of that size is not possible.
    BadRing {
        /// How many slots.
        slots: u32,
        /// Bytes of each.
        slot_size: usize,
    },
    /// The area that the kernels share is full.
    AreaFull,
    /// The peer did not open its end in time.
    NotOpened {
        /// The peer's name.
        peer: String,
        /// The peer's number.
        channel: u32,
    },
    /// The peer has closed its end, or its kernel ended.
    Gone {
        /// The peer's name.
        peer: String,
    },
    /// The peer wrote nonsense into a ring.
    Broken {
        /// The peer's name.
        peer: String,
    },
    /// The message is larger than the peer's slots.
    TooLarge {
        /// Its bytes.
        size: usize,
        /// The most bytes that fit.
        limit: usize,
    },
    /// The message is larger than the buffer; it stays.
    BufferTooSmall {
        /// The buffer's bytes.
        size: usize,
    },
    /// The peer's ring is full.
    NoRoom {
        /// The peer's name.
        peer: String,
    },
    /// A signal arrived.
    Interrupted,
    /// Something else, in the system's words.
    System {
        /// What failed.
        what: &'static str,
        /// Why.
        errno: Errno,
    },
}

impl Error {
    /// Return what to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::NoDevice | Error::NotPart => {
                "on the host: modprobe shimos_kloader; in a partition: it must be started with the agent"
            }
            Error::Permission => "try it with sudo",
            Error::Version { .. } | Error::UnknownCall => {
                "install the program and the shimos modules of the same version, then load the modules again"
            }
            Error::UnknownKernel { known, .. } => {
                return Some(match known.as_slice() {
                    [] => "there are none at all".into(),
                    known => format!("there are: {}", known.join(", ")),
                });
            }
            Error::Down { .. } => "`shimos ls` on the host says how it is",
            Error::ChannelTaken { channel: None, .. } => "close some of them",
            Error::ChannelTaken { .. } => "choose another channel, or any",
            Error::PeerChannelTaken { .. } => "one program per kernel at a time: end the other one",
            Error::BadRing { .. } => {
                "slots are 16 to 16384 bytes, a multiple of 16; a ring has 2 slots or more"
            }
            Error::AreaFull => {
                "`shimos ikc` shows who has how much; the host makes it larger if it can"
            }
            Error::NotOpened { .. } => "start the program over there, or wait longer",
            Error::Broken { .. } => "close the channel and open it anew",
            _ => return None,
        };
        Some(hint.into())
    }

    /// Tell why a call on the device failed that is not about a channel.
    pub(crate) fn of_call(what: &'static str, errno: Errno, sent: Header, back: Header) -> Self {
        match errno {
            Errno::EPROTO => Error::Version {
                ours: (sent.version, sent.size),
                theirs: (back.version, back.size),
            },
            Errno::ENODEV => Error::NotPart,
            Errno::ENOTTY => Error::UnknownCall,
            Errno::EINTR => Error::Interrupted,
            Errno::EPERM | Errno::EACCES => Error::Permission,
            errno => Error::System { what, errno },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoDevice => {
                write!(f, "there is no {}: shimos_ikc is not loaded", crate::PATH)
            }
            Error::Permission => write!(f, "only root may use {}", crate::PATH),
            Error::NotPart => {
                f.write_str("this kernel shares no memory with others: it is alone on its machine")
            }
            Error::UnknownCall => write!(
                f,
                "this program speaks version {} of {}, the shimos_ikc module another one",
                abi::VERSION,
                crate::PATH
            ),
            Error::Version { ours, theirs } => write_version(f, *ours, *theirs),
            Error::UnknownKernel { name, .. } => write!(f, "there is no kernel '{name}'"),
            Error::Down { peer } => write!(f, "'{peer}' is down, or has not joined yet"),
            Error::ChannelTaken { peer, channel } => match channel {
                Some(channel) => write!(f, "channel {channel} for '{peer}' is taken"),
                None => write!(f, "all channels for '{peer}' are taken"),
            },
            Error::PeerChannelTaken { peer, channel } => write!(
                f,
                "another program on this kernel is connected to channel {channel} of '{peer}'"
            ),
            Error::BadRing { slots, slot_size } => {
                let bytes = abi::RING_HEADER + (*slots as usize).saturating_mul(*slot_size);
                write!(
                    f,
                    "a ring of {slots} slots of {slot_size} bytes is not possible"
                )?;
                match bytes > abi::ALLOC_MAX {
                    true => write!(
                        f,
                        ": it takes {bytes} bytes, {} are the most",
                        abi::ALLOC_MAX
                    ),
                    false => Ok(()),
                }
            }
            Error::AreaFull => f.write_str("the memory that the kernels share is full"),
            Error::NotOpened { peer, channel } => {
                write!(f, "nobody on '{peer}' has opened channel {channel} for us")
            }
            Error::Gone { peer } => {
                write!(
                    f,
                    "'{peer}' has closed the channel, or its kernel has ended"
                )
            }
            Error::Broken { peer } => write!(f, "'{peer}' wrote nonsense into the ring"),
            Error::TooLarge { size, limit } => write!(
                f,
                "a message of {size} bytes is too large for the peer: {limit} are the most"
            ),
            Error::BufferTooSmall { size } => {
                write!(f, "the next message does not fit into {size} bytes")
            }
            Error::NoRoom { peer } => write!(f, "the ring of '{peer}' is full"),
            Error::Interrupted => f.write_str("interrupted"),
            Error::System { what, errno } => write!(f, "{what}: {}", errno.desc()),
        }
    }
}

fn write_version(f: &mut fmt::Formatter<'_>, ours: (u32, u32), theirs: (u32, u32)) -> fmt::Result {
    write!(
        f,
        "this program speaks version {} of {}, the shimos_ikc module version {}",
        ours.0,
        crate::PATH,
        theirs.0
    )?;
    match ours.0 == theirs.0 {
        // Somebody forgot to count.
        true => write!(f, ", but {} bytes instead of {}", theirs.1, ours.1),
        false => Ok(()),
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatch_names_both_versions() {
        let header = |size, version| Header { size, version };
        let error = Error::of_call("x", Errno::EPROTO, header(32, 1), header(40, 2));
        let text = error.to_string();
        assert!(text.contains("speaks version 1") && text.contains("module version 2"));
        let error = Error::of_call("x", Errno::EPROTO, header(32, 1), header(40, 1));
        assert!(error.to_string().contains("40 bytes instead of 32"));
    }

    #[test]
    fn unknown_kernels_list_the_known() {
        let error = Error::UnknownKernel {
            name: "wbe".into(),
            known: vec!["host".into(), "web".into()],
        };
        assert_eq!(error.to_string(), "there is no kernel 'wbe'");
        assert_eq!(error.hint().unwrap(), "there are: host, web");
    }

    #[test]
    fn large_rings_name_the_limit() {
        let error = Error::BadRing {
            slots: 64,
            slot_size: 1024,
        };
        let text = error.to_string();
        assert!(text.contains("65792 bytes, 65536 are the most"), "{text}");
    }
}
