//! `shimos rt`: how CPUs are shared with real-time programs.

mod chart;
mod checking;
mod distribution;
mod lateness;
mod moving;
mod policy;
mod priority;
mod sharing;
mod vectors;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use self::sharing::{print, sharers};
use crate::cli::{Json, Rt, RtMore};
use crate::error::Result;
use crate::ikc::latency;
use crate::partition::{Device, HostCpu, RtStatus, State, Status};
use crate::ui::output;
use crate::ui::refusal::OrRefuse;

/// Print who shares which CPU, or do one of the commands below `rt`.
pub fn run(device: &dyn Device, args: &Rt) -> Result<()> {
    match &args.more {
        None => list(device, &args.list),
        Some(RtMore::Latency(args)) => lateness::run(device, args),
        Some(RtMore::Move(args)) => moving::run(device, args),
        Some(RtMore::Policy(args)) => policy::run(device, args),
        Some(RtMore::Priority(args)) => priority::run(device, args),
        Some(RtMore::Vectors(args)) => vectors::run(device, args),
        Some(RtMore::Check(args)) => checking::run(device, args),
    }
}

fn list(device: &dyn Device, args: &Json) -> Result<()> {
    let hosts = device
        .host_cpus()
        .or_refuse("cannot ask about the host's CPUs")?;
    print("cpus", &rows(&read(device)?, &hosts), args, table)
}

/// A virtual CPU; `None` is what is not counted for the host's.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row {
    name: String,
    core: u32,
    priority: Option<u32>,
    state: State,
    ran_ns: Option<u64>,
    exits: u64,
    entered: Option<u64>,
    masked: Option<u64>,
    timers: Option<u64>,
    past: Option<u64>,
    throttled: Option<u64>,
    moves: Option<u64>,
    moved_ns: Option<u64>,
    moved_max_ns: Option<u64>,
}

fn read(device: &dyn Device) -> Result<Vec<(Status, RtStatus)>> {
    sharers(device, |id| device.rt(id))
}

/// Core by core: the host's CPUs there, then the others, as they go before each other.
fn rows(sharers: &[(Status, RtStatus)], hosts: &[HostCpu]) -> Vec<Row> {
    let mut cpus: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
    for at in hosts {
        let shared = sharers.iter().any(|(_, rt)| rt.cpu == at.cpu);
        let visited = hosts
            .iter()
            .any(|other| other.core == at.cpu && other.cpu != at.cpu);
        if shared || visited || at.core != at.cpu {
            cpus.entry(at.core).or_default().push(moving_host(at));
        }
    }
    for (status, rt) in sharers {
        let rows = cpus.entry(rt.cpu).or_default();
        // One that cannot move is not among them.
        if hosts.iter().all(|at| at.cpu != rt.cpu) && rows.is_empty() {
            rows.push(host(rt));
        }
        rows.push(program(status, rt));
    }
    for rows in cpus.values_mut() {
        // The host's stay the first; equal ones stay in their order.
        rows.sort_by_key(|row| {
            let program = row.ran_ns.is_some();
            (program, row.priority.filter(|_| program).map(Reverse))
        });
    }
    cpus.into_values().flatten().collect()
}

fn host(rt: &RtStatus) -> Row {
    Row {
        name: format!("host:{}", rt.cpu),
        core: rt.cpu,
        priority: None,
        state: State::Running,
        ran_ns: None,
        exits: rt.host_exits,
        entered: None,
        masked: None,
        timers: None,
        past: None,
        throttled: None,
        moves: None,
        moved_ns: None,
        moved_max_ns: None,
    }
}

fn moving_host(at: &HostCpu) -> Row {
    Row {
        name: format!("host:{}", at.cpu),
        core: at.core,
        priority: (at.priority != 0).then_some(at.priority),
        state: if at.lost {
            State::Crashed
        } else {
            State::Running
        },
        ran_ns: None,
        exits: at.exits,
        entered: None,
        masked: None,
        timers: None,
        past: None,
        throttled: None,
        moves: Some(at.moves),
        moved_ns: Some(at.moved_ns),
        moved_max_ns: Some(at.moved_max_ns),
    }
}

fn program(status: &Status, rt: &RtStatus) -> Row {
    Row {
        // It has one only.
        name: format!("{}:0", status.name),
        core: rt.cpu,
        priority: Some(status.priority),
        state: status.state,
        ran_ns: Some(rt.ran_ns),
        exits: rt.exits,
        entered: Some(rt.entered),
        masked: Some(rt.masked),
        timers: Some(rt.timers),
        past: Some(rt.past),
        throttled: Some(rt.throttled),
        moves: Some(rt.moves),
        moved_ns: Some(rt.moved_ns),
        moved_max_ns: Some(rt.moved_max_ns),
    }
}

