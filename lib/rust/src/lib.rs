//! Messages between programs on different kernels of one SHIMOS machine, through
//! `/dev/ikc`.
//!
//! A [`Channel`] connects a program with one on another kernel (or with a kernel's
//! own service): messages arrive whole and in order, each way. No system call is
//! made as long as nobody sleeps. The ring itself is the kernel modules' C code,
//! compiled into this crate.
//!
//! ```no_run
//! use std::time::Duration;
//! use shimos_ikc::{Channel, Device, Settings};
//!
//! let device = Device::open()?;
//! let web = device.find("web")?;
//! // Both ends choose number 1 here; they need not be the same.
//! let settings = Settings { channel: Some(1), peer_channel: 1, ..Settings::default() };
//! let mut channel = Channel::open(&web, settings)?.connect(Duration::from_secs(5))?;
//! channel.send(b"hello", None)?;
//! let mut buffer = [0; 256];
//! if let Some(answer) = channel.receive(&mut buffer, Some(Duration::from_secs(1)))? {
//!     assert!(!answer.is_empty());
//! }
//! # Ok::<(), shimos_ikc::Error>(())
//! ```

pub mod abi;
mod channel;
mod device;
mod echo;
mod error;
mod link;
mod pair;
mod receiver;
mod ring;
mod sender;
mod spin;
mod sys;

pub use channel::{Channel, Pending, Settings};
pub use device::{Area, Device, Kernel, PATH, Queue, State};
pub use echo::{EchoMessage, Op};
pub use error::{Error, Result};
pub use receiver::Receiver;
pub use ring::{Counts, ring_bytes, slot_size_for};
pub use sender::Sender;
