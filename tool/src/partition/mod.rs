//! What the commands know of KLoader: a trait, so that they can be tested
//! against a fake, and the plain types that pass through it.

mod again;
#[cfg(test)]
pub mod fake;
mod host;
pub mod kloader;
pub mod lookup;
mod platform;
mod range;
mod state;
pub mod view;
pub mod waiting;

use std::fs::File;
use std::time::Duration;

use nix::errno::Errno;
use serde::Serialize;

use crate::ui::refusal::{Module, Outcome};
use crate::units::budget::Budget;
use crate::units::cpulist;
use crate::units::pci_address::Given;
pub use again::{OnChange, OnReboot};
pub use host::{HostCpu, HostPolicy};
pub use platform::{Conduit, Description, Platform};
pub use range::Range;
pub use state::{Cause, Kind, State};

/// The agent's heart beats once a second.
const SILENCE: Duration = Duration::from_secs(3);

/// What this KLoader is and whether this host can serve.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Info {
    pub version: u32,
    pub memory_min: u64,
    pub memory_align: u64,
    pub partitions: u32,
    pub host_ok: bool,
    /// The architecture can stop a CPU from outside, whatever it does.
    pub stops_cpus: bool,
    /// A kernel is started only with a description of its platform from us.
    pub needs_description: bool,
    pub host_problem: String,
    /// CPUs can be shared with real-time programs.
    pub rt_ok: bool,
    pub rt_memory_min: u64,
    pub rt_memory_max: u64,
    pub rt_problem: String,
    /// Partitions can be guarded.
    pub guard_ok: bool,
    pub guard_problem: String,
}

/// Everything there is to know about one partition, as `struct shimos_status` has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub name: String,
    pub id: u32,
    pub kind: Kind,
    pub state: State,
    pub cause: Cause,
    pub message: String,
    pub cpus: Vec<u32>,
    pub memory: u64,
    pub ranges: Vec<Range>,
    pub starts: u32,
    pub agent: u32,
    pub uptime_ns: u64,
    pub boot_ns: u64,
    pub silent_ns: u64,
    pub busy_ns: u64,
    pub host_bytes: u64,
    pub kernel_bytes: u64,
    pub initrd_bytes: u64,
    pub kernel_version: String,
    pub cmdline: String,
    pub event: u64,
    /// 0 for what is no real-time program.
    pub budget_ns: u64,
    pub period_ns: u64,
    pub priority: u32,
    /// While it runs, the host cannot touch its memory.
    pub protected: bool,
    /// Its kernel cannot touch what is not the partition's.
    pub guarded: bool,
    /// How often who is kept away has tried.
    pub faults: u32,
    /// How often a guarded one's kernel was left, since its last start.
    pub exits: u64,
    /// It starts again by itself when it has rebooted.
    pub restart_on_reboot: bool,
    /// It starts again by itself when it was found changed.
    pub renew: bool,
    /// Whom it watches; empty: nobody, and what follows is 0.
    pub watch: String,
    pub watch_rounds: u64,
    pub watch_pages: u32,
    pub watch_found: u32,
    pub watch_nonsense: u32,
    /// CPUs that it may get later; some may be its own already.
    pub more: Vec<u32>,
}

impl Status {
    /// Return its CPUs as Linux writes them; one that is shared says so.
    pub fn cpu_list(&self) -> String {
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable(); // those that came later are the last
        let list = cpulist::show(&cpus);
        match self.kind {
            Kind::Rt => format!("{list} (shared)"),
            Kind::Linux => list,
        }
    }

    /// Return the CPUs that it may get and does not have yet.
    pub fn later(&self) -> Vec<u32> {
        let more = self.more.iter().copied();
        more.filter(|cpu| !self.cpus.contains(cpu)).collect()
    }

    /// Tell whether there is an agent in it; a real-time program has none.
    pub fn has_agent(&self) -> bool {
        self.kind == Kind::Linux && self.agent != 0
    }

    /// Return the seconds since the last heartbeat of a partition that should have one.
    pub fn silent_for(&self) -> Option<u64> {
        let silence = Duration::from_nanos(self.silent_ns);
        let beats = self.has_agent() && self.state == State::Running;
        (beats && silence > SILENCE).then_some(silence.as_secs())
    }

    /// Return a real-time program's budget.
    pub fn budget(&self) -> Option<Budget> {
        (self.kind == Kind::Rt).then_some(Budget {
            budget_ns: self.budget_ns,
            period_ns: self.period_ns,
        })
    }
}

