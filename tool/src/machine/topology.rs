//! CPUs by core and node. Linux forgets the cores of CPUs that are offline, as lent ones are.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::system::{numbers, smt};

/// CPUs that share a core, in the order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    pub node: u32,
    pub cpus: Vec<u32>,
}

/// Read all cores of the machine, by node and then by number. `root` is `/` but in tests.
///
/// Offline CPUs are put together as those are whose cores Linux tells.
pub fn read(root: &Path) -> Vec<Core> {
    let list = |name: &str| numbers(root, format!("sys/devices/system/cpu/{name}"));
    let mut known: BTreeSet<Vec<u32>> = BTreeSet::new();
    for cpu in list("online") {
        let mut threads = smt::threads(root, cpu);
        threads.sort_unstable();
        known.insert(threads);
    }
    let told: BTreeSet<u32> = known.iter().flatten().copied().collect();
    let mut left: BTreeSet<u32> = list("present").into_iter().collect();
    left.retain(|cpu| !told.contains(cpu));
    let steps = steps(&known);
    while let Some(first) = left.first().copied() {
        let whole: Vec<u32> = steps.iter().map(|step| first + step).collect();
        let there = whole.iter().all(|cpu| left.contains(cpu));
        let core = if there { whole } else { vec![first] };
        left.retain(|cpu| !core.contains(cpu));
        known.insert(core);
    }
    let node = |cpus: &[u32]| cpus.first().map_or(0, |cpu| node_of(root, *cpu));
    let mut cores: Vec<Core> = known
        .into_iter()
        .map(|cpus| Core {
            node: node(&cpus),
            cpus,
        })
        .collect();
    cores.sort_by_key(|core| core.node);
    cores
}

/// How far the threads of the largest core are from its first one: 0, 4 of "0,4".
fn steps(cores: &BTreeSet<Vec<u32>>) -> Vec<u32> {
    let Some(largest) = cores.iter().max_by_key(|cpus| cpus.len()) else {
        return vec![0];
    };
    let first = largest.first().copied().unwrap_or(0);
    largest
        .iter()
        .map(|cpu| cpu.saturating_sub(first))
        .collect()
}

/// Find a CPU's node: its directory has a link to it; without nodes all are in the first.
pub fn node_of(root: &Path, cpu: u32) -> u32 {
    let folder = root.join(format!("sys/devices/system/cpu/cpu{cpu}"));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbers = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.strip_prefix("node")?.parse().ok()
    });
    numbers.next().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::cpulist;

    fn machine(present: &str, online: &str, cores: &[&str], node: fn(u32) -> u32) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        let write = |path: String, text: &str| {
            let path = root.path().join("sys/devices/system/cpu").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("present".into(), present);
        write("online".into(), online);
        for cpu in cpulist::parse(present).unwrap() {
            write(format!("cpu{cpu}/node{}/x", node(cpu)), "");
        }
        for threads in cores {
            for cpu in cpulist::parse(threads).unwrap() {
                write(format!("cpu{cpu}/topology/thread_siblings_list"), threads);
            }
        }
        let shown = |core: &Core| format!("{}: {}", core.node, cpulist::show(&core.cpus));
        read(root.path()).iter().map(shown).collect()
    }

    #[test]
    fn single_threads() {
        let found = machine("0-3", "0-1", &["0", "1"], |_| 0);
        assert_eq!(found, ["0: 0", "0: 1", "0: 2", "0: 3"]);
    }

    #[test]
    fn lent_ones_are_put_together_like_the_others() {
        let found = machine("0-7", "0-1,4-5", &["0,4", "1,5"], |cpu| cpu % 2);
        assert_eq!(found, ["0: 0,4", "0: 2,6", "1: 1,5", "1: 3,7"]);
        let found = machine("0-5", "0-1,3", &["0-1", "3"], |_| 0);
        assert_eq!(found, ["0: 0-1", "0: 2", "0: 3", "0: 4-5"]);
    }

    #[test]
    fn nothing_is_said() {
        assert!(read(Path::new("/nonexistent")).is_empty());
    }
}
