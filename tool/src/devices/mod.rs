//! Devices of this kernel that it shares with others: `/dev/shimos-devices`. The
//! same on the host and in a partition.

pub mod disk;
#[cfg(test)]
pub mod fake;
pub mod find;
pub mod ifname;
pub mod image;
pub mod limit;
pub mod node;
mod opening;
pub mod served;
pub mod sharing;
pub mod spec;
pub mod usage;
pub mod view;

use std::fmt;
use std::fs::File;

use nix::errno::Errno;
use serde::{Serialize, Serializer};
use strum::{Display, FromRepr, IntoStaticStr};

use crate::ui::refusal::{Module, Outcome};

/// What is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Display, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    Disk,
    Net,
    /// A program of the owner's serves it, as the next one.
    Vsock,
    Fs,
    Unknown,
}

impl Kind {
    /// Return its word, for tables and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How far its user has come with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Display, FromRepr, IntoStaticStr)]
#[repr(u32)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum State {
    /// The user does not run yet.
    Waiting = 0,
    /// The user knows of it, no driver has started it.
    Offered,
    Running,
    /// The user wrote nonsense or refused it; it is not served.
    Broken,
    /// Being removed.
    Leaving,
    Unknown,
}

impl State {
    /// Read the back end's number.
    pub fn from_raw(raw: u32) -> Self {
        Self::from_repr(raw).unwrap_or(State::Unknown)
    }

    /// Return its word, for tables and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The hardware address of a network device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a device has done, as its user sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Requests; packets that the user received.
    pub reads: u64,
    pub read_bytes: u64,
    /// Requests; packets that the user sent.
    pub writes: u64,
    pub write_bytes: u64,
    /// Flushes, discards and the like.
    pub others: u64,
    pub errors: u64,
    /// Doorbells from the user.
    pub doorbells_from_user: u64,
    /// Doorbells to the user.
    pub doorbells_to_user: u64,
    pub doorbells_saved: u64,
    /// Bytes handed on in the user's own pages.
    pub direct_bytes: u64,
    pub copied_bytes: u64,
    /// Time for which this kernel's threads looked for requests, and there were none yet.
    pub polled_ns: u64,
}

/// Everything there is to know about one device; docs/json.md describes its JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    pub id: u32,
    pub user: u32,
    pub user_name: String,
    #[serde(rename = "type")]
    pub kind: Kind,
    /// As given; the interface for networks.
    pub name: String,
    pub state: State,
    /// Why it is broken.
    pub problem: String,
    pub read_only: bool,
    pub queues: u32,
    /// Disks: the block device.
    pub major: u32,
    pub minor: u32,
    pub capacity: u64,
    /// Networks: the user's end.
    pub mac: Mac,
    pub mtu: u16,
    pub features: u64,
    #[serde(flatten)]
    pub counters: Counters,
}

/// A disk to be shared.
pub struct AddDisk<'a> {
    /// Number of the kernel in IKC.
    pub user: u32,
    /// The block device.
    pub disk: &'a File,
    pub read_only: bool,
    /// 0: as many as the user has CPUs.
    pub queues: u32,
    pub name: &'a str,
}

/// A network device to be shared.
#[derive(Clone, Copy, Debug)]
pub struct AddNet<'a> {
    pub user: u32,
    pub queues: u32,
    /// Of this end; may have one %d.
    pub ifname: &'a str,
    pub bridge: Option<&'a str>,
    /// Zero: derived from names.
    pub mac: Mac,
    /// 0: the bridge's, or 1500.
    pub mtu: u16,
}

/// What a device offers its driver that a program serves.
#[derive(Debug)]
pub struct Offer {
    pub kind: Kind,
    pub name: String,
    /// Of virtio: the device's own and the rings'.
    pub features: u64,
    pub queues: u32,
    /// virtio's configuration space.
    pub config: Vec<u8>,
}

/// The module that has the back end.
pub const MODULE: &str = "shimos_backend";

/// The back end, as it refuses.
pub static BACK_END: Module = Module {
    name: MODULE,
    words: |errno| {
        Some(match errno {
            Errno::ENOENT => "there is no such device (any more)",
            Errno::EBUSY => "it is in use",
            Errno::EPERM | Errno::EACCES => "only root may do that",
            Errno::ENODEV => "the other kernel is gone",
            Errno::ENOSPC => "that kernel has as many devices as it can have",
            Errno::EEXIST => "there is one of that name",
            _ => return None,
        })
    },
};

/// The back end.
pub trait Devices {
    /// Share a disk; returns the new device's number, never used again.
    fn add_disk(&self, disk: &AddDisk<'_>) -> Outcome<u32>;
    /// Share a network device; returns its number, never used again.
    fn add_net(&self, net: &AddNet<'_>) -> Outcome<u32>;
    /// Remove a device. `EBUSY`: it is in use there, and not forced.
    fn remove(&self, id: u32, force: bool) -> Outcome<()>;
    /// Ask about a device.
    fn status(&self, id: u32) -> Outcome<Status>;
    /// Ask about the device with the lowest number above `id`; `None`: there is none.
    fn next(&self, id: u32) -> Outcome<Option<Status>>;
}

/// List all devices, oldest first.
pub fn all(devices: &dyn Devices) -> Outcome<Vec<Status>> {
    let mut list = Vec::new();
    let mut last = 0;
    while let Some(status) = devices.next(last)? {
        if status.id <= last {
            break;
        }
        last = status.id;
        list.push(status);
    }
    Ok(list)
}
