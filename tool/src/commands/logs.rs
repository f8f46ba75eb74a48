//! `shimos logs`

use std::time::Duration;

use super::console;
use crate::cli;
use crate::error::{Error, Result};
use crate::guest::log::{self, Source};
use crate::guest::printk::Record;
use crate::memory::Memory;
use crate::partition::lookup;
use crate::partition::{Device, Kind, Status};
use crate::ui::refusal::OrRefuse;
use crate::ui::{interrupt, output};

/// How often to look for new lines.
const PERIOD: Duration = Duration::from_millis(250);

/// Print a partition's kernel log, or what its console has kept.
pub fn run(device: &dyn Device, args: &cli::Logs, verbose: bool) -> Result<()> {
    let status = lookup::find(device, &args.name)?;
    if args.console {
        return console::print(device, &status, args.follow);
    }
    check_kind(&status)?;
    let memory = log::open(device, &status)?;
    if args.follow {
        return follow(device, args, &status, &memory);
    }
    if args.json {
        let records = log::describe(&memory, &status)
            .map_or_else(Vec::new, |info| log::records(&memory, &info, 0, true));
        return print(&records, args);
    }
    let (lines, source) = log::read(&memory, &status);
    interrupt::check()?;
    if verbose {
        output::note(source.explain());
    }
    if source == Source::Nothing {
        let error = Error::new(format!(
            "there is no kernel log in the memory of '{}'",
            args.name
        ));
        return Err(match status.starts {
            0 => error.hint("it has not been started yet"),
            _ => error,
        });
    }
    let skip = args.lines.map_or(0, |n| lines.len().saturating_sub(n));
    output::line(lines.get(skip..).unwrap_or_default().join("\n"))
}

/// A real-time program has no log in its memory.
fn check_kind(status: &Status) -> Result<()> {
    let name = &status.name;
    match status.kind {
        Kind::Linux => Ok(()),
        Kind::Rt => Err(Error::new(format!(
            "'{name}' is a real-time program, it has no kernel log"
        ))
        .hint(format!(
            "its console: `shimos logs --console {name}`, `shimos console {name}`"
        ))),
    }
}

fn print(records: &[Record], args: &cli::Logs) -> Result<()> {
    let skip = args.lines.map_or(0, |n| records.len().saturating_sub(n));
    for record in records.iter().skip(skip) {
        if args.json {
            output::json_line(record)?;
        } else {
            output::line(record.lines().join("\n"))?;
        }
    }
    Ok(())
}

/// Print and wait, until the partition ends (then print the rest).
fn follow(
    device: &dyn Device,
    args: &cli::Logs,
    status: &Status,
    memory: &dyn Memory,
) -> Result<()> {
    let mut place = Place::default();
    let mut first = true;
    loop {
        // The usual way to end it: nothing to say about.
        interrupt::check().map_err(Error::quietly)?;
        let now = device
            .status(status.id)
            .or_refuse(format_args!("cannot watch '{}'", status.name))?;
        let over = !now.state.active();
        let records = place.new_records(memory, &now, over);
        let skip = match args.lines {
            Some(n) if first => records.len().saturating_sub(n),
            _ => 0,
        };
        let shown = cli::Logs {
            name: String::new(),
            lines: None,
            f: None,
            ..*args
        };
        print(records.get(skip..).unwrap_or_default(), &shown)?;
        first = first && records.is_empty();
        if over {
            return Ok(());
        }
        device
            .wait(status.id, now.event, PERIOD)
            .or_refuse(format_args!("cannot watch '{}'", status.name))?;
    }
}

/// How far we have read, and in which life of the partition.
#[derive(Default)]
struct Place {
    starts: u32,
    info: Option<crate::memory::vmcoreinfo::Vmcoreinfo>,
    next: u64,
    /// Somebody was still writing the record at `next` when we last looked.
    stuck: bool,
    /// Searching all memory is dear: do it ever more seldom.
    pause: u32,
    rounds: u32,
}

impl Place {
    fn new_records(&mut self, memory: &dyn Memory, now: &Status, over: bool) -> Vec<Record> {
        if now.starts != self.starts {
            *self = Place {
                starts: now.starts,
                ..Place::default()
            };
        }
        if self.info.is_none() {
            self.rounds += 1;
            if self.rounds <= self.pause && !over {
                return Vec::new();
            }
            self.rounds = 0;
            self.pause = (self.pause + 1).min(8);
            self.info = log::describe(memory, now);
        }
        let Some(info) = &self.info else {
            return Vec::new();
        };
        let records = log::records(memory, info, self.next, over || self.stuck);
        if records.is_empty() && !over {
            // Not finished, and no newer ones: look again, then take it as it is.
            let open = log::records(memory, info, self.next, true);
            self.stuck = open.len() > 1 && !self.stuck;
        } else {
            self.stuck = false;
        }
        if let Some(last) = records.last() {
            self.next = last.seq.saturating_add(1);
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::sample;
    use crate::partition::fake::{self, Fake};

    #[test]
    fn new_lines_only_and_a_fresh_start() {
        let (mut image, _) = sample::kernel();
        let mut status = fake::status("web");
        status.kernel_version = "6.1.0-sample".into();
        let mut place = Place::default();
        assert!(place.new_records(&image, &status, false).is_empty());
        sample::log(&mut image, &["a", "b"]);
        let mut seen = place.new_records(&image, &status, false);
        seen.extend(place.new_records(&image, &status, false));
        assert_eq!(seen.len(), 2);
        sample::log(&mut image, &["a", "b", "c"]);
        assert_eq!(place.new_records(&image, &status, false).len(), 1);
        status.starts = 2;
        assert_eq!(place.new_records(&image, &status, true).len(), 3);
    }

    #[test]
    fn a_real_time_program_has_its_console_only() {
        let fake = Fake::default();
        fake.add(fake::rt_status("ctl"));
        fake.console_text("up\n");
        let mut args = cli::Logs {
            name: "ctl".into(),
            follow: false,
            console: false,
            lines: None,
            f: None,
            json: false,
        };
        let Err(Error::Failed { message, hint }) = run(&fake, &args, false) else {
            panic!()
        };
        assert_eq!(
            message,
            "'ctl' is a real-time program, it has no kernel log"
        );
        assert!(hint.unwrap().contains("`shimos logs --console ctl`"));
        args.console = true;
        assert_eq!(run(&fake, &args, false), Ok(()));
    }

    #[test]
    fn an_open_record_is_waited_for_but_not_forever() {
        let (mut image, _) = sample::kernel();
        let mut status = fake::status("web");
        status.kernel_version = "6.1.0-sample".into();
        sample::log(&mut image, &["a", "b", "c"]);
        sample::set_state(&mut image, 1, 1);
        let mut place = Place::default();
        assert_eq!(place.new_records(&image, &status, false).len(), 1);
        assert_eq!(place.new_records(&image, &status, false).len(), 0);
        assert_eq!(place.new_records(&image, &status, false).len(), 2);
    }
}
