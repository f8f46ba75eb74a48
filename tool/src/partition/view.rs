//! A partition as --json prints it; docs/json.md describes every field.

use serde::Serialize;

use crate::partition::{Cause, Kind, OnChange, OnReboot, Range, State, Status};

/// All of a partition but its console and memory.
#[derive(Debug, Serialize)]
pub struct Partition<'a> {
    name: &'a str,
    id: u32,
    kind: Kind,
    state: State,
    cause: Cause,
    message: &'a str,
    cpus: &'a [u32],
    /// That it may get later.
    more_cpus: Vec<u32>,
    memory: u64,
    ranges: &'a [Range],
    kernel_version: &'a str,
    cmdline: &'a str,
    on_reboot: OnReboot,
    guarded: bool,
    starts: u32,
    agent: u32,
    uptime_ns: u64,
    boot_ns: u64,
    silent_ns: u64,
    busy_ns: u64,
    host_bytes: u64,
    kernel_bytes: u64,
    initrd_bytes: u64,
    faults: u32,
    exits: u64,
    #[serde(flatten)]
    rt: Option<RealTime<'a>>,
}

/// What only a real-time program has.
#[derive(Debug, Serialize)]
struct RealTime<'a> {
    budget_ns: u64,
    period_ns: u64,
    priority: u32,
    protected: bool,
    on_change: OnChange,
    /// Whom it watches.
    watch: Option<&'a str>,
    watch_rounds: u64,
    watch_pages: u32,
    watch_found: u32,
    watch_nonsense: u32,
}

impl<'a> From<&'a Status> for Partition<'a> {
    fn from(status: &'a Status) -> Self {
        Partition {
            name: &status.name,
            id: status.id,
            kind: status.kind,
            state: status.state,
            cause: status.cause,
            message: &status.message,
            cpus: &status.cpus,
            more_cpus: status.later(),
            memory: status.memory,
            ranges: &status.ranges,
            kernel_version: &status.kernel_version,
            cmdline: &status.cmdline,
            on_reboot: if status.restart_on_reboot {
                OnReboot::Restart
            } else {
                OnReboot::Stop
            },
            guarded: status.guarded,
            starts: status.starts,
            agent: status.agent,
            uptime_ns: status.uptime_ns,
            boot_ns: status.boot_ns,
            silent_ns: status.silent_ns,
            busy_ns: status.busy_ns,
            host_bytes: status.host_bytes,
            kernel_bytes: status.kernel_bytes,
            initrd_bytes: status.initrd_bytes,
            faults: status.faults,
            exits: status.exits,
            rt: (status.kind == Kind::Rt).then(|| RealTime::from(status)),
        }
    }
}

impl<'a> From<&'a Status> for RealTime<'a> {
    fn from(status: &'a Status) -> Self {
        RealTime {
            budget_ns: status.budget_ns,
            period_ns: status.period_ns,
            priority: status.priority,
            protected: status.protected,
            on_change: if status.renew {
                OnChange::Restart
            } else {
                OnChange::Stop
            },
            watch: Some(status.watch.as_str()).filter(|name| !name.is_empty()),
            watch_rounds: status.watch_rounds,
            watch_pages: status.watch_pages,
            watch_found: status.watch_found,
            watch_nonsense: status.watch_nonsense,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake;
    use crate::ui::output::tests::assert_documented;

    #[test]
    fn each_kind_has_its_fields() {
        let web = serde_json::to_value(Partition::from(&fake::status("web"))).unwrap();
        assert_eq!(
            (&web["kind"], &web["on_reboot"]),
            (&"linux".into(), &"stop".into())
        );
        assert!(web.get("budget_ns").is_none() && web.get("event").is_none());
        let mut ctl = fake::rt_status("ctl");
        ctl.renew = true;
        let json = serde_json::to_value(Partition::from(&ctl)).unwrap();
        assert_eq!(
            (&json["kind"], &json["on_change"]),
            (&"rt".into(), &"restart".into())
        );
        assert!(json["watch"].is_null());
        ctl.watch = "motor".into();
        let json = serde_json::to_value(Partition::from(&ctl)).unwrap();
        assert_eq!(json["watch"], "motor");
        assert_documented(&Partition::from(&ctl));
    }
}
