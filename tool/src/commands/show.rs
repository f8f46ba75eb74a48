//! `shimos show`

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::map;
use crate::cli;
use crate::devices::node::Node;
use crate::devices::{self, view as device_view};
use crate::error::Result;
use crate::ikc::latency;
use crate::ikc::view::{AreaJson, QueueJson, View};
use crate::partition::kloader::KLoader;
use crate::partition::lookup;
use crate::partition::view::Partition;
use crate::partition::{self, Cause, Device, Kind, State, Status};
use crate::pci;
use crate::system::System;
use crate::system::resctrl::Groups;
use crate::ui::output::{self, printable};
use crate::ui::refusal::OrRefuse;
use crate::units::{count, duration, size};

/// Print all that is known of a partition, or the map of the machine, which needs no KLoader.
pub fn run(args: &cli::Show) -> Result<()> {
    match &args.name {
        Some(name) => show(&KLoader::open()?, name, args.json),
        None => map::run(args.json),
    }
}

fn show(device: &dyn Device, name: &str, as_json: bool) -> Result<()> {
    let status = lookup::find(device, name)?;
    let all = partition::all(device).or_refuse("cannot list who watches it")?;
    let watchers = watchers(&status, &all);
    // This host may have no IKC: then there is nothing to say about it.
    let view = View::read_if_there();
    let shared = shared_if_there();
    if as_json {
        output::json(&json(&status, &watchers, &shared, view.as_ref()))
    } else {
        let devices = section("devices", &device_view::table_of(&shared, &status.name));
        output::line(text(&status, &watchers) + &devices + &queues(&status.name, view.as_ref()))
    }
}

/// A detail: nothing if this kernel shares nothing, a note if something is wrong.
fn shared_if_there() -> Vec<devices::Status> {
    let Some(node) = Node::open_if_there() else {
        return Vec::new();
    };
    let list = devices::all(&node).or_refuse("cannot show its devices");
    list.unwrap_or_else(|error| {
        output::note(error);
        Vec::new()
    })
}

/// The partition's status, its devices and queues beside it.
#[derive(Serialize)]
struct Json<'a> {
    #[serde(flatten)]
    partition: Partition<'a>,
    watched_by: Vec<Watcher<'a>>,
    /// What this host shares with it.
    devices: Vec<&'a devices::Status>,
    /// The devices that it has whole.
    pci: Vec<String>,
    /// The same, and what an IOMMU does about them.
    pci_devices: Vec<pci::given::Device>,
    /// What it may have of caches and memory bandwidth, in resctrl's words.
    share: Vec<String>,
    queues: Vec<QueueJson>,
    /// The shared area; null: there is none.
    ikc: Option<AreaJson>,
}

/// Who shall look whether it is still what was loaded.
#[derive(Serialize)]
struct Watcher<'a> {
    name: &'a str,
    state: State,
}

fn json<'a>(
    status: &'a Status,
    watchers: &[&'a Status],
    shared: &'a [devices::Status],
    view: Option<&View>,
) -> Json<'a> {
    let its = shared.iter().filter(|d| d.user_name == status.name);
    let watched_by = watchers.iter().map(|w| Watcher {
        name: &w.name,
        state: w.state,
    });
    let pci_devices = pci::given::all(Path::new("/"), &status.name);
    Json {
        partition: Partition::from(status),
        watched_by: watched_by.collect(),
        devices: its.collect(),
        pci: pci_devices.iter().map(|d| d.address.clone()).collect(),
        pci_devices,
        share: Groups::shown(&System::real(), &status.name),
        queues: view.map_or_else(Vec::new, |view| view.json_of(&status.name)),
        ikc: view.map(View::area_json),
    }
}

/// A device that it has whole, and what an IOMMU does about it.
fn whole(device: &pci::given::Device) -> String {
    let address = &device.address;
    match (device.confined, device.strays) {
        (false, _) => format!("{address}, can write to all memory of this machine (unsafe)"),
        (true, 0) => format!("{address}, confined by the IOMMU"),
        (true, n) => {
            format!("{address}, confined by the IOMMU, which has refused it {n} times to go astray")
        }
    }
}

