//! Linux's own vhost for sockets: a partition's sockets reach programs on the host, and
//! theirs reach it, by numbers (vsock(7)).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;

use super::program::{Program, RING_FEATURES, Server, Start};
use crate::abi::vhost::{self, Mapping};
use crate::devices::{Kind, Offer, node};
use crate::error::{Error, IoContext, Result, io_text};

/// The first context identifier that is nobody's by definition.
pub const FIRST_CID: u32 = 3;
/// The last one: what is above means any.
pub const LAST_CID: u32 = u32::MAX - 1;
const PATH: &str = "/dev/vhost-vsock";
const MODULE: &str = "vhost_vsock";

/// Two that vhost serves, and one for events, which nobody does.
const QUEUES: u32 = 3;
const VHOST_QUEUES: u32 = 2;
/// SEQPACKET sockets.
const SEQPACKET: u64 = 1 << 1;
/// How many addresses are tried, from the first on, to find one that is free.
const TRIES: u32 = 1 << 16;

/// An instance of vhost.
pub struct Vsock {
    vhost: File,
    cid: u32,
    features: u64,
    mappings: Vec<Mapping>,
}

impl Vsock {
    /// Open one with an address, or with one that is free.
    pub fn open(cid: Option<u32>) -> Result<Self> {
        let vhost = open().map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => Error::new(format!("there is no {PATH}"))
                .hint(format!("load the module: modprobe {MODULE}")),
            _ => Error::new(format!("cannot open {PATH}: {}", io_text(&e))),
        })?;
        let features = vhost::own(&vhost).or_fail("cannot use vhost")?;
        let cid = match cid {
            Some(cid) => take(&vhost, cid)?,
            None => any(&vhost)?,
        };
        Ok(Vsock {
            vhost,
            cid,
            features,
            mappings: Vec::new(),
        })
    }

    /// Return what it offers (virtio 1.2, 5.10).
    pub fn offer(&self) -> Offer {
        Offer {
            kind: Kind::Vsock,
            name: self.cid.to_string(),
            features: self.features & (RING_FEATURES | SEQPACKET),
            queues: QUEUES,
            config: u64::from(self.cid).to_le_bytes().to_vec(),
        }
    }
}

fn open() -> io::Result<File> {
    let open = || OpenOptions::new().read(true).write(true).open(PATH);
    match open() {
        // The device file may be there before the module is, which opening it loads.
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            node::load(MODULE);
            open()
        }
        other => other,
    }
}

fn take(vhost: &File, cid: u32) -> Result<u32> {
    match vhost::set_cid(vhost, cid.into()) {
        Ok(()) => Ok(cid),
        Err(Errno::EADDRINUSE) => Err(Error::new(format!("CID {cid} is somebody's already"))
            .hint("choose another one, or give --vsock without a number")),
        Err(e) => Err(e).or_fail(format_args!("cannot take CID {cid}")),
    }
}

fn any(vhost: &File) -> Result<u32> {
    for cid in FIRST_CID..FIRST_CID + TRIES {
        match vhost::set_cid(vhost, cid.into()) {
            Ok(()) => return Ok(cid),
            Err(Errno::EADDRINUSE) => {}
            Err(e) => return Err(e).or_fail(format_args!("cannot take CID {cid}")),
        }
    }
    Err(
        Error::new("all CIDs that were tried are somebody's already")
            .hint("give a number: --vsock=N"),
    )
}

impl Server for Vsock {
    fn start(&mut self, program: &Program, start: &Start) -> Result<()> {
        let vhost = &self.vhost;
        vhost::set_features(vhost, start.features).or_fail("vhost does not take the features")?;
        let memory = program.memory()?;
        self.mappings = start
            .ranges()
            .map(|range| Mapping::new(&memory, range))
            .collect::<nix::Result<_>>()
            .or_fail("cannot map the memory")?;
        vhost::set_memory(vhost, &self.mappings).or_fail("vhost does not take the memory")?;
        for (index, ring) in start.rings().filter(|(index, _)| *index < VHOST_QUEUES) {
            let bells = program.doorbells(index)?;
            let (kick, call) = (bells.kick.as_fd(), bells.call.as_fd());
            vhost::set_ring(vhost, index, &ring, &self.mappings, kick, call)
                .or_fail(format_args!("vhost does not take ring {index}"))?;
        }
        vhost::set_running(vhost, true).or_fail("vhost does not start")
    }

    /// Its end is what tells the host's programs that their connections have ended: a new one
    /// is there for the next driver.
    fn stop(&mut self) -> Result<()> {
        vhost::set_running(&self.vhost, false).or_fail("vhost does not stop")?;
        self.vhost = File::open("/dev/null").or_fail("cannot open /dev/null")?;
        self.mappings.clear();
        *self = Vsock::open(Some(self.cid))?;
        Ok(())
    }

    fn connection(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn gone(&mut self) -> Error {
        Error::new("vhost has gone")
    }
}
