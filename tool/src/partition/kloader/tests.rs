use super::*;
use crate::units::budget::Budget;

#[test]
fn hostile_counts_are_bounded() {
    let mut raw = abi::Status::new();
    raw.cpu_count = u32::MAX;
    raw.range_count = u32::MAX;
    raw.state = 77;
    raw.cause = 77;
    let status = status_from(&raw);
    assert_eq!(status.cpus.len(), abi::MAX_CPUS);
    assert_eq!(status.ranges.len(), abi::MAX_RANGES);
    assert_eq!(status.state, State::Unknown);
    assert_eq!(status.cause, Cause::Unknown);
}

#[test]
fn facts_for_a_description() {
    let mut raw = abi::Platform::new();
    raw.cpu_count = u32::MAX;
    raw.range_count = 2;
    raw.ranges[1].start = 8 << 30;
    raw.timer = [13, 14, 11, 10];
    assert_eq!(platform_from(&raw).unwrap_err().errno, Errno::EPROTO);
    raw.conduit = abi::CONDUIT_SMC;
    let platform = platform_from(&raw).unwrap();
    assert_eq!(platform.conduit, Conduit::Smc);
    assert_eq!(platform.cpus.len(), abi::MAX_CPUS);
    assert_eq!(platform.memory[1].start, 8 << 30);
    assert_eq!(platform.initrd, None);
    raw.initrd = 4096;
    raw.conduit = abi::CONDUIT_HVC;
    let platform = platform_from(&raw).unwrap();
    assert_eq!(platform.initrd.map(|range| range.start), Some(4096));
}

#[test]
fn what_runs_there() {
    let mut raw = abi::Status::new();
    assert_eq!(status_from(&raw).kind, Kind::Linux);
    raw.kind = abi::KIND_RT;
    raw.cause = 7;
    raw.budget_ns = 4;
    raw.period_ns = 10;
    raw.priority = 7;
    let status = status_from(&raw);
    assert_eq!((status.kind, status.cause), (Kind::Rt, Cause::Fault));
    assert_eq!((status.budget_ns, status.period_ns), (4, 10));
    assert_eq!(status.priority, 7);
    assert_eq!((status.protected, status.faults), (false, 0));
    raw.flags = abi::CREATE_RESTART | abi::CREATE_PROTECTED;
    raw.faults = 3;
    let status = status_from(&raw);
    assert_eq!((status.protected, status.faults), (true, 3));
    assert!(status.restart_on_reboot);
    assert!(!status.guarded);
    raw.flags = abi::CREATE_GUARDED;
    raw.exits = 7;
    let status = status_from(&raw);
    assert_eq!((status.guarded, status.exits), (true, 7));
    assert!(!status.protected);
    raw.flags = 0;
    let status = status_from(&raw);
    assert!(!status.renew && status.watch.is_empty());
    assert!(!status.restart_on_reboot);
    raw.flags = abi::CREATE_RENEW;
    raw.cause = 9;
    raw.watch[..3].copy_from_slice(b"ctl");
    raw.watch_rounds = 4;
    raw.watch_pages = 5;
    raw.watch_found = 6;
    raw.watch_nonsense = 7;
    let status = status_from(&raw);
    assert!(status.renew && status.watch == "ctl" && status.cause == Cause::Changed);
    assert_eq!((status.watch_rounds, status.watch_pages), (4, 5));
    assert_eq!((status.watch_found, status.watch_nonsense), (6, 7));
}

