//! Partitions as they are described.

use crate::partition::{Cause, Conduit, Kind, Platform, Range, State, Status};

/// A running partition.
pub fn status(name: &str) -> Status {
    Status {
        name: name.into(),
        id: 1,
        kind: Kind::Linux,
        state: State::Running,
        cause: Cause::None,
        message: String::new(),
        cpus: vec![2, 3],
        memory: 1 << 30,
        ranges: vec![Range {
            start: 4 << 30,
            size: 1 << 30,
        }],
        starts: 1,
        agent: 1,
        uptime_ns: 100_000_000_000,
        boot_ns: 2_310_000_000,
        silent_ns: 400_000_000,
        busy_ns: 900_000_000,
        host_bytes: 100_000,
        kernel_bytes: 14 << 20,
        initrd_bytes: 30 << 20,
        kernel_version: "6.1.0-50 (debian) #1 SMP".into(),
        cmdline: "rdinit=/shimos/init quiet".into(),
        event: 3,
        budget_ns: 0,
        period_ns: 0,
        priority: 0,
        protected: false,
        guarded: false,
        faults: 0,
        exits: 0,
        restart_on_reboot: false,
        renew: false,
        watch: String::new(),
        watch_rounds: 0,
        watch_pages: 0,
        watch_found: 0,
        watch_nonsense: 0,
        more: Vec::new(),
    }
}

/// Where a partition is on arm64: what there is of it lies at the end of its memory.
pub fn platform(status: &Status) -> Platform {
    let mut memory = status.ranges.clone();
    let reserved = |place: u64, size| Range {
        start: memory[0].end() - place,
        size,
    };
    let (shared, distributor) = (reserved(0x4_0000, 0x4_0000), reserved(0x5_0000, 0x1_0000));
    let initrd = reserved(0x100_0000, 0x12_3456);
    memory[0].size -= 0x5_0000;
    Platform {
        conduit: Conduit::Hvc,
        shared,
        initrd: Some(initrd),
        distributor,
        redistributors: Range {
            start: 0x80e_0000,
            size: 0x4_0000,
        },
        timer: [13, 14, 11, 10],
        timer_flags: 4,
        cpus: status.cpus.iter().map(|&cpu| cpu.into()).collect(),
        memory,
    }
}

/// A real-time program that runs.
pub fn rt_status(name: &str) -> Status {
    Status {
        kind: Kind::Rt,
        cpus: vec![1],
        memory: 8 << 20,
        ranges: vec![Range {
            start: 4 << 30,
            size: 8 << 20,
        }],
        agent: 0,
        boot_ns: 1_300_000,
        silent_ns: 0,
        busy_ns: 12_000_000,
        kernel_bytes: 40 << 10,
        initrd_bytes: 0,
        kernel_version: String::new(),
        cmdline: String::new(),
        budget_ns: 9_500_000,
        period_ns: 10_000_000,
        priority: 50,
        ..status(name)
    }
}
