//! From thread ids to processes.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::system::System;

/// A process with trusted threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Process {
    pub pid: u32,
    /// Trusted ones.
    pub threads: u32,
    /// With its arguments, or its name alone.
    pub command: String,
}

/// Find the processes of those of `tids` that are still there.
pub fn of(system: &System, tids: &[u32]) -> Vec<Process> {
    let mut threads: BTreeMap<u32, u32> = BTreeMap::new();
    for tid in tids {
        if let Some(pid) = process(system, *tid) {
            *threads.entry(pid).or_default() += 1;
        }
    }
    let named = threads.into_iter().filter_map(|(pid, threads)| {
        Some(Process {
            pid,
            threads,
            command: command(system, pid)?,
        })
    });
    named.collect()
}

/// Threads are below /proc, too, though not listed there.
fn process(system: &System, tid: u32) -> Option<u32> {
    let status = system.read(format!("proc/{tid}/status"))?;
    let tgid = status.lines().find_map(|l| l.strip_prefix("Tgid:"))?;
    tgid.trim().parse().ok()
}

fn command(system: &System, pid: u32) -> Option<String> {
    let line = std::fs::read(system.path(format!("proc/{pid}/cmdline"))).unwrap_or_default();
    let words: Vec<_> = line
        .split(|b| *b == 0)
        .map(String::from_utf8_lossy)
        .collect();
    let line = words.join(" ");
    match line.trim() {
        "" => system.read(format!("proc/{pid}/comm")),
        line => Some(line.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::example;

    #[test]
    fn threads_are_counted_by_process() {
        let (_work, system) = example(&[
            ("proc/70/status", "Name:\tdb\nTgid:\t70\n"),
            ("proc/71/status", "Name:\tdb\nTgid:\t70\n"),
            ("proc/70/cmdline", "/trusted/db\0--fast\0"),
            ("proc/9/status", "Tgid:\t9\n"),
            ("proc/9/cmdline", ""),
            ("proc/9/comm", "odd\n"),
            ("proc/12/status", "Tgid:\tx\n"),
        ]);
        let found = of(&system, &[71, 70, 9, 12, 555, 0]);
        let shown: Vec<_> = found
            .iter()
            .map(|p| (p.pid, p.threads, p.command.as_str()))
            .collect();
        assert_eq!(shown, [(9, 1, "odd"), (70, 2, "/trusted/db --fast")]);
        assert_eq!(of(&system, &[]), []);
    }
}
