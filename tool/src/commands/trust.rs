//! `shimos trust run`, `shimos trust status`

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use serde::Serialize;

use crate::arch::NATIVE;
use crate::cli;
use crate::error::{Error, Result};
use crate::kml::node::Node;
use crate::kml::processes::{self, Process};
use crate::kml::program::{self, Caller, NotRun};
use crate::kml::{self, caller};
use crate::system::System;
use crate::ui::output::{self, printable};
use crate::units::count;

/// Become the program, in kernel mode; returns only if that failed.
pub fn run(args: &cli::TrustRun) -> Result<()> {
    let not_run = become_program(args);
    match not_run.error {
        error @ Error::Interrupted { .. } => Err(error),
        error => {
            output::error(&error);
            Err(Error::Reported(not_run.code))
        }
    }
}

fn become_program(args: &cli::TrustRun) -> NotRun {
    let (file, name, rest) = match prepare(args) {
        Ok(ready) => ready,
        Err(not_run) => return not_run,
    };
    let error = Command::new(&file).arg0(name).args(rest).exec();
    NotRun::from_io(&file, error)
}

/// The next exec is trusted; of which file, under which name and with which arguments.
fn prepare(args: &cli::TrustRun) -> Result<(PathBuf, &OsStr, &[OsString]), NotRun> {
    kml::available(NATIVE).map_err(NotRun::failed)?;
    let Some((name, rest)) = args.command.split_first() else {
        return Err(NotRun::failed(Error::new("there is no program to run")));
    };
    let system = System::real();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let file = program::find(name, &path)?;
    let node = Node::open(&system).map_err(NotRun::failed)?;
    caller::check(&system).map_err(NotRun::failed)?;
    program::check(&file, &kml::directory(&system), Caller::current()).map_err(NotRun::found)?;
    node.trust_next().map_err(NotRun::failed)?;
    Ok((file, name, rest))
}

#[derive(Debug, Serialize)]
struct Status {
    loaded: bool,
    /// Nothing else is known if the module is not loaded.
    #[serde(flatten)]
    known: Option<Known>,
}

#[derive(Debug, Serialize)]
struct Known {
    directory: String,
    processes: Vec<Process>,
    /// Trusted now.
    threads: u64,
    /// Programs since the module was loaded.
    trusted: u64,
    refused: u64,
    last_refusal: Option<String>,
    syscalls: u64,
    calls: u64,
    promotions: u64,
    fixes: u64,
    retries: u64,
}

/// Print what runs in kernel mode, and what the module has counted.
pub fn status(args: &cli::Json) -> Result<()> {
    kml::available(NATIVE)?;
    let status = look(&System::real())?;
    match args.json {
        true => output::json(&status),
        false => output::line(text(&status)),
    }
}

fn look(system: &System) -> Result<Status> {
    if !kml::loaded(system) {
        return Ok(Status {
            loaded: false,
            known: None,
        });
    }
    let node = Node::open(system)?;
    let counted = node.status()?;
    let processes = processes::of(system, &node.threads()?);
    Ok(Status {
        loaded: true,
        known: Some(Known {
            directory: kml::directory(system).to_string_lossy().into_owned(),
            processes,
            threads: counted.threads,
            trusted: counted.trusted,
            refused: counted.refused,
            last_refusal: counted.reason,
            syscalls: counted.syscalls,
            calls: counted.calls,
            promotions: counted.promotions,
            fixes: counted.fixes,
            retries: counted.retries,
        }),
    })
}

fn text(status: &Status) -> String {
    let Some(known) = &status.known else {
        return format!(
            "{0} is not loaded: no program runs in kernel mode.\nTo load it: modprobe {0}; whether it can be: shimos doctor",
            kml::MODULE
        );
    };
    let refused = match &known.last_refusal {
        Some(why) => format!("{}, the last one {}", known.refused, printable(why)),
        None => known.refused.to_string(),
    };
    let mut rows: Vec<Vec<String>> = [
        ("directory", printable(&known.directory)),
        (
            "now",
            format!(
                "{}, {}",
                count::of(known.processes.len(), "process", "processes"),
                count::of(known.threads, "thread", "threads")
            ),
        ),
        (
            "trusted",
            format!(
                "{} since the module was loaded",
                count::of(known.trusted, "program", "programs")
            ),
        ),
        ("refused", refused),
        (
            "system calls",
            format!(
                "{} by SYSCALL, {} by direct call",
                known.syscalls, known.calls
            ),
        ),
        (
            "set right",
            format!(
                "{}, {}, {}",
                count::of(
                    known.promotions,
                    "return to user mode",
                    "returns to user mode"
                ),
                count::of(known.fixes, "page table entry", "page table entries"),
                count::of(known.retries, "stale translation", "stale translations")
            ),
        ),
    ]
    .map(|(name, value)| vec![name.into(), value])
    .into();
    let mut text = output::table(&rows);
    if !known.processes.is_empty() {
        rows = vec![["PID", "THREADS", "COMMAND"].map(String::from).to_vec()];
        for process in &known.processes {
            rows.push(vec![
                process.pid.to_string(),
                process.threads.to_string(),
                printable(&process.command),
            ]);
        }
        text.push_str("\n\n");
        text.push_str(&output::table(&rows));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::example;

    fn known() -> Status {
        Status {
            loaded: true,
            known: Some(Known {
                directory: "/trusted".into(),
                processes: vec![Process {
                    pid: 70,
                    threads: 4,
                    command: "/trusted/db \x1b[1m".into(),
                }],
                threads: 4,
                trusted: 12,
                refused: 1,
                last_refusal: Some("su: the program gives its caller more rights".into()),
                syscalls: 1000,
                calls: 2000,
                promotions: 3,
                fixes: 2,
                retries: 1,
            }),
        }
    }

    #[test]
    fn in_words() {
        assert_eq!(
            text(&known()).lines().collect::<Vec<_>>(),
            [
                "directory     /trusted",
                "now           1 process, 4 threads",
                "trusted       12 programs since the module was loaded",
                "refused       1, the last one su: the program gives its caller more rights",
                "system calls  1000 by SYSCALL, 2000 by direct call",
                "set right     3 returns to user mode, 2 page table entries, 1 stale translation",
                "",
                "PID  THREADS  COMMAND",
                "70   4        /trusted/db \\x1b[1m",
            ]
        );
    }

    #[test]
    fn not_loaded_is_an_answer() {
        let (_work, system) = example(&[]);
        let status = look(&system).unwrap();
        assert!(text(&status).contains("modprobe shimos_kml"));
        let json = serde_json::to_value(&status).unwrap();
        assert_eq!(json, serde_json::json!({"loaded": false}));
    }

    #[test]
    fn in_json() {
        let json = serde_json::to_value(known()).unwrap();
        assert_eq!(json["loaded"], true);
        assert_eq!(json["processes"][0]["threads"], 4);
        assert_eq!(json["calls"], 2000);
        let mut quiet = known();
        quiet.known.as_mut().unwrap().last_refusal = None;
        assert!(serde_json::to_value(&quiet).unwrap()["last_refusal"].is_null());
        assert!(text(&quiet).contains("refused       1\n"));
    }
}
