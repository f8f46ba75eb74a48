//! A map of the machine: what `shimos show`, `top` and `web` draw.

use serde::Serialize;

use super::host::Ticks;
use super::rates::{self, DeviceRow, Row};
use super::snapshot::{Kernel, Snapshot};

/// All of it. Loads are percents of what they are of: of a CPU, of all CPUs of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    pub nodes: Vec<Node>,
    pub memory: Memory,
    /// This one first.
    pub kernels: Vec<Owner>,
    pub devices: Vec<Shared>,
}

/// A node, and its cores' threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    pub number: u32,
    pub cores: Vec<Vec<Cpu>>,
}

/// A CPU, and whose it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cpu {
    pub number: u32,
    /// Whose it is; `None`: it is offline, and nobody's.
    pub kernel: Option<String>,
    /// Real-time programs that run on it as well.
    pub shared_with: Vec<String>,
    /// `None`: not known.
    pub load: Option<f64>,
}

/// Bytes of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    pub total: u64,
    pub free: u64,
}

/// A kernel and what it has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Owner {
    pub name: String,
    pub state: String,
    /// `None`: not known.
    pub cpus: Option<Vec<u32>>,
    pub load: Option<f64>,
    /// Bytes that it has, or uses if it is this one.
    pub memory: Option<u64>,
}

/// A device and who uses it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shared {
    /// disk, net or pci
    #[serde(rename = "type")]
    pub kind: String,
    pub name: String,
    pub user: String,
    pub state: String,
    /// Bytes a second; `None`: not counted here.
    pub read: Option<f64>,
    pub written: Option<f64>,
}

/// Draw up what has happened from one look to the next.
pub fn map(before: &Snapshot, now: &Snapshot) -> Machine {
    let rows = rates::rows(before, now);
    let load = |cpu: &u32| load(before.host.ticks.get(cpu)?, now.host.ticks.get(cpu)?);
    let mut kernels = vec![this(now, &load)];
    kernels.extend(now.kernels.iter().zip(&rows).map(other));
    let nodes = nodes(now, &kernels, &load);
    let devices = now.kernels.iter().zip(&rows).flat_map(devices).collect();
    Machine {
        nodes,
        memory: Memory {
            total: now.host.memory_total,
            free: now.host.memory_available,
        },
        kernels,
        devices,
    }
}

fn load(before: &Ticks, now: &Ticks) -> Option<f64> {
    let all = now.all.checked_sub(before.all)?;
    let busy = now.busy.checked_sub(before.busy)?;
    (all > 0).then(|| 100.0 * busy as f64 / all as f64)
}

fn this(now: &Snapshot, load: &dyn Fn(&u32) -> Option<f64>) -> Owner {
    let cpus: Vec<u32> = now.host.ticks.keys().copied().collect();
    let loads: Vec<f64> = cpus.iter().filter_map(load).collect();
    let lent: u64 = now.kernels.iter().filter_map(|kernel| kernel.memory).sum();
    let free = lent.saturating_add(now.host.memory_available);
    Owner {
        name: now.this.clone(),
        state: "this kernel".into(),
        load: (!loads.is_empty()).then(|| loads.iter().sum::<f64>() / loads.len() as f64),
        cpus: Some(cpus),
        memory: Some(now.host.memory_total.saturating_sub(free)),
    }
}

fn other((kernel, row): (&Kernel, &Row)) -> Owner {
    let count = kernel.cpus.as_ref().map_or(0, Vec::len).max(1);
    Owner {
        name: kernel.name.clone(),
        state: kernel.state.clone(),
        cpus: kernel.cpus.clone(),
        load: row.cpu_percent.map(|percent| percent / count as f64),
        memory: kernel.memory,
    }
}

fn nodes(now: &Snapshot, kernels: &[Owner], load: &dyn Fn(&u32) -> Option<f64>) -> Vec<Node> {
    let has = |kernel: &Kernel, cpu: u32| {
        let cpus = kernel.cpus.as_deref().unwrap_or_default();
        cpus.contains(&cpu)
    };
    let cpu = |number: u32| {
        let mut own = now.kernels.iter().filter(|k| !k.shares);
        let others = own.find(|k| has(k, number));
        let load_of = |name: &str| kernels.iter().find(|k| k.name == name)?.load;
        let (kernel, load) = match others {
            Some(kernel) => (Some(&kernel.name), load_of(&kernel.name)),
            None if now.host.ticks.contains_key(&number) => (Some(&now.this), load(&number)),
            None => (None, None),
        };
        let sharing = now.kernels.iter().filter(|k| k.shares && has(k, number));
        Cpu {
            number,
            kernel: kernel.cloned(),
            shared_with: sharing.map(|k| k.name.clone()).collect(),
            load,
        }
    };
    let mut nodes: Vec<Node> = Vec::new();
    for core in &now.host.cores {
        let cpus = core.cpus.iter().map(|number| cpu(*number)).collect();
        match nodes.last_mut().filter(|node| node.number == core.node) {
            Some(node) => node.cores.push(cpus),
            None => nodes.push(Node {
                number: core.node,
                cores: vec![cpus],
            }),
        }
    }
    nodes
}

