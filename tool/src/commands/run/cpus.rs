//! Which CPUs a partition gets.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::machine::topology::node_of;
use crate::partition::{self, Device, Kind};
use crate::system::{numbers, smt};
use crate::ui::output;
use crate::ui::refusal::OrRefuse;
use crate::units::cpulist;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// These, as Linux numbers them.
    List(Vec<u32>),
    /// So many, whichever are best.
    Count(u32),
    /// So many of these.
    Among(u32, Vec<u32>),
}

/// Return the CPUs' numbers, those of `Count` chosen by what the host has free.
///
/// Whole cores that are neighbours, of one node that has `memory` bytes free if there is
/// one, and those with the highest numbers. Never a core of which the host keeps a CPU: the
/// first one, those that cannot go offline, and those shared with real-time programs.
/// With `node`, all must be in that one. `root` is `/` but in tests.
pub fn choose(
    root: &Path,
    device: &dyn Device,
    cpus: &Cpus,
    memory: u64,
    node: Option<u32>,
) -> Result<Vec<u32>> {
    if let Some(node) = node {
        check_node(root, node, cpus)?;
    }
    let (wanted, among) = match cpus {
        Cpus::List(list) => return Ok(list.clone()),
        Cpus::Count(wanted) => (*wanted as usize, None),
        Cpus::Among(wanted, list) => (*wanted as usize, Some(list)),
    };
    let list = partition::all(device).or_refuse("cannot list the partitions")?;
    let shared: Vec<u32> = list
        .iter()
        .filter(|s| s.kind == Kind::Rt)
        .flat_map(|s| s.cpus.clone())
        .collect();
    let mut cores = free_cores(root, &shared);
    cores.retain(|core| node.is_none_or(|node| core.node == node));
    cores.retain(|core| among.is_none_or(|list| core.cpus.iter().all(|cpu| list.contains(cpu))));
    let mut nodes: BTreeMap<u32, Vec<&Core>> = BTreeMap::new();
    for core in &cores {
        nodes.entry(core.node).or_default().push(core);
    }
    let (roomy, tight): (Vec<u32>, Vec<u32>) = nodes
        .keys()
        .rev()
        .partition(|node| free_memory(root, **node) >= memory);
    let all = cores.iter().collect();
    let places = roomy
        .iter()
        .chain(&tight)
        .filter_map(|node| nodes.get(node));
    places
        .chain(std::iter::once(&all))
        .find_map(|cores| neighbours(cores, wanted))
        .ok_or_else(|| {
            let node = node.map_or(String::new(), |node| format!(" of node {node}"));
            let among = among.map_or(String::new(), |list| {
                format!(" among {}", cpulist::named(list))
            });
            too_many(&cores, wanted, &format!("{node}{among}"))
        })
}

/// Return the CPUs that a partition of `own` may get later, to have `most` of them.
///
/// The nearest: first those of the node of its first CPU, and the highest numbers first. Any
/// but the host's first, whoever has it now. `root` is `/` but in tests.
pub fn later(root: &Path, own: &[u32], most: Option<u32>) -> Result<Vec<u32>> {
    let wanted = match most {
        None => return Ok(Vec::new()),
        Some(most) => (most as usize).checked_sub(own.len()).ok_or_else(|| {
            Error::new(format!(
                "it begins with {} CPUs, and --max-cpus {most} is fewer",
                own.len()
            ))
        })?,
    };
    let present = numbers(root, "sys/devices/system/cpu/present");
    let mut more: Vec<u32> = present
        .iter()
        .skip(1)
        .copied()
        .filter(|cpu| !own.contains(cpu))
        .collect();
    let near = own.first().map(|cpu| node_of(root, *cpu));
    more.sort_by_key(|cpu| (Some(node_of(root, *cpu)) != near, std::cmp::Reverse(*cpu)));
    if more.len() < wanted {
        return Err(Error::new(format!(
            "it can have {} CPUs at most on this machine: the first one stays with the host",
            own.len() + more.len()
        )));
    }
    more.truncate(wanted);
    Ok(more)
}