#[test]
fn what_is_asked_for() {
    let mut request = CreateRequest {
        name: "ctl".into(),
        kind: Kind::Rt,
        cpus: vec![1],
        memory: 8 << 20,
        node: None,
        restart_on_reboot: true,
        budget: Some(Budget {
            budget_ns: 4_000_000,
            period_ns: 10_000_000,
        }),
        priority: Some(90),
        protected: false,
        guarded: false,
        renew: false,
        watch: None,
        more: Vec::new(),
    };
    let raw = create_from(&request).unwrap();
    assert_eq!((raw.budget_ns, raw.period_ns), (4_000_000, 10_000_000));
    assert_eq!((raw.priority, raw.node), (90, 0));
    assert_eq!((text(&raw.name).as_str(), raw.memory), ("ctl", 8 << 20));
    assert_eq!((raw.kind, raw.flags), (abi::KIND_RT, abi::CREATE_RESTART));
    request.protected = true;
    let raw = create_from(&request).unwrap();
    assert_eq!(raw.flags, abi::CREATE_RESTART | abi::CREATE_PROTECTED);
    assert_eq!(text(&raw.watch), "");
    request.protected = false;
    request.renew = true;
    request.watch = Some("motor".into());
    let raw = create_from(&request).unwrap();
    assert_eq!(raw.flags, abi::CREATE_RESTART | abi::CREATE_RENEW);
    assert_eq!(text(&raw.watch), "motor");
    request.renew = false;
    request.kind = Kind::Linux;
    request.restart_on_reboot = false;
    request.budget = None;
    request.priority = None;
    let raw = create_from(&request).unwrap();
    assert_eq!((raw.budget_ns, raw.period_ns), (0, 0), "the default");
    assert_eq!(raw.priority, 0, "the default");
    assert_eq!((raw.kind, raw.flags), (abi::KIND_LINUX, 0));
    request.guarded = true;
    request.node = Some(1);
    let raw = create_from(&request).unwrap();
    assert_eq!((raw.flags, raw.node), (abi::CREATE_GUARDED, 2));
    request.name = "n".repeat(abi::NAME_LEN);
    let refusal = create_from(&request).err().unwrap();
    assert_eq!(refusal.errno, Errno::ENAMETOOLONG);
}

#[test]
fn what_is_said_of_sharing() {
    let mut raw = abi::Info::new();
    raw.rt_memory_min = 1;
    raw.rt_memory_max = 2;
    raw.rt_problem[..3].copy_from_slice(b"SVM");
    let info = info_from(&raw);
    assert_eq!((info.rt_memory_min, info.rt_memory_max), (1, 2));
    assert_eq!((info.rt_ok, info.rt_problem.as_str()), (false, "SVM"));
    raw.rt_ok = 1;
    let info = info_from(&raw);
    assert!(info.rt_ok && !info.host_ok && !info.guard_ok);
    raw.guard_ok = 1;
    raw.guard_problem[..3].copy_from_slice(b"NPT");
    let info = info_from(&raw);
    assert_eq!((info.guard_ok, info.guard_problem.as_str()), (true, "NPT"));

    let mut raw = abi::RtStatus::new();
    raw.cpu = 1;
    raw.ran_ns = 2;
    raw.entered = 3;
    raw.masked = 4;
    raw.exits = 5;
    raw.timers = 6;
    raw.past = 7;
    raw.throttled = 8;
    raw.host_exits = 9;
    raw.moves = 10;
    raw.moved_ns = 11;
    raw.moved_max_ns = 12;
    let expected = RtStatus {
        cpu: 1,
        ran_ns: 2,
        entered: 3,
        masked: 4,
        exits: 5,
        timers: 6,
        past: 7,
        throttled: 8,
        host_exits: 9,
        moves: 10,
        moved_ns: 11,
        moved_max_ns: 12,
    };
    assert_eq!(rt_from(&raw), expected);
}

#[test]
fn what_is_said_of_lateness() {
    let mut raw = abi::RtLatency::new();
    raw.cycles_per_second = 1;
    raw.count = 2;
    raw.min = 3;
    raw.max = 4;
    raw.sum = 5;
    raw.past = 6;
    raw.buckets[544] = 7;
    let late = rt_latency_from(&raw);
    assert_eq!((late.cycles_per_second, late.count), (1, 2));
    assert_eq!((late.min, late.max, late.sum, late.past), (3, 4, 5, 6));
    assert_eq!((late.buckets.len(), late.buckets[544]), (545, 7));
}

#[test]
fn arguments_start_with_their_header() {
    let raw = abi::Status::new();
    assert_eq!(raw.hdr.size as usize, size_of::<abi::Status>());
    assert_eq!(raw.hdr.version, abi::ABI_VERSION);
    assert_eq!(raw.id, 0);
}
