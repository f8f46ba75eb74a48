//! All counters at one moment.

use std::io;
use std::path::Path;
use std::time::Instant;

use shimos_ikc::Queue;

use super::host::{self, Host};
use crate::devices::node::Node;
use crate::devices::{self, Devices};
use crate::error::Result;
use crate::ikc::view::View;
use crate::partition::kloader::KLoader;
use crate::partition::{self, Device, Kind, Status};
use crate::pci;
use crate::ui::refusal::OrRefuse;
use crate::units::name::HOST;

/// All counters, and when they were read.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub at: Instant,
    /// This kernel's name.
    pub this: String,
    pub host: Host,
    /// The others.
    pub kernels: Vec<Kernel>,
    /// `None`: this kernel cannot share devices.
    pub devices: Option<Vec<devices::Status>>,
    /// `None`: there is no IKC.
    pub queues: Option<Vec<Queue>>,
}

/// What is known of a kernel; in a partition that is less than on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub name: String,
    /// In IKC.
    pub number: Option<u32>,
    pub state: String,
    /// Counts its starts: with each, CPU time begins at zero.
    pub starts: u32,
    /// Their numbers.
    pub cpus: Option<Vec<u32>>,
    /// Its CPU is the host's as well.
    pub shares: bool,
    pub memory: Option<u64>,
    /// PCI devices that it has whole.
    pub pci: Vec<String>,
    /// Time that its CPUs were not idle.
    pub cpu_busy_ns: Option<u64>,
}

/// Where the counters come from.
pub struct Source {
    /// `None`: this is a partition.
    loader: Option<KLoader>,
    node: Option<Node>,
}

impl Source {
    /// Open what there is: a partition has no KLoader; an error on a host without it.
    pub fn open() -> Result<Self> {
        let loader = match KLoader::try_open() {
            Ok(loader) => Some(loader),
            Err(e) if e.kind() == io::ErrorKind::NotFound && View::read().is_ok() => None,
            Err(_) => Some(KLoader::open()?),
        };
        Ok(Source { loader, node: None })
    }

    /// Read all counters now.
    pub fn read(&mut self) -> Result<Snapshot> {
        let view = View::read().ok();
        // Its module may be loaded any time.
        if self.node.is_none() {
            self.node = Node::open_if_there();
        }
        let node = self.node.as_ref().map(|node| node as &dyn Devices);
        let loader = self.loader.as_ref().map(|loader| loader as &dyn Device);
        collect(loader, node, view, host::read(Path::new("/")))
    }
}

fn collect(
    loader: Option<&dyn Device>,
    node: Option<&dyn Devices>,
    view: Option<View>,
    host: Host,
) -> Result<Snapshot> {
    let number = |name: &str| {
        let kernels = view.as_ref().map(|v| v.kernels.as_slice());
        let mut kernels = kernels.unwrap_or_default().iter();
        kernels.find(|k| k.name == name).map(|k| k.number)
    };
    let kernels = match (loader, &view) {
        (Some(loader), _) => {
            let list = partition::all(loader).or_refuse("cannot list the partitions")?;
            let kernel = |s: &Status| partition(s, number(&s.name));
            list.iter().map(kernel).collect()
        }
        (None, Some(view)) => others(view),
        (None, None) => Vec::new(),
    };
    let devices = match node {
        Some(node) => Some(devices::all(node).or_refuse("cannot list the shared devices")?),
        None => None,
    };
    let mut known = view.iter().flat_map(|view| &view.kernels);
    let this = known.find(|kernel| kernel.is_self);
    Ok(Snapshot {
        at: Instant::now(),
        this: this.map_or_else(|| HOST.into(), |kernel| kernel.name.clone()),
        host,
        kernels,
        devices,
        queues: view.map(|v| v.queues),
    })
}

fn partition(status: &Status, number: Option<u32>) -> Kernel {
    // Of a Linux its agent must say it, of a real-time program the layer does.
    let known = status.kind == Kind::Rt || status.agent != 0;
    Kernel {
        name: status.name.clone(),
        number,
        state: match status.silent_for() {
            Some(seconds) => format!("silent {seconds} s"),
            None => status.state.name().into(),
        },
        starts: status.starts,
        cpus: Some(status.cpus.clone()),
        shares: status.kind == Kind::Rt,
        memory: Some(status.memory),
        pci: pci::given::to(Path::new("/"), &status.name),
        cpu_busy_ns: known.then_some(status.busy_ns),
    }
}

/// A partition sees the other kernels only as far as they are its peers.
fn others(view: &View) -> Vec<Kernel> {
    let peers = view.kernels.iter().filter(|k| !k.is_self);
    peers
        .map(|k| Kernel {
            name: k.name.clone(),
            number: Some(k.number),
            state: crate::ikc::view::state_name(k).into(),
            starts: k.life,
            cpus: None,
            shares: false,
            memory: None,
            pci: Vec::new(),
            cpu_busy_ns: None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ikc::view;
    use crate::partition::fake;

    #[test]
    fn on_the_host() {
        let loader = fake::Fake::with(&["web", "db"]);
        let node = devices::fake::Fake::with(&[devices::fake::disk(1, "web", "a")]);
        let snapshot = collect(
            Some(&loader),
            Some(&node),
            Some(view::example()),
            Host::default(),
        )
        .unwrap();
        let web = &snapshot.kernels[0];
        assert_eq!((web.number, &web.cpus), (Some(1), &Some(vec![2, 3])));
        assert_eq!(snapshot.this, "host");
        assert_eq!((web.state.as_str(), web.memory), ("running", Some(1 << 30)));
        assert_eq!(snapshot.devices.unwrap().len(), 1);
        assert_eq!(snapshot.queues.unwrap().len(), 3);
    }

    #[test]
    fn one_that_shares_its_cpu() {
        let loader = fake::Fake::with(&["web"]);
        loader.add(fake::rt_status("ctl"));
        let kernels = collect(Some(&loader), None, None, Host::default())
            .unwrap()
            .kernels;
        let busy: Vec<_> = kernels.iter().map(|k| k.cpu_busy_ns).collect();
        assert_eq!(busy, [Some(900_000_000), Some(12_000_000)]);
    }

    #[test]
    fn in_a_partition() {
        let snapshot = collect(None, None, Some(view::example()), Host::default()).unwrap();
        let names: Vec<_> = snapshot.kernels.iter().map(|k| k.name.as_str()).collect();
        assert_eq!(names, ["web", "db"], "not itself");
        assert_eq!(snapshot.kernels[0].state, "up");
        assert_eq!(snapshot.kernels[0].memory, None);
        assert!(snapshot.devices.is_none());
    }

    #[test]
    fn one_that_hangs() {
        let mut status = fake::status("web");
        status.silent_ns = 7_500_000_000;
        assert_eq!(partition(&status, None).state, "silent 7 s");
    }
}