fn queues(name: &str, view: Option<&View>) -> String {
    section(
        "queues",
        &view.map_or_else(String::new, |v| v.table_of(name)),
    )
}

/// A table that follows the rows, if there is anything in it.
fn section(title: &str, table: &str) -> String {
    let mut text = String::new();
    for line in table.lines() {
        if text.is_empty() {
            text = format!("\n{title}:");
        }
        text.push_str("\n  ");
        text.push_str(line);
    }
    text
}

/// What came of it.
fn protection(status: &Status) -> String {
    match status.faults {
        0 => "yes".into(),
        faults => format!("yes; the host went astray {}", count::times(faults)),
    }
}

/// The same of one that is kept away.
fn guarding(status: &Status) -> String {
    let strayed = match status.faults {
        0 => String::new(),
        faults => format!("; it went astray {}", count::times(faults)),
    };
    format!("yes; left {}{strayed}", count::times(status.exits))
}

/// Whom it watches, how far it has come, and what it found.
fn watching(s: &Status) -> String {
    let mut text = format!(
        "{}, {}, {}",
        s.watch,
        count::of(s.watch_pages, "page", "pages"),
        count::of(s.watch_rounds, "round", "rounds")
    );
    if s.watch_found != 0 {
        let times = count::times(s.watch_found);
        text.push_str(&format!("; found one changed {times}"));
    }
    if s.watch_nonsense != 0 {
        let reports = count::of(s.watch_nonsense, "senseless report", "senseless reports");
        text.push_str(&format!("; {reports}"));
    }
    text
}

/// Return all that shall watch it, whether or not they can just now.
pub fn watchers<'a>(status: &Status, all: &'a [Status]) -> Vec<&'a Status> {
    all.iter().filter(|s| s.watch == status.name).collect()
}

