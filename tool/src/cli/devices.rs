//! Disks and networks that one kernel shares with another.

use clap::{ArgGroup, Args};

use super::names;
use crate::devices::spec::{self, Wanted};

/// What to share. On the command line of `run`, --disk replaces the file's disks and
/// --net its nets.
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
}

impl Share {
    /// Return all that shall be shared.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            disks: self.disks.clone(),
            nets: self.nets.clone(),
        }
    }
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").args(["disks", "nets"]).required(true).multiple(true))]
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
#[command(group = ArgGroup::new("which").args(["disk", "net", "id"]).required(true))]
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

    /// The number that `shimos devices` shows
    #[arg(long, value_name = "N")]
    pub id: Option<u32>,

    /// Even if it is in use there: whoever uses it gets errors
    #[arg(short, long)]
    pub force: bool,
}