fn devices((kernel, row): (&Kernel, &Row)) -> Vec<Shared> {
    let shared = |device: &DeviceRow| Shared {
        kind: device.kind.to_string(),
        name: device.name.clone(),
        user: kernel.name.clone(),
        state: device.state.name().into(),
        read: Some(device.read),
        written: Some(device.written),
    };
    let whole = |address: &String| Shared {
        kind: "pci".into(),
        name: address.clone(),
        user: kernel.name.clone(),
        state: "given".into(),
        read: None,
        written: None,
    };
    let shared = row.devices.iter().map(shared);
    shared.chain(kernel.pci.iter().map(whole)).collect()
}

/// Make two nodes of four cores: the host has one, web and db two, and one is free; ctl
/// shares CPU 1.
#[cfg(test)]
pub fn example() -> Machine {
    let (before, now) = tests::pair();
    map(&before, &now)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::topology::Core;
    use super::*;

    pub fn pair() -> (Snapshot, Snapshot) {
        let (mut before, _) = rates::tests::pair();
        let core = |node, first| Core {
            node,
            cpus: vec![first, first + 1],
        };
        before.host.cores = vec![core(0, 0), core(0, 2), core(1, 4), core(1, 6)];
        before.host.ticks = BTreeMap::from([(0, Ticks::default()), (1, Ticks::default())]);
        before.host.memory_total = 8 << 30;
        before.host.memory_available = 4 << 30;
        before.kernels[0].cpu_busy_ns = Some(0);
        before.kernels[0].pci = vec!["0000:01:00.0".into()];
        before.kernels.push(Kernel {
            name: "ctl".into(),
            cpus: Some(vec![1]),
            shares: true,
            memory: Some(8 << 20),
            ..before.kernels[1].clone()
        });
        let (_, changed) = rates::tests::pair();
        let mut now = before.clone();
        now.at = before.at + std::time::Duration::from_secs(2);
        now.devices = changed.devices;
        now.host.ticks = BTreeMap::from([
            (0, Ticks { busy: 20, all: 200 }),
            (
                1,
                Ticks {
                    busy: 200,
                    all: 200,
                },
            ),
        ]);
        now.kernels[0].cpu_busy_ns = Some(3_000_000_000);
        (before, now)
    }

    #[test]
    fn whose_cpus() {
        let machine = example();
        assert_eq!(machine.nodes.len(), 2);
        let cpus: Vec<&Cpu> = machine
            .nodes
            .iter()
            .flat_map(|n| n.cores.iter().flatten())
            .collect();
        let whose: Vec<_> = cpus
            .iter()
            .map(|cpu| cpu.kernel.as_deref().unwrap_or("-"))
            .collect();
        assert_eq!(whose, ["host", "host", "web", "web", "db", "db", "-", "-"]);
        assert_eq!(cpus[1].shared_with, ["ctl"]);
        let loads: Vec<_> = cpus.iter().map(|cpu| cpu.load).collect();
        assert_eq!(
            loads[..4],
            [Some(10.0), Some(100.0), Some(75.0), Some(75.0)]
        );
        assert_eq!(loads[4..], [None; 4]);
    }

    #[test]
    fn memory_and_devices() {
        let machine = example();
        let host = &machine.kernels[0];
        assert_eq!((host.name.as_str(), host.load), ("host", Some(55.0)));
        assert_eq!(host.memory, Some((2 << 30) - (8 << 20)));
        let devices: Vec<_> = machine
            .devices
            .iter()
            .map(|d| (d.kind.as_str(), d.user.as_str()))
            .collect();
        assert_eq!(devices, [("disk", "web"), ("net", "web"), ("pci", "web")]);
        assert_eq!(machine.devices[0].read, Some(1048576.0));
    }

    #[test]
    fn no_time_has_passed() {
        let (_, now) = pair();
        let machine = map(&now, &now.clone());
        assert_eq!(machine.kernels[0].load, None);
    }
}
