//! From two snapshots to rates.

use std::cmp::Ordering;

use serde::Serialize;
use shimos_ikc::Queue;

use super::snapshot::{Kernel, Snapshot};
use crate::devices::{Counters, Kind, Status};

/// One kernel; rates are per second, `None` where there is nothing to measure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub name: String,
    pub state: String,
    pub cpus: Option<usize>,
    /// Of one CPU.
    pub cpu_percent: Option<f64>,
    pub memory: Option<u64>,
    pub disk_read: Option<f64>,
    pub disk_write: Option<f64>,
    pub net_rx: Option<f64>,
    pub net_tx: Option<f64>,
    pub doorbells: Option<f64>,
    pub devices: Vec<DeviceRow>,
}

/// One of its devices.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceRow {
    pub id: u32,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub name: String,
    pub state: crate::devices::State,
    /// Bytes.
    pub read: f64,
    pub written: f64,
    /// Requests, packets.
    pub operations: f64,
    pub doorbells: f64,
    /// Of one CPU, of the kernel that owns it: looking for requests.
    pub polled_percent: f64,
}

/// Make one row for each kernel that there is now.
pub fn rows(before: &Snapshot, now: &Snapshot) -> Vec<Row> {
    let seconds = now.at.saturating_duration_since(before.at).as_secs_f64();
    let per_second = |count: u64| match seconds > 0.0 {
        true => count as f64 / seconds,
        false => 0.0,
    };
    let row = |kernel: &Kernel| {
        let devices = devices(kernel, before, now, &per_second);
        let sum = |kind: Kind, rate: fn(&DeviceRow) -> f64| {
            let mut its = devices.iter().filter(|d| d.kind == kind).peekable();
            its.peek()?;
            Some(its.map(rate).sum())
        };
        let of_devices: f64 = devices.iter().map(|d| d.doorbells).sum();
        let old = before.kernels.iter().find(|k| k.name == kernel.name);
        Row {
            name: kernel.name.clone(),
            state: kernel.state.clone(),
            cpus: kernel.cpus.as_ref().map(Vec::len),
            cpu_percent: busy(old, kernel).map(|ns| per_second(ns) / 1e7),
            memory: kernel.memory,
            disk_read: sum(Kind::Disk, |d| d.read),
            disk_write: sum(Kind::Disk, |d| d.written),
            net_rx: sum(Kind::Net, |d| d.read),
            net_tx: sum(Kind::Net, |d| d.written),
            doorbells: rung(kernel, before, now).map(|n| per_second(n) + of_devices),
            devices,
        }
    };
    now.kernels.iter().map(row).collect()
}

/// How far a counter has come; one that is lower than before began anew.
fn grown(before: u64, now: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

fn busy(old: Option<&Kernel>, new: &Kernel) -> Option<u64> {
    let now = new.cpu_busy_ns?;
    let before = match old {
        Some(old) if old.starts == new.starts => old.cpu_busy_ns?,
        // Started meanwhile.
        _ => 0,
    };
    Some(grown(before, now))
}

fn devices(
    kernel: &Kernel,
    before: &Snapshot,
    now: &Snapshot,
    per_second: &dyn Fn(u64) -> f64,
) -> Vec<DeviceRow> {
    let old: &[Status] = before.devices.as_deref().unwrap_or_default();
    let new = now.devices.as_deref().unwrap_or_default();
    let its = new.iter().filter(|s| s.user_name == kernel.name);
    its.map(|s| {
        let then = old.iter().find(|o| o.id == s.id);
        let then = then.map_or_else(Counters::default, |o| o.counters);
        let rate =
            |counter: fn(&Counters) -> u64| per_second(grown(counter(&then), counter(&s.counters)));
        DeviceRow {
            id: s.id,
            kind: s.kind,
            name: s.name.clone(),
            state: s.state,
            read: rate(|c| c.read_bytes),
            written: rate(|c| c.write_bytes),
            operations: rate(|c| c.reads) + rate(|c| c.writes) + rate(|c| c.others),
            doorbells: rate(|c| c.doorbells_from_user) + rate(|c| c.doorbells_to_user),
            polled_percent: rate(|c| c.polled_ns) / 1e7,
        }
    })
    .collect()
}

/// Doorbells of the queues from and to this kernel.
fn rung(kernel: &Kernel, before: &Snapshot, now: &Snapshot) -> Option<u64> {
    let number = kernel.number?;
    let queues = now.queues.as_ref()?;
    let old = before.queues.as_deref().unwrap_or_default();
    let same =
        |a: &Queue, b: &Queue| (a.receiver, a.sender, a.number) == (b.receiver, b.sender, b.number);
    let its = queues
        .iter()
        .filter(|q| q.receiver == number || q.sender == number);
    let counts = its.map(|q| {
        let then = old.iter().find(|o| same(o, q)).map_or(0, |o| o.rung);
        grown(then, q.rung)
    });
    Some(counts.sum())
}

/// What the rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Sort {
    Name,
    State,
    Cpus,
    Cpu,
    Memory,
    Read,
    Write,
    Rx,
    Tx,
    Doorbells,
}