fn table(rows: &[Row]) -> String {
    let head = [
        "NAME",
        "CORE",
        "PRIORITY",
        "STATE",
        "TIME",
        "EXITS",
        "ENTERED",
        "MASKED",
        "TIMERS",
        "PAST",
        "THROTTLED",
        "MOVES",
    ];
    let count = |n: Option<u64>| n.map_or("-".into(), |n| n.to_string());
    let time =
        |ns: Option<u64>| ns.map_or("-".into(), |ns| latency::short(Duration::from_nanos(ns)));
    let mut lines = vec![head.map(String::from).to_vec()];
    for row in rows {
        lines.push(vec![
            row.name.clone(),
            row.core.to_string(),
            count(row.priority.map(u64::from)),
            row.state.to_string(),
            time(row.ran_ns),
            row.exits.to_string(),
            count(row.entered),
            count(row.masked),
            count(row.timers),
            count(row.past),
            count(row.throttled),
            count(row.moves),
        ]);
    }
    output::table(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake::{self, Fake};

    #[test]
    fn nobody_shares() {
        let fake = Fake::with(&["web"]);
        assert_eq!(read(&fake).unwrap(), []);
        assert_eq!(rows(&[], &[]), []);
    }

    #[test]
    fn the_host_and_a_program() {
        let fake = Fake::with(&["web"]);
        fake.add(fake::rt_status("ctl"));
        let rows = rows(&read(&fake).unwrap(), &[]);
        let text = table(&rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "NAME    CORE  PRIORITY  STATE    TIME      EXITS  ENTERED  MASKED  TIMERS  PAST  THROTTLED  MOVES",
                "host:1  1     -         running  -         200    -        -       -       -     -          -",
                "ctl:0   1     50        running  12.00 ms  40     5        2       30      1     3          2",
            ]
        );
        let json = serde_json::to_value(&rows).unwrap();
        assert_eq!(json[0]["name"], "host:1");
        assert!(json[0]["ran_ns"].is_null());
        assert!(json[0]["throttled"].is_null());
        assert_eq!(json[1]["ran_ns"], 12_000_000);
        assert_eq!(json[1]["throttled"], 3);
        assert_eq!(json[1]["priority"], 50);
        assert_eq!(
            (&json[1]["moves"], &json[1]["moved_max_ns"]),
            (&2.into(), &21_000.into())
        );
        assert!(json[0]["moves"].is_null());
        assert_eq!(json[1]["state"], "running");
    }

    #[test]
    fn the_hosts_cpus_that_move() {
        let fake = Fake::default();
        fake.add(fake::rt_status("ctl"));
        fake.layer_under(&[0, 1, 2, 3]);
        fake.host_move(1, 2).unwrap();
        let rows = rows(&read(&fake).unwrap(), &fake.host_cpus().unwrap());
        let found: Vec<(&str, u32)> = rows.iter().map(|r| (r.name.as_str(), r.core)).collect();
        assert_eq!(found, [("ctl:0", 1), ("host:1", 2), ("host:2", 2)]);
        assert_eq!((rows[1].moves, rows[2].moves), (Some(1), Some(0)));
    }

    #[test]
    fn the_hosts_tasks_and_its_losses() {
        let fake = Fake::default();
        fake.add(fake::rt_status("ctl"));
        fake.layer_under(&[0, 1]);
        fake.host_priority(1, 95).unwrap();
        let mut hosts = fake.host_cpus().unwrap();
        hosts[1].lost = true;
        let rows = rows(&read(&fake).unwrap(), &hosts);
        let found: Vec<_> = rows
            .iter()
            .map(|r| (r.name.as_str(), r.priority, r.state))
            .collect();
        assert_eq!(
            found,
            [
                ("host:1", Some(95), State::Crashed),
                ("ctl:0", Some(50), State::Running)
            ]
        );
    }

    #[test]
    fn cpu_by_cpu() {
        let fake = Fake::default();
        for (name, cpu, priority) in [("c", 3, 50), ("a", 1, 1), ("b", 3, 50), ("d", 3, 51)] {
            let mut status = fake::rt_status(name);
            status.cpus = vec![cpu];
            status.priority = priority;
            status.state = State::Stopped;
            fake.add(status);
        }
        let rows = rows(&read(&fake).unwrap(), &[]);
        let names: Vec<&str> = rows.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names, ["host:1", "a:0", "host:3", "d:0", "c:0", "b:0"]);
        assert_eq!(rows[0].state, State::Running, "the host");
        assert_eq!(rows[1].state, State::Stopped);
    }
}