/// By whom it is watched, and by whom it is not any more.
fn watched_by(watchers: &[&Status]) -> String {
    let each = watchers.iter().map(|w| match w.state {
        State::Running => w.name.clone(),
        state => format!("{}, which is {state}", w.name),
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Return how long it took until it was ready, if it is; a real-time program has little to
/// do.
pub fn boot_time(status: &Status) -> Option<String> {
    let time = Duration::from_nanos(status.boot_ns);
    (status.boot_ns != 0).then(|| match status.kind {
        Kind::Linux => duration::seconds(time),
        Kind::Rt => latency::short(time),
    })
}

fn text(s: &Status, watchers: &[&Status]) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |key: &str, value: String| rows.push(vec![format!("{key}:"), value]);
    row("name", s.name.clone());
    row("kind", s.kind.name().into());
    row("state", s.state.to_string());
    if s.cause != Cause::None {
        row("ended", s.cause.verb().into());
    }
    if !s.message.is_empty() {
        row("last words", printable(&s.message));
    }
    row("cpus", s.cpu_list());
    if let Some(budget) = s.budget() {
        row("budget", budget.to_string());
        row("priority", s.priority.to_string());
    }
    if s.protected {
        row("protected", protection(s));
    }
    if s.guarded {
        row("guarded", guarding(s));
    }
    if !s.watch.is_empty() {
        row("watches", watching(s));
    }
    if !watchers.is_empty() {
        row("watched by", watched_by(watchers));
    }
    if s.renew {
        row("on change", "starts again".into());
    }
    row("memory", size::show(s.memory));
    for range in &s.ranges {
        row(
            "",
            format!("{:#x}-{:#x}", range.start, range.end().saturating_sub(1)),
        );
    }
    let share = Groups::shown(&System::real(), &s.name);
    if !share.is_empty() {
        row("share", share.join("; "));
    }
    for (i, device) in pci::given::all(Path::new("/"), &s.name).iter().enumerate() {
        row(if i == 0 { "pci" } else { "" }, whole(device));
    }
    if s.kind == Kind::Rt && s.kernel_bytes != 0 {
        row("program size", size::show(s.kernel_bytes));
    }
    if s.kind == Kind::Linux && !s.kernel_version.is_empty() {
        row("kernel", printable(&s.kernel_version));
        row("kernel size", size::show(s.kernel_bytes));
        row(
            "initrd size",
            match s.initrd_bytes {
                0 => "no initrd".into(),
                bytes => size::show(bytes),
            },
        );
        row("command line", printable(&s.cmdline));
    }
    row("started", count::times(s.starts));
    if s.uptime_ns != 0 {
        row("uptime", duration::short(Duration::from_nanos(s.uptime_ns)));
    }
    if let Some(time) = boot_time(s) {
        row("ready after", time);
    }
    if s.kind == Kind::Linux && s.state.active() {
        row(
            "agent",
            match s.agent {
                0 => "none".into(),
                version => format!("version {version}"),
            },
        );
    }
    if s.has_agent() && s.state == State::Running {
        let age = duration::seconds(Duration::from_nanos(s.silent_ns));
        row(
            "heartbeat",
            match s.silent_for() {
                Some(_) => format!("{age} ago; it may hang: `shimos kill {}` ends it", s.name),
                None => format!("{age} ago"),
            },
        );
    }
    row("host memory", size::show(s.host_bytes));
    let text = output::table(&rows);
    // The continuation lines of the memory ranges carry no key.
    text.lines()
        .map(|line| {
            line.strip_prefix(':')
                .map_or(line.into(), |l| format!(" {l}"))
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ikc::view;
    use crate::partition::fake;

    #[test]
    fn its_queues() {
        let view = view::example();
        let shown = queues("web", Some(&view));
        assert!(
            shown.starts_with("\nqueues:\n  PEER       QUEUE "),
            "{shown}"
        );
        assert!(shown.contains("\n  from host  echo "), "{shown}");
        assert_eq!(queues("web", None), "");
        assert_eq!(queues("other", Some(&view)), "");

        let status = fake::status("web");
        let shared = [
            devices::fake::disk(1, "web", "/dev/vdb"),
            devices::fake::disk(2, "db", "/dev/vdc"),
        ];
        let shown = serde_json::to_value(json(&status, &[], &shared, Some(&view))).unwrap();
        assert_eq!(shown["name"], "web");
        assert_eq!(shown["queues"].as_array().unwrap().len(), 2);
        assert_eq!(shown["ikc"]["blocks"], 12);
        assert_eq!(shown["devices"].as_array().unwrap().len(), 1);
        assert_eq!(shown["devices"][0]["name"], "/dev/vdb");
        let shown = serde_json::to_value(json(&status, &[], &[], None)).unwrap();
        assert_eq!(shown["queues"].as_array().unwrap().len(), 0);
        assert!(shown["ikc"].is_null());
    }

    #[test]
    fn a_running_one() {
        insta::assert_snapshot!(text(&fake::status("web"), &[]));
    }

    #[test]
    fn a_protected_one() {
        let mut status = fake::rt_status("ctl");
        assert!(!text(&status, &[]).contains("protected"));
        status.protected = true;
        for (faults, words) in [(0, "yes"), (1, "astray once"), (2, "astray 2 times")] {
            status.faults = faults;
            let shown = text(&status, &[]);
            let mut lines = shown.lines();
            assert!(
                lines.any(|l| l.starts_with("protected:") && l.ends_with(words)),
                "{shown}"
            );
        }
        let shown = serde_json::to_value(json(&status, &[], &[], None)).unwrap();
        assert_eq!(
            (&shown["protected"], &shown["faults"]),
            (&true.into(), &2.into())
        );
    }

    #[test]
    fn a_guarded_one() {
        let mut status = fake::status("web");
        assert!(!text(&status, &[]).contains("guarded"));
        status.guarded = true;
        status.exits = 1;
        assert!(text(&status, &[]).contains(" yes; left once\n"));
        status.exits = 42;
        for (faults, words) in [
            (0, "yes; left 42 times"),
            (1, "; it went astray once"),
            (2, "; it went astray 2 times"),
        ] {
            status.faults = faults;
            let shown = text(&status, &[]);
            let mut lines = shown.lines();
            assert!(
                lines.any(|l| l.starts_with("guarded:") && l.ends_with(words)),
                "{shown}"
            );
        }
        let shown = serde_json::to_value(json(&status, &[], &[], None)).unwrap();
        assert_eq!(
            (&shown["guarded"], &shown["exits"]),
            (&true.into(), &42.into())
        );
    }

    #[test]
    fn a_silent_one() {
        let mut status = fake::status("web");
        status.silent_ns = 7_500_000_000;
        assert_eq!(status.silent_for(), Some(7));
        assert!(text(&status, &[]).contains("7.50 s ago; it may hang: `shimos kill web` ends it"));
        status.agent = 0;
        assert_eq!(status.silent_for(), None);
    }

    #[test]
    fn a_real_time_program() {
        let mut status = fake::rt_status("ctl");
        status.budget_ns = 4_000_000;
        let shown = text(&status, &[]);
        for line in [
            "kind:          real-time program",
            "cpus:          1 (shared)",
            "budget:        40% of 10 ms",
            "priority:      50",
            "program size:  40 KiB",
            "ready after:   1.30 ms",
        ] {
            assert!(shown.lines().any(|l| l == line), "{line}\n{shown}");
        }
        let shown = serde_json::to_value(json(&status, &[], &[], None)).unwrap();
        assert_eq!(shown["budget_ns"], 4_000_000);
        assert_eq!(shown["period_ns"], 10_000_000);
        assert_eq!(shown["protected"], false);
        // Whatever KLoader says of an agent, there is none.
        status.agent = 1;
        status.silent_ns = 7_500_000_000;
        let shown = text(&status, &[]);
        assert_eq!(status.silent_for(), None);
        for word in ["kernel", "initrd", "command line", "agent", "heartbeat"] {
            assert!(!shown.contains(word), "{word}\n{shown}");
        }
    }

    #[test]
    fn one_that_watches() {
        let mut status = fake::rt_status("mon");
        assert!(
            !text(&status, &[]).contains("watches") && !text(&status, &[]).contains("on change")
        );
        status.watch = "ctl".into();
        status.watch_pages = 1;
        status.watch_rounds = 1;
        status.watch_found = 1;
        status.watch_nonsense = 1;
        let line = "ctl, 1 page, 1 round; found one changed once; 1 senseless report\n";
        assert!(text(&status, &[]).contains(line));
        status.watch_found = 0;
        status.watch_nonsense = 0;
        status.watch_pages = 18;
        status.watch_rounds = 7;
        let shown = text(&status, &[]);
        assert!(shown.contains("watches:") && shown.contains("ctl, 18 pages, 7 rounds\n"));
        status.watch_found = 2;
        status.watch_nonsense = 3;
        status.renew = true;
        let shown = text(&status, &[]);
        assert!(shown.contains("7 rounds; found one changed 2 times; 3 senseless reports"));
        assert!(shown.contains("on change:") && shown.contains("starts again"));
    }

    #[test]
    fn a_dead_one() {
        let mut status = fake::status("web");
        status.state = State::Crashed;
        status.cause = Cause::Panic;
        status.message = "Fatal exception".into();
        let shown = text(&status, &[]);
        assert!(shown.contains("ended:         panicked"));
        assert!(shown.contains("last words:    Fatal exception"));
        assert!(!shown.contains("heartbeat"));
    }

    #[test]
    fn who_watches_it() {
        let (ctl, mut mon) = (fake::rt_status("ctl"), fake::rt_status("mon"));
        mon.watch = "ctl".into();
        let all = [ctl.clone(), mon.clone()];
        let shown = text(&ctl, &watchers(&ctl, &all));
        assert!(shown.contains("watched by:    mon\n"), "{shown}");
        mon.state = State::Crashed;
        let all = [ctl.clone(), mon.clone()];
        let shown = text(&ctl, &watchers(&ctl, &all));
        assert!(shown.contains("mon, which is crashed\n"), "{shown}");
        let shown = serde_json::to_value(json(&ctl, &watchers(&ctl, &all), &[], None)).unwrap();
        assert_eq!(shown["watched_by"][0]["state"], "crashed");
        assert!(!text(&mon, &watchers(&mon, &all)).contains("watched by"));
    }
}