impl Sort {
    /// In the order of the columns.
    pub const ALL: [Sort; 10] = [
        Sort::Name,
        Sort::State,
        Sort::Cpus,
        Sort::Cpu,
        Sort::Memory,
        Sort::Read,
        Sort::Write,
        Sort::Rx,
        Sort::Tx,
        Sort::Doorbells,
    ];

    /// Return its column's number, from 0.
    pub fn column(self) -> usize {
        Self::ALL.iter().position(|s| *s == self).unwrap_or(0)
    }

    /// Return the next one, or the one before.
    pub fn moved(self, forward: bool) -> Self {
        let count = Self::ALL.len();
        let step = if forward { 1 } else { count - 1 };
        let at = (self.column() + step) % count;
        Self::ALL.get(at).copied().unwrap_or(self)
    }

    /// Names upwards, numbers downwards.
    fn order(self, a: &Row, b: &Row) -> Ordering {
        let down = |value: fn(&Row) -> Option<f64>| {
            let number = |row| value(row).unwrap_or(-1.0);
            number(b).total_cmp(&number(a))
        };
        match self {
            Sort::Name => Ordering::Equal,
            Sort::State => a.state.cmp(&b.state),
            Sort::Cpus => b.cpus.cmp(&a.cpus),
            Sort::Memory => b.memory.cmp(&a.memory),
            Sort::Cpu => down(|r| r.cpu_percent),
            Sort::Read => down(|r| r.disk_read),
            Sort::Write => down(|r| r.disk_write),
            Sort::Rx => down(|r| r.net_rx),
            Sort::Tx => down(|r| r.net_tx),
            Sort::Doorbells => down(|r| r.doorbells),
        }
    }
}

/// Sort by a column, and by the name where that is the same.
pub fn sort(rows: &mut [Row], by: Sort, reversed: bool) {
    rows.sort_by(|a, b| {
        let order = by.order(a, b).then_with(|| a.name.cmp(&b.name));
        if reversed { order.reverse() } else { order }
    });
}

/// Compare two kernels, a second apart: web reads from its disk and receives packets.
#[cfg(test)]
pub fn example() -> Vec<Row> {
    let (before, now) = tests::pair();
    rows(&before, &now)
}

#[cfg(test)]
pub mod tests {
    use std::time::{Duration, Instant};

    use super::super::host::Host;
    use super::*;
    use crate::devices::fake;
    use crate::ikc::view;

    fn kernel(name: &str, number: u32) -> Kernel {
        Kernel {
            name: name.into(),
            number: Some(number),
            state: "running".into(),
            starts: 1,
            cpus: Some(vec![2 * number, 2 * number + 1]),
            shares: false,
            memory: Some(1 << 30),
            pci: Vec::new(),
            cpu_busy_ns: None,
        }
    }