/// How a real-time partition shares its CPU, counted since its last start. The
/// fields are those of `struct shimos_rt_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtStatus {
    pub cpu: u32,
    pub ran_ns: u64,
    pub entered: u64,
    pub masked: u64,
    pub exits: u64,
    pub timers: u64,
    pub past: u64,
    pub throttled: u64,
    pub host_exits: u64,
    pub moves: u64,
    pub moved_ns: u64,
    pub moved_max_ns: u64,
}

/// How late a real-time partition gets its timer's interrupts, in cycles, counted since
/// its last start. The fields are those of `struct shimos_rt_latency`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RtLatency {
    pub cycles_per_second: u64,
    pub count: u64,
    pub min: u64,
    pub max: u64,
    pub sum: u64,
    pub past: u64,
    pub buckets: Vec<u32>,
}

/// Whether what nobody may change of a real-time partition is as it was loaded. The fields
/// are those of `struct shimos_rt_check`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RtCheck {
    pub pages: u32,
    pub changed: u32,
    pub image_changed: bool,
    pub first: u64,
}

/// Interrupts at one vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtVector {
    pub number: u32,
    pub count: u64,
    /// What they are; `None`: nobody has said.
    pub name: Option<String>,
}

/// Which interrupts the CPU of a real-time partition has had, and whose they were. The fields
/// are those of `struct shimos_rt_vectors`, but for vectors that had none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RtVectors {
    pub cpu: u32,
    pub host: Vec<RtVector>,
    pub layer: Vec<RtVector>,
    pub program: Vec<RtVector>,
}

/// What a partition is made of.
#[derive(Clone, Debug)]
pub struct CreateRequest {
    pub name: String,
    pub kind: Kind,
    pub cpus: Vec<u32>,
    pub memory: u64,
    /// The node that all of the memory must be in; `None`: near the CPUs if there is room.
    pub node: Option<u32>,
    pub restart_on_reboot: bool,
    /// Of a real-time program; `None`: KLoader's default.
    pub budget: Option<Budget>,
    /// The same.
    pub priority: Option<u32>,
    pub protected: bool,
    pub guarded: bool,
    /// Start it again when it was found changed.
    pub renew: bool,
    /// Whom it watches.
    pub watch: Option<String>,
    /// CPUs that it may get later.
    pub more: Vec<u32>,
}

impl CreateRequest {
    /// Ask for an ordinary Linux partition, near its CPUs if there is room.
    pub fn linux(name: &str, cpus: Vec<u32>, memory: u64) -> Self {
        CreateRequest {
            name: name.into(),
            kind: Kind::Linux,
            cpus,
            memory,
            node: None,
            restart_on_reboot: false,
            budget: None,
            priority: None,
            protected: false,
            guarded: false,
            renew: false,
            watch: None,
            more: Vec::new(),
        }
    }
}

/// What `wait` saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub event: u64,
    pub state: State,
    pub cause: Cause,
}

/// KLoader, as it refuses.
pub static KLOADER: Module = Module {
    name: "shimos_kloader",
    words: |errno| {
        Some(match errno {
            Errno::ENOENT | Errno::ESRCH => "there is no such partition (any more)",
            Errno::EEXIST => "a partition of that name exists",
            Errno::EBUSY => "it is in use, or not in a state that allows it",
            Errno::EPERM | Errno::EACCES => "only root may do that",
            Errno::ENOMEM => "there is not enough memory",
            Errno::ENOEXEC => "that is not a kernel KLoader can start",
            _ => return None,
        })
    },
};

