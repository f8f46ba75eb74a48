//! Devices that one kernel shares with another.

use clap::{ArgGroup, Args};

use super::names;
use crate::devices::served::{self, Served};
use crate::devices::spec::{self, Wanted};

/// What to share. On the command line of `run`, --disk replaces the file's disks, --net its
/// nets, and so on.
#[derive(Clone, Debug, Default, Args)]
pub struct Share {
    /// Share a disk with it, a block device or a file: PATH[,ro][,queues=N][,iops=N][,bw=SIZE][,size=SIZE]
    ///
    /// May be given several times. ro: it may only read. queues: how many, each with a
    /// thread here [default: as many as it has CPUs]. iops, bw: at most so many requests
    /// and bytes per second, each for reading and for writing. size: only so much of the
    /// file. A block device must not be in use here, mounted for example.
    #[arg(long = "disk", value_name = "SPEC", value_parser = spec::disk)]
    pub disks: Vec<spec::Disk>,

    /// Give it a network interface in a bridge here: BRIDGE[,mac=MAC][,queues=N][,mtu=N][,name=IFNAME]
    ///
    /// May be given several times. "p2p" instead of a bridge: connected with an interface
    /// here and nothing else. mac: of its interface [default: made from the names, always
    /// the same]. queues: pairs of them [default: as many as it has CPUs]. mtu [default:
    /// the bridge's, or 1500]. name: of the interface here, %d becomes a number [default:
    /// shm-NAME%d].
    #[arg(long = "net", value_name = "SPEC", value_parser = spec::net, add = names::bridges())]
    pub nets: Vec<spec::Net>,

    /// Let it mount a directory of this kernel's: PATH,tag=TAG[,ro]
    ///
    /// May be given several times. There: mount -t virtiofs TAG /mnt. Debian's virtiofsd serves
    /// it, as it does for virtual machines; install it first. ro: it may only read.
    #[arg(long = "fs", value_name = "SPEC", value_parser = served::fs)]
    pub fs: Vec<Served>,

    /// Let programs there and here reach each other by sockets of AF_VSOCK
    ///
    /// Its address is CID, from 3 on [default: one that is free, which `shimos devices` shows];
    /// this kernel's is 2. Linux's vhost serves it, as it does for virtual machines.
    #[arg(long, value_name = "CID", value_parser = served::vsock, num_args = 0..=1, require_equals = true, default_missing_value = "any")]
    pub vsock: Option<Served>,

    /// Share a device that a vhost-user daemon serves: SOCKET,type=fs,tag=TAG
    ///
    /// May be given several times. The daemon listens there already, and is not started or ended.
    #[arg(long = "vhost-user", value_name = "SPEC", value_parser = served::vhost_user)]
    pub vhost_user: Vec<Served>,
}

impl Share {
    /// Return all that shall be shared.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            disks: self.disks.clone(),
            nets: self.nets.clone(),
            served: self
                .fs
                .iter()
                .chain(&self.vsock)
                .chain(&self.vhost_user)
                .cloned()
                .collect(),
        }
    }
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").args(["disks", "nets", "fs", "vsock", "vhost_user"]).required(true).multiple(true))]
pub struct Attach {
    /// Name of a kernel: a partition's, or "host"
    #[arg(add = names::kernels())]
    pub name: String,

    #[command(flatten)]
    pub share: Share,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").args(["disk", "net", "fs", "vsock", "id"]).required(true))]
pub struct Detach {
    /// Name of the kernel that has it: a partition's, or "host"
    #[arg(add = names::kernels())]
    pub name: String,

    /// The disk: the path that it was shared by, or another one that leads to it
    #[arg(long, value_name = "PATH")]
    pub disk: Option<String>,

    /// The network device: its interface here
    #[arg(long, value_name = "IFNAME")]
    pub net: Option<String>,

    /// The directory or the daemon's device: its tag
    #[arg(long, value_name = "TAG")]
    pub fs: Option<String>,

    /// The one for sockets
    #[arg(long)]
    pub vsock: bool,

    /// The number that `shimos devices` shows
    #[arg(long, value_name = "N")]
    pub id: Option<u32>,

    /// Even if it is in use there: whoever uses it gets errors
    #[arg(short, long)]
    pub force: bool,
}
