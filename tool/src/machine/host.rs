//! What this kernel says of the machine: its cores, its memory, and what its CPUs have done.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::topology::{self, Core};

/// This kernel's view of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    pub cores: Vec<Core>,
    /// Of each CPU that is online.
    pub ticks: BTreeMap<u32, Ticks>,
    /// Bytes.
    pub memory_total: u64,
    pub memory_available: u64,
}

/// Time of a CPU since the boot, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    pub busy: u64,
    pub all: u64,
}

/// Read it. `root` is `/` but in tests.
pub fn read(root: &Path) -> Host {
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let meminfo = text("proc/meminfo");
    Host {
        cores: topology::read(root),
        ticks: ticks(&text("proc/stat")),
        memory_total: bytes(&meminfo, "MemTotal:"),
        memory_available: bytes(&meminfo, "MemAvailable:"),
    }
}

/// cpu0 user nice system idle iowait irq softirq steal guest guest_nice
fn ticks(stat: &str) -> BTreeMap<u32, Ticks> {
    let of = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_whitespace();
        let cpu = words.next()?.parse().ok()?;
        // Guests' time is in the user's, too.
        let times: Vec<u64> = words.take(8).filter_map(|word| word.parse().ok()).collect();
        let all = times.iter().sum();
        let idle: u64 = times.iter().skip(3).take(2).sum();
        let busy = u64::saturating_sub(all, idle);
        Some((cpu, Ticks { busy, all }))
    };
    // The first line is the sum, and has no number.
    let lines = stat.lines().filter(|line| !line.starts_with("cpu "));
    lines.filter_map(of).collect()
}

fn bytes(meminfo: &str, key: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_memory() {
        let stat = "cpu  9 9 9 9\ncpu0 1 2 3 40 5 6 7 8 100 100\ncpu3 1 0 0 1\nintr 5\n";
        let found = ticks(stat);
        assert_eq!(found[&0], Ticks { busy: 27, all: 72 });
        assert_eq!(found[&3], Ticks { busy: 1, all: 2 });
        assert_eq!(found.len(), 2);
        let meminfo = "MemTotal:  2048 kB\nMemAvailable: 1024 kB\n";
        assert_eq!(bytes(meminfo, "MemTotal:"), 2 << 20);
        assert_eq!(bytes(meminfo, "Other:"), 0);
        assert_eq!(read(Path::new("/nonexistent")), Host::default());
    }
}