/// KLoader. Calls may block; a signal makes a blocked one fail with `EINTR`.
pub trait Device {
    /// Ask what KLoader and this machine can do.
    fn info(&self) -> Outcome<Info>;
    /// Take CPUs and memory; the number of the new partition, never reused.
    fn create(&self, request: &CreateRequest) -> Outcome<u32>;
    /// Take a PCI device from the host; before the kernel is loaded.
    fn give_pci(&self, id: u32, given: Given) -> Outcome<()>;
    /// Load a partition's kernel, initrd and command line.
    fn load(&self, id: u32, kernel: &File, initrd: Option<&File>, cmdline: &str) -> Outcome<()>;
    /// Ask what the description of a loaded partition's platform must say.
    fn platform(&self, id: u32) -> Outcome<Platform>;
    /// Give it one, for all starts to come.
    fn describe(&self, id: u32, description: &Description) -> Outcome<()>;
    /// Start a loaded partition.
    fn start(&self, id: u32, without_agent: bool) -> Outcome<()>;
    /// Ask for an orderly power-off; returns at once.
    fn stop(&self, id: u32) -> Outcome<()>;
    /// Park its CPUs now.
    fn kill(&self, id: u32) -> Outcome<()>;
    /// Give a running partition this CPU too, once its kernel has it.
    fn add_cpu(&self, id: u32, cpu: u32) -> Outcome<()>;
    /// Take this CPU back from a running partition, once its kernel has let it go.
    fn remove_cpu(&self, id: u32, cpu: u32) -> Outcome<()>;
    /// Give a running partition at most so many bytes more; returns how many, which may be fewer.
    fn add_memory(&self, id: u32, size: u64) -> Outcome<u64>;
    /// Take at most so many bytes back from a running partition; returns how many.
    fn remove_memory(&self, id: u32, size: u64) -> Outcome<u64>;
    /// Give CPUs and memory back.
    fn destroy(&self, id: u32) -> Outcome<()>;
    /// Ask about a partition.
    fn status(&self, id: u32) -> Outcome<Status>;
    /// Ask about the partition with the lowest number above `id`; `None`: there is none.
    fn next(&self, id: u32) -> Outcome<Option<Status>>;
    /// Sleep until the event count is not `event`; `None` after the timeout.
    fn wait(&self, id: u32, event: u64, timeout: Duration) -> Outcome<Option<Change>>;
    /// Ask about a real-time partition; refused for others.
    fn rt(&self, id: u32) -> Outcome<RtStatus>;
    /// Ask how late the interrupts of a real-time partition were.
    fn rt_latency(&self, id: u32) -> Outcome<RtLatency>;
    /// Let a real-time partition share another CPU from now on.
    fn rt_move(&self, id: u32, cpu: u32) -> Outcome<()>;
    /// Let one of the host's own CPUs run on another one's core from now on.
    fn host_move(&self, cpu: u32, core: u32) -> Outcome<()>;
    /// Let a CPU's real-time tasks go before programs that are less urgent, up to this
    /// priority; 0: it goes after all programs.
    fn host_priority(&self, cpu: u32, priority: u32) -> Outcome<()>;
    /// Ask for the host's CPUs beside real-time programs.
    fn host_cpus(&self) -> Outcome<Vec<HostCpu>>;
    /// Ask where they are while real-time programs share some of them; `Some`: from now on.
    fn host_policy(&self, to: Option<HostPolicy>) -> Outcome<HostPolicy>;
    /// Give a real-time partition another priority from now on.
    fn rt_priority(&self, id: u32, priority: u32) -> Outcome<()>;
    /// Ask which interrupts came to a real-time partition's CPU; refused for others.
    fn rt_vectors(&self, id: u32) -> Outcome<RtVectors>;
    /// Ask whether a real-time partition's memory is as its image has it.
    fn rt_check(&self, id: u32) -> Outcome<RtCheck>;
    /// Open a partition's console.
    fn console(&self, id: u32) -> Outcome<File>;
    /// Open a partition's memory, to be read only.
    fn memory(&self, id: u32) -> Outcome<File>;
}

/// List all partitions, oldest first.
pub fn all(device: &dyn Device) -> Outcome<Vec<Status>> {
    let mut list = Vec::new();
    let mut last = 0;
    while let Some(status) = device.next(last)? {
        if status.id <= last {
            break;
        }
        last = status.id;
        list.push(status);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        for kind in [Kind::Linux, Kind::Rt] {
            assert_eq!(Kind::from_raw(kind.to_raw()), kind);
        }
        assert_eq!(fake::status("web").cpu_list(), "2-3");
        assert_eq!(fake::rt_status("ctl").cpu_list(), "1 (shared)");
    }

    #[test]
    fn causes() {
        assert_eq!(Cause::from_raw(7), Cause::Fault);
        assert_eq!(Cause::from_raw(8), Cause::Failed);
        assert_eq!(Cause::from_raw(9), Cause::Changed);
        assert_eq!(Cause::from_raw(10), Cause::Unknown);
        assert_eq!(Cause::Changed.name(), "changed");
        assert_eq!(Cause::Changed.verb(), "was changed from outside");
    }
}
