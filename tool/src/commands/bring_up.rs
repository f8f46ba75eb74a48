//! Starting a kernel and waiting until it is up: what `shimos run` and `shimos
//! restart` have in common.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::{console, kill};
use crate::arch::{Architecture, NATIVE};
use crate::error::{Error, Result};
use crate::guest;
use crate::partition::waiting;
use crate::partition::{Cause, Device, Kind, State, Status};
use crate::ui::output::{self, printable};
use crate::ui::progress::Progress;
use crate::ui::refusal::OrRefuse;
use crate::units::duration;

/// Lines of its log to show when it did not come up.
const LAST_LINES: usize = 15;

/// When to look whether it has no timer: later than a start usually takes.
const FIRST_LOOK: Duration = Duration::from_secs(10);

/// How often a kernel without a timer is started again. The lab sets it, for its emulator can
/// lose the timer (docs/lab.md); on a real machine this is a fault that its owner must see.
const RESTARTS: &str = "SHIMOS_LAB_RESTARTS";
const MOST_RESTARTS: u32 = 9;

/// How a start went.
#[derive(Debug)]
pub enum Ready {
    Up(Box<Status>),
    Failed(Failure),
}

/// Why a kernel did not come up, and the end of what it said.
#[derive(Debug)]
pub struct Failure {
    why: String,
    kind: Kind,
    log: Vec<String>,
}

impl Failure {
    /// Show the log and make the rest an error.
    pub fn error(&self, name: &str) -> Error {
        if !self.log.is_empty() {
            let what = match self.kind {
                Kind::Linux => "kernel log",
                Kind::Rt => "console",
            };
            output::note(format_args!("the end of the {what} of '{name}':"));
            for line in &self.log {
                output::detail(format_args!("  {line}"));
            }
        }
        Error::new(format!("'{name}' {}", self.why))
    }

    /// Return the command that shows all of it.
    pub fn logs(&self, name: &str) -> String {
        match self.kind {
            Kind::Linux => format!("shimos logs {name}"),
            Kind::Rt => format!("shimos logs --console {name}"),
        }
    }
}

/// Start it and wait until it runs. A signal kills it again.
pub fn bring_up(
    device: &dyn Device,
    id: u32,
    name: &str,
    with_agent: bool,
    timeout: Duration,
) -> Result<Ready> {
    let mut restarts = restarts(std::env::var_os(RESTARTS))?;
    loop {
        match start(device, id, name, with_agent, timeout)? {
            Some(ready) => return Ok(ready),
            None if restarts == 0 => {
                return Ok(failed(
                    device,
                    id,
                    "will not come up: its kernel did not find its CPU's timer".into(),
                ));
            }
            None => {
                restarts -= 1;
                let status = device.status(id).or_refuse("cannot watch the partition")?;
                kill::kill(device, &status)?;
                output::note(format_args!(
                    "{name}: started again, its kernel did not find its timer: the machine is busy"
                ));
            }
        }
    }
}

/// What the lab's variable says; none unless it is set.
fn restarts(value: Option<OsString>) -> Result<u32> {
    let Some(value) = value else {
        return Ok(0);
    };
    let number = value.to_str().and_then(|text| text.parse().ok());
    number.filter(|n| *n <= MOST_RESTARTS).ok_or_else(|| {
        Error::new(format!(
            "{RESTARTS}={}: not a number from 0 to {MOST_RESTARTS}",
            printable(&value.to_string_lossy())
        ))
        .hint("it is for emulated machines; unset it")
    })
}

/// `None`: it will never be up, for it has no timer.
fn start(
    device: &dyn Device,
    id: u32,
    name: &str,
    with_agent: bool,
    timeout: Duration,
) -> Result<Option<Ready>> {
    let mut progress = Progress::spinner(format!("{name}: starting"));
    device
        .start(id, !with_agent)
        .or_refuse(format_args!("cannot start '{name}'"))?;
    let end = match wait(device, id, timeout, &mut progress) {
        Err(Error::Interrupted { signal, .. }) => {
            drop(progress);
            if let Ok(status) = device.status(id) {
                if status.state.active() {
                    kill::kill(device, &status)?;
                }
            }
            return Err(Error::Interrupted {
                signal,
                undone: Some(format!("'{name}' has been killed")),
            });
        }
        other => other?,
    };
    drop(progress);
    let why = match end {
        End::NoTimer => return Ok(None),
        End::Status(status) if status.state == State::Running => {
            return Ok(Some(Ready::Up(status)));
        }
        End::Status(status) => why_it_ended(&status),
        End::TimeOver => format!(
            "is not up after {}, but it has not ended either",
            duration::seconds(timeout)
        ),
    };
    Ok(Some(failed(device, id, why)))
}