    /// Two seconds apart.
    pub fn pair() -> (Snapshot, Snapshot) {
        let at = Instant::now();
        let before = Snapshot {
            at,
            this: "host".into(),
            host: Host::default(),
            kernels: vec![kernel("web", 1), kernel("db", 2)],
            devices: Some(vec![
                fake::disk(1, "web", "/dev/vdb"),
                fake::net(2, "web", "shm-web0"),
            ]),
            queues: Some(view::example().queues),
        };
        let mut now = before.clone();
        now.at = at + Duration::from_secs(2);
        let devices = now.devices.as_mut().unwrap();
        devices[0].counters.reads += 20;
        devices[0].counters.read_bytes += 2 << 20;
        devices[0].counters.doorbells_from_user += 10;
        devices[0].counters.polled_ns += 100_000_000;
        devices[1].counters.read_bytes += 3000;
        devices[1].counters.doorbells_to_user += 4;
        now.queues.as_mut().unwrap()[0].rung += 6;
        (before, now)
    }

    #[test]
    fn differences_per_second() {
        let rows = example();
        let web = &rows[0];
        assert_eq!(web.disk_read, Some(1048576.0));
        assert_eq!(web.disk_write, Some(0.0));
        assert_eq!((web.net_rx, web.net_tx), (Some(1500.0), Some(0.0)));
        assert_eq!(web.doorbells, Some(10.0), "3 + 5 + 2");
        assert_eq!(web.devices[0].operations, 10.0);
        let db = &rows[1];
        assert_eq!((db.disk_read, db.net_rx), (None, None), "has no devices");
        assert_eq!(db.doorbells, Some(0.0));
        assert_eq!(db.cpu_percent, None);
    }

    #[test]
    fn counters_that_begin_anew_or_end() {
        let (mut before, now) = pair();
        before.devices.as_mut().unwrap()[0].counters.read_bytes = u64::MAX;
        let new = now.devices.as_ref().unwrap()[0].counters.read_bytes;
        let web = &rows(&before, &now)[0];
        assert_eq!(web.disk_read, Some(new as f64 / 2.0));
        before.devices = None;
        before.queues = None;
        before.kernels.clear();
        assert!(rows(&before, &now)[0].doorbells.unwrap() > 0.0);
        let (_, mut now) = pair();
        now.devices = None;
        now.queues = None;
        let web = &rows(&before, &now)[0];
        assert_eq!((web.disk_read, web.doorbells), (None, None));
        // No time has passed.
        assert_eq!(rows(&now, &now.clone()).len(), 2);
    }

    #[test]
    fn cpu_time() {
        let (mut before, mut now) = pair();
        before.kernels[0].cpu_busy_ns = Some(5_000_000_000);
        now.kernels[0].cpu_busy_ns = Some(8_000_000_000);
        assert_eq!(rows(&before, &now)[0].cpu_percent, Some(150.0));
        now.kernels[0].starts = 2;
        assert_eq!(rows(&before, &now)[0].cpu_percent, Some(400.0));
    }

    #[test]
    fn sorting() {
        let mut rows = example();
        let names = |rows: &[Row]| rows.iter().map(|r| r.name.clone()).collect::<Vec<_>>();
        sort(&mut rows, Sort::Name, false);
        assert_eq!(names(&rows), ["db", "web"]);
        sort(&mut rows, Sort::Read, false);
        assert_eq!(names(&rows), ["web", "db"]);
        sort(&mut rows, Sort::Read, true);
        assert_eq!(names(&rows), ["db", "web"]);
        for by in Sort::ALL {
            sort(&mut rows, by, false);
            assert_eq!(by.moved(true).moved(false), by);
        }
        assert_eq!(Sort::Doorbells.moved(true), Sort::Name);
        assert_eq!(Sort::Name.moved(false), Sort::Doorbells);
    }
}
