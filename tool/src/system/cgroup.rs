//! What the processes of a cgroup use (Documentation/admin-guide/cgroup-v2.rst).

use serde::{Deserialize, Serialize};

use super::System;

/// Its figures; one that its kernel does not give is 0, and a limit that is not set is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Time on CPUs, in microseconds: all of it, in programs and in the kernel.
    pub cpu: u64,
    pub cpu_user: u64,
    pub cpu_kernel: u64,
    /// Bytes: now, the most there has been, and may be.
    pub memory: u64,
    pub memory_peak: u64,
    pub memory_limit: Option<u64>,
    /// Of file pages.
    pub memory_cache: u64,
    /// How often an allocation met the limit.
    pub memory_limit_met: u64,
    /// Processes that were killed because of the limit.
    pub oom_kills: u64,
    pub processes: u64,
    pub processes_limit: Option<u64>,
}

impl Figures {
    /// Read those of a group, `/name` below the mount of version 2; `None`: there is no such group.
    pub fn of(system: &System, group: &str) -> Option<Self> {
        let file = |name: &str| system.read(format!("sys/fs/cgroup{group}/{name}"));
        let number = |name: &str| file(name).and_then(|text| text.parse().ok());
        let of_memory = |key: &str| keyed(&file("memory.events"), key);
        let cpu = Some(file("cpu.stat")?);
        Some(Figures {
            cpu: keyed(&cpu, "usage_usec"),
            cpu_user: keyed(&cpu, "user_usec"),
            cpu_kernel: keyed(&cpu, "system_usec"),
            memory: number("memory.current").unwrap_or_default(),
            memory_peak: number("memory.peak").unwrap_or_default(),
            memory_limit: number("memory.max"),
            memory_cache: keyed(&file("memory.stat"), "file"),
            memory_limit_met: of_memory("max"),
            oom_kills: of_memory("oom_kill"),
            processes: number("pids.current").unwrap_or_default(),
            processes_limit: number("pids.max"),
        })
    }
}

/// One of the lines `key number`.
fn keyed(text: &Option<String>, key: &str) -> u64 {
    let mut lines = text.as_deref().unwrap_or_default().lines();
    let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    value.and_then(|text| text.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::example;

    #[test]
    fn of_a_group() {
        let (_work, system) = example(&[
            (
                "sys/fs/cgroup/c/cpu.stat",
                "usage_usec 30\nuser_usec 20\nsystem_usec 10\n",
            ),
            ("sys/fs/cgroup/c/memory.current", "4096\n"),
            ("sys/fs/cgroup/c/memory.max", "max\n"),
            (
                "sys/fs/cgroup/c/memory.events",
                "low 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 3\n",
            ),
            (
                "sys/fs/cgroup/c/memory.stat",
                "anon 5\nfile_mapped 6\nfile 8\n",
            ),
            ("sys/fs/cgroup/c/pids.current", "3\n"),
            ("sys/fs/cgroup/c/pids.max", "100\n"),
        ]);
        let expected = Figures {
            cpu: 30,
            cpu_user: 20,
            cpu_kernel: 10,
            memory: 4096,
            memory_cache: 8,
            memory_limit_met: 7,
            oom_kills: 2,
            processes: 3,
            processes_limit: Some(100),
            ..Figures::default()
        };
        assert_eq!(Figures::of(&system, "/c"), Some(expected));
        assert_eq!(Figures::of(&system, "/none"), None);
    }
}