enum End {
    Status(Box<Status>),
    NoTimer,
    TimeOver,
}

fn wait(device: &dyn Device, id: u32, timeout: Duration, progress: &mut Progress) -> Result<End> {
    let is_over = |state: State| state == State::Running || !state.active();
    let begin = Instant::now();
    let first = timeout.min(FIRST_LOOK);
    if let Some(status) = waiting::until(device, id, first, progress, is_over)? {
        return Ok(End::Status(status.into()));
    }
    let (kind, lines) = log(device, id, usize::MAX);
    if kind == Kind::Linux && has_no_timer(NATIVE, &lines) {
        return Ok(End::NoTimer);
    }
    let left = timeout.saturating_sub(begin.elapsed());
    let end = waiting::until(device, id, left, progress, is_over)?;
    Ok(end.map_or(End::TimeOver, |status| End::Status(status.into())))
}

fn has_no_timer(architecture: &Architecture, log: &[String]) -> bool {
    architecture
        .no_timer
        .is_some_and(|says_so| log.iter().any(|line| line.ends_with(says_so)))
}

/// A real-time program has its console only.
fn log(device: &dyn Device, id: u32, lines: usize) -> (Kind, Vec<String>) {
    match device.status(id) {
        Ok(status) => {
            let lines = match status.kind {
                Kind::Linux => guest::log::tail(device, &status, lines),
                Kind::Rt => console::tail(device, &status, lines),
            };
            (status.kind, lines)
        }
        Err(_) => (Kind::Linux, Vec::new()),
    }
}

fn failed(device: &dyn Device, id: u32, why: String) -> Ready {
    let (kind, log) = log(device, id, LAST_LINES);
    Ready::Failed(Failure { why, kind, log })
}

fn why_it_ended(status: &Status) -> String {
    let mut why = format!("{} before it was ready", status.cause.verb());
    if !status.message.is_empty() {
        why.push_str(": ");
        why.push_str(&printable(&status.message));
    } else if status.cause == Cause::Reset {
        why.push_str(" without a word");
    }
    why
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{AARCH64, X86_64};
    use crate::partition::fake::{self, Fake, Manner};

    #[test]
    fn no_timer() {
        let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
        let log = "LSM support for eBPF active\n[    0.21] APIC frequency too slow, disabling apic timer\nsmp: x";
        assert!(has_no_timer(&X86_64, &lines(log)));
        assert!(!has_no_timer(&AARCH64, &lines(log)));
        assert!(!has_no_timer(
            &X86_64,
            &lines("Using local APIC timer interrupts.\n")
        ));
        assert!(!has_no_timer(&X86_64, &[]));
    }

    #[test]
    fn nothing_starts_again_unless_the_lab_says_so() {
        assert_eq!(restarts(None), Ok(0));
        for (text, number) in [("0", 0), ("2", 2), ("9", 9)] {
            assert_eq!(restarts(Some(text.into())), Ok(number));
        }
        for text in ["", "10", "-1", "two"] {
            let error = restarts(Some(text.into())).unwrap_err().to_string();
            assert!(error.contains("SHIMOS_LAB_RESTARTS="), "{error}");
            assert!(error.contains("0 to 9"), "{error}");
        }
    }

    #[test]
    fn a_real_time_programs_console_is_its_log() {
        let fake = Fake::default();
        fake.add(fake::rt_status("ctl"));
        fake.console_text("one\ntwo\n\x1b[31mthree");
        assert_eq!(
            log(&fake, 1, 2),
            (Kind::Rt, vec!["two".into(), "\\x1b[31mthree".into()])
        );
    }

    #[test]
    fn what_a_real_time_program_prints_starts_nothing_again() {
        let fake = Fake::default();
        fake.manner(Manner::HangsAtStart);
        fake.add(Status {
            state: State::Stopped,
            ..fake::rt_status("ctl")
        });
        let no_timer = X86_64.no_timer.unwrap();
        fake.console_text(no_timer);
        let ready = bring_up(&fake, 1, "ctl", true, Duration::from_millis(20)).unwrap();
        let Ready::Failed(failure) = ready else {
            panic!()
        };
        assert_eq!(failure.log, [no_timer]);
        assert!(failure.why.contains("is not up after"), "{}", failure.why);
        assert_eq!(fake.status(1).unwrap().starts, 2);
    }
}
