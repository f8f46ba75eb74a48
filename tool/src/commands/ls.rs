//! `shimos ls`

use std::time::Duration;

use crate::cli;
use crate::error::Result;
use crate::partition::view::Partition;
use crate::partition::{self, Cause, Device, Kind, State, Status};
use crate::ui::output::{self, printable};
use crate::ui::refusal::OrRefuse;
use crate::units::{duration, size};

/// Print all partitions.
pub fn run(device: &dyn Device, args: &cli::Ls) -> Result<()> {
    let list = partition::all(device).or_refuse("cannot list the partitions")?;
    if args.quiet {
        return list.iter().try_for_each(|s| output::line(&s.name));
    }
    if args.json {
        let partitions: Vec<Partition> = list.iter().map(Partition::from).collect();
        return output::json_list("partitions", &partitions);
    }
    output::line(table(&list))
}

fn table(list: &[Status]) -> String {
    let head = [
        "NAME", "STATE", "CPUS", "MEMORY", "UPTIME", "KERNEL", "NOTE",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    for status in list {
        let uptime = match status.uptime_ns {
            0 => "-".into(),
            ns => duration::short(Duration::from_nanos(ns)),
        };
        let kernel = match (status.kind, status.kernel_version.as_str()) {
            (Kind::Rt, _) => "real-time".into(),
            (Kind::Linux, "") => "-".into(),
            (Kind::Linux, text) => printable(first_word(text)),
        };
        rows.push(vec![
            status.name.clone(),
            status.state.to_string(),
            status.cpu_list(),
            size::show(status.memory),
            uptime,
            kernel,
            remark(status, list),
        ]);
    }
    output::table(&rows)
}

/// Cut a text to its first word: "6.1.0-50-cloud-amd64 (debian-kernel@…) #1 SMP …" to the
/// version.
pub fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// The last words of one that ended; a warning about one that may hang, or that nobody watches any more.
fn remark(status: &Status, all: &[Status]) -> String {
    if let Some(seconds) = status.silent_for() {
        return format!("silent for {seconds} s, may hang");
    }
    if let Some(text) = unwatched(status, all) {
        return text;
    }
    match (status.cause, status.message.as_str()) {
        (Cause::None, _) => String::new(),
        (cause, "") => cause.name().into(),
        (cause, message) => format!("{}: {}", cause.name(), printable(message)),
    }
}

/// Who should watch it, if none of them does.
fn unwatched(status: &Status, all: &[Status]) -> Option<String> {
    let watchers = super::show::watchers(status, all);
    let watched = watchers.iter().any(|w| w.state == State::Running);
    let last = watchers.last()?;
    (status.state == State::Running && !watched)
        .then(|| format!("not watched: {} is {}", last.name, last.state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake;

    #[test]
    fn lines() {
        let mut dead = fake::status("db");
        dead.state = State::Crashed;
        dead.cause = Cause::Panic;
        dead.message = "Fatal\x1b".into();
        dead.uptime_ns = 0;
        let text = table(&[fake::status("web"), dead]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "NAME  STATE    CPUS  MEMORY  UPTIME  KERNEL    NOTE"
        );
        assert_eq!(lines[1], "web   running  2-3   1 GiB   1m40s   6.1.0-50");
        assert_eq!(
            lines[2],
            "db    crashed  2-3   1 GiB   -       6.1.0-50  panic: Fatal\\x1b"
        );
    }

    #[test]
    fn one_that_shares_its_cpu() {
        let mut ctl = fake::rt_status("ctl");
        ctl.state = State::Crashed;
        ctl.cause = Cause::Fault;
        ctl.message = "it wrote to page 0".into();
        let text = table(&[ctl]);
        assert_eq!(
            text.lines().nth(1).unwrap(),
            "ctl   crashed  1 (shared)  8 MiB   1m40s   real-time  fault: it wrote to page 0"
        );
    }

    #[test]
    fn one_that_nobody_watches_any_more() {
        let (ctl, mut mon) = (fake::rt_status("ctl"), fake::rt_status("mon"));
        mon.watch = "ctl".into();
        let note = |mon: &Status| remark(&ctl, &[ctl.clone(), mon.clone()]);
        assert_eq!(note(&mon), "");
        mon.state = State::Crashed;
        assert_eq!(note(&mon), "not watched: mon is crashed");
        mon.watch = "other".into();
        assert_eq!(note(&mon), "");
    }
}