/// Refuse a node that is not there, and CPUs that were named and are in another one.
fn check_node(root: &Path, node: u32, cpus: &Cpus) -> Result<()> {
    let mut nodes = numbers(root, "sys/devices/system/node/online");
    if nodes.is_empty() {
        nodes.push(0); // a kernel without NUMA
    }
    if !nodes.contains(&node) {
        let known = match nodes.as_slice() {
            [only] => format!("node {only} only"),
            _ => format!("nodes {}", cpulist::show(&nodes)),
        };
        return Err(Error::new(format!(
            "there is no node {node}: this machine has {known}"
        )));
    }
    let Cpus::List(list) = cpus else {
        return Ok(());
    };
    match list.iter().find(|cpu| node_of(root, **cpu) != node) {
        None => Ok(()),
        Some(cpu) => Err(Error::new(format!(
            "CPU {cpu} is in node {}, and --node {node} was asked for",
            node_of(root, *cpu)
        ))
        .hint(format!(
            "node {node} has CPUs {}; or leave --node out",
            cpulist::show(&numbers(
                root,
                format!("sys/devices/system/node/node{node}/cpulist")
            ))
        ))),
    }
}

/// The threads of one core that can be taken together.
#[derive(Debug)]
struct Core {
    cpus: Vec<u32>,
    node: u32,
}

/// By number of their first CPU.
fn free_cores(root: &Path, shared: &[u32]) -> Vec<Core> {
    let online = numbers(root, "sys/devices/system/cpu/online");
    let mut cores: BTreeMap<Vec<u32>, Core> = BTreeMap::new();
    for cpu in &online {
        let mut threads = smt::threads(root, *cpu);
        threads.sort_unstable();
        let node = node_of(root, *cpu);
        let cpus = threads.clone();
        cores.entry(threads).or_insert(Core { cpus, node });
    }
    let can_go = |cpu: &u32| {
        let switch = format!("sys/devices/system/cpu/cpu{cpu}/online");
        root.join(switch).exists() && online.first() != Some(cpu) && !shared.contains(cpu)
    };
    let cores = cores.into_values();
    cores.filter(|core| core.cpus.iter().all(can_go)).collect()
}

/// Cores that follow each other and have just so many CPUs, those with the highest numbers.
fn neighbours(cores: &[&Core], wanted: usize) -> Option<Vec<u32>> {
    (1..=cores.len()).rev().find_map(|end| {
        let mut cpus = Vec::new();
        for core in cores.get(..end)?.iter().rev() {
            cpus.extend(&core.cpus);
            if cpus.len() >= wanted {
                break;
            }
        }
        cpus.sort_unstable();
        (cpus.len() == wanted).then_some(cpus)
    })
}

fn too_many(cores: &[Core], wanted: usize, place: &str) -> Error {
    let free: Vec<u32> = {
        let mut free: Vec<u32> = cores.iter().flat_map(|core| core.cpus.clone()).collect();
        free.sort_unstable();
        free
    };
    let what = format!(
        "cannot take {wanted} CPU{}{place}",
        if wanted == 1 { "" } else { "s" },
    );
    if free.is_empty() {
        return Error::new(format!("{what}: the host has none to spare"))
            .hint("`shimos ls` shows who has CPUs");
    }
    if free.len() < wanted {
        return Error::new(format!(
            "{what}: the host has {} to spare, {}",
            free.len(),
            cpulist::named(&free)
        ))
        .hint("ask for fewer; `shimos ls` shows who has CPUs");
    }
    Error::new(format!(
        "{what}: that is no number of whole cores, and two kernels would share one"
    ))
    .hint(format!(
        "try --cpus {}, or name them: --cpuset {}",
        wanted + 1,
        cpulist::show(free.get(..wanted).unwrap_or_default())
    ))
}

/// Bytes; as good as endless where nothing is said of nodes.
fn free_memory(root: &Path, node: u32) -> u64 {
    let path = format!("sys/devices/system/node/node{node}/meminfo");
    let Ok(text) = fs::read_to_string(root.join(path)) else {
        return u64::MAX;
    };
    let line = text.lines().find(|line| line.contains("MemFree:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

/// Warn if another kernel keeps a thread of these CPUs' cores.
pub fn warn_of_split_cores(cpus: &[u32]) {
    for threads in smt::split_cores(Path::new("/"), cpus) {
        output::note(format_args!(
            "warning: CPUs {threads} are threads of one core, and two kernels would share it: take them together"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake::{self, Fake};

    /// A machine with these cores, each with the node that it is in; all CPUs but the first can go.
    fn machine(cores: &[(&str, u32)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: String, text: &str| {
            let path = root.path().join("sys/devices/system").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let mut online = Vec::new();
        for (threads, node) in cores {
            for cpu in cpulist::parse(threads).unwrap() {
                write(
                    format!("cpu/cpu{cpu}/topology/thread_siblings_list"),
                    threads,
                );
                write(format!("cpu/cpu{cpu}/node{node}/x"), "");
                if cpu != 0 {
                    write(format!("cpu/cpu{cpu}/online"), "1\n");
                }
                online.push(cpu);
            }
            write(
                format!("node/node{node}/meminfo"),
                &format!(
                    "Node {node} MemTotal: 9 kB\nNode {node} MemFree:  {} kB\n",
                    1 << 20
                ),
            );
        }
        online.sort_unstable();
        write("cpu/online".into(), &cpulist::show(&online));
        root
    }

    fn on(cores: &[(&str, u32)], fake: &Fake, count: u32, memory: u64) -> Result<String> {
        let root = machine(cores);
        choose(root.path(), fake, &Cpus::Count(count), memory, None)
            .map(|cpus| cpulist::show(&cpus))
    }

    const SINGLE: [(&str, u32); 4] = [("0", 0), ("1", 0), ("2", 0), ("3", 0)];
    const PAIRS: [(&str, u32); 4] = [("0,4", 0), ("1,5", 0), ("2,6", 0), ("3,7", 0)];

    fn chosen(cores: &[(&str, u32)], count: u32) -> String {
        match on(cores, &Fake::default(), count, 1 << 30) {
            Ok(cpus) => cpus,
            Err(Error::Failed { message, hint }) => format!("{message}; {}", hint.unwrap()),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn named_ones_are_taken_as_they_are() {
        let list = Cpus::List(vec![7, 0]);
        let root = Path::new("/nonexistent");
        assert_eq!(
            choose(root, &Fake::default(), &list, 1, None),
            Ok(vec![7, 0])
        );
    }

    #[test]
    fn the_last_ones_and_never_the_first() {
        assert_eq!(chosen(&SINGLE, 1), "3");
        assert_eq!(chosen(&SINGLE, 2), "2-3");
        assert_eq!(chosen(&SINGLE, 3), "1-3");
        assert_eq!(
            chosen(&SINGLE, 4),
            "cannot take 4 CPUs: the host has 3 to spare, CPUs 1-3; ask for fewer; `shimos ls` shows who has CPUs"
        );
        assert_eq!(
            chosen(&SINGLE[..1], 1),
            "cannot take 1 CPU: the host has none to spare; `shimos ls` shows who has CPUs"
        );
    }

    #[test]
    fn one_core_stays_even_if_every_cpu_could_go() {
        let root = machine(&SINGLE);
        fs::write(root.path().join("sys/devices/system/cpu/cpu0/online"), "1").unwrap();
        let of = |count| choose(root.path(), &Fake::default(), &Cpus::Count(count), 1, None);
        assert_eq!(of(3), Ok(vec![1, 2, 3]));
        assert!(of(4).is_err());
        fs::remove_file(root.path().join("sys/devices/system/cpu/cpu3/online")).unwrap();
        assert_eq!(of(2), Ok(vec![1, 2]), "one that cannot go offline");
    }

    #[test]
    fn among_some() {
        let root = machine(&PAIRS);
        let of = |count, list: &[u32]| {
            let cpus = Cpus::Among(count, list.into());
            choose(root.path(), &Fake::default(), &cpus, 1, None)
        };
        assert_eq!(of(2, &[1, 5, 3]), Ok(vec![1, 5]), "whole cores only");
        assert_eq!(
            of(4, &[1, 5, 3]).unwrap_err().to_string(),
            "cannot take 4 CPUs among CPUs 1,5,3: the host has 2 to spare, CPUs 1,5"
        );
    }

    #[test]
    fn whole_cores() {
        assert_eq!(chosen(&PAIRS, 2), "3,7");
        assert_eq!(chosen(&PAIRS, 4), "2-3,6-7");
        assert_eq!(chosen(&PAIRS, 6), "1-3,5-7");
        assert_eq!(
            chosen(&PAIRS, 3),
            "cannot take 3 CPUs: that is no number of whole cores, and two kernels would share one; try --cpus 4, or name them: --cpuset 1-3"
        );
        // some cores have one thread only
        let mixed = [("0-1", 0), ("2-3", 0), ("4-5", 0), ("6", 0), ("7", 0)];
        assert_eq!(chosen(&mixed, 2), "6-7");
        assert_eq!(chosen(&mixed, 3), "4-6");
        assert_eq!(chosen(&mixed, 4), "4-7");
        assert_eq!(chosen(&mixed, 6), "2-7");
    }

    #[test]
    fn one_node_with_room_for_the_memory() {
        let nodes = [("0", 0), ("1", 0), ("2", 0), ("3", 1), ("4", 1)];
        assert_eq!(chosen(&nodes, 2), "3-4");
        assert_eq!(chosen(&nodes, 3), "2-4", "no node has so many");
        let root = machine(&nodes);
        let small = "Node 1 MemTotal: 9 kB\nNode 1 MemFree:  1024 kB\n";
        fs::write(
            root.path().join("sys/devices/system/node/node1/meminfo"),
            small,
        )
        .unwrap();
        let of = |count, memory| {
            choose(
                root.path(),
                &Fake::default(),
                &Cpus::Count(count),
                memory,
                None,
            )
            .unwrap()
        };
        assert_eq!(of(2, 1 << 20), [3, 4]);
        assert_eq!(of(2, 2 << 20), [1, 2]);
        assert_eq!(of(2, 2 << 30), [3, 4], "it fits nowhere: as near as can be");
    }

    #[test]
    fn one_node_that_was_named() {
        let root = machine(&[("0", 0), ("1", 0), ("2", 0), ("3", 1), ("4", 1)]);
        for (path, text) in [("online", "0-1\n"), ("node1/cpulist", "3-4\n")] {
            fs::write(root.path().join("sys/devices/system/node").join(path), text).unwrap();
        }
        let of = |cpus: Cpus, node| match choose(
            root.path(),
            &Fake::default(),
            &cpus,
            1 << 40,
            Some(node),
        ) {
            Ok(cpus) => cpulist::show(&cpus),
            Err(Error::Failed { message, hint }) => {
                format!("{message}; {}", hint.unwrap_or_default())
            }
            Err(other) => panic!("{other}"),
        };
        assert_eq!(of(Cpus::Count(2), 0), "1-2", "whatever memory it has");
        assert_eq!(of(Cpus::Count(1), 1), "4");
        assert_eq!(
            of(Cpus::Count(3), 1),
            "cannot take 3 CPUs of node 1: the host has 2 to spare, CPUs 3-4; ask for fewer; `shimos ls` shows who has CPUs"
        );
        assert_eq!(of(Cpus::List(vec![3, 4]), 1), "3-4");
        assert_eq!(
            of(Cpus::List(vec![3, 2]), 1),
            "CPU 2 is in node 0, and --node 1 was asked for; node 1 has CPUs 3-4; or leave --node out"
        );
        assert_eq!(
            of(Cpus::Count(1), 5),
            "there is no node 5: this machine has nodes 0-1; "
        );
    }

    #[test]
    fn not_the_core_of_a_real_time_program() {
        let fake = Fake::default();
        fake.add(partition::Status {
            cpus: vec![3],
            ..fake::rt_status("ctl")
        });
        assert_eq!(on(&SINGLE, &fake, 2, 1), Ok("1-2".into()));
        assert_eq!(on(&PAIRS, &fake, 2, 1), Ok("2,6".into()));
    }
}
