//! `shimos selftest`: a ladder for the first time on unknown hardware.

mod halt;
mod hardware;
mod record;
mod rungs;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use clap::ValueEnum;

use crate::cli::{self, Rung};
use crate::error::{Error, IoContext, Result};
use crate::system::{System, kernel_log};
use crate::ui::{interrupt, output};
use crate::units::duration;

use record::{Book, Record, State};
use rungs::{Ladder, Outcome};

/// Climb from rung to rung until one fails.
pub fn run(args: &cli::Selftest) -> Result<()> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::new("only root may take CPUs and memory").hint("sudo shimos selftest"));
    }
    let boot = System::real()
        .read("proc/sys/kernel/random/boot_id")
        .unwrap_or_default();
    let book = Book::open(&args.directory)?;
    let first = first(book.read()?, &boot, args)?;
    let ladder = Ladder::new(args)?;
    let mut report = Report::open(&args.directory.join("report.txt"), !args.go_on)?;
    for rung in Rung::value_variants() {
        if *rung < first || *rung > args.to {
            continue;
        }
        interrupt::check()?;
        climb(&ladder, *rung, &book, &boot, &mut report)?;
    }
    output::line(format_args!(
        "All is well up to '{}'. The report is {}.",
        name(args.to),
        args.directory.join("report.txt").display()
    ))
}

/// Tell, write down, climb, tell how it was.
fn climb(ladder: &Ladder, rung: Rung, book: &Book, boot: &str, report: &mut Report) -> Result<()> {
    let name = name(rung);
    report.both(format!("{}. {name}: {}", number(rung), ladder.told(rung)))?;
    book.write(rung, boot, State::Climbing)?;
    let began = Instant::now();
    let outcome = ladder.climb(rung);
    let took = duration::short(began.elapsed());
    book.write(
        rung,
        boot,
        if outcome.is_ok() {
            State::Passed
        } else {
            State::Failed
        },
    )?;
    match outcome {
        Ok(Outcome::Passed) => report.both(format!("  passed, {took}")),
        Ok(Outcome::Skipped(why)) => report.both(format!("  left out: {why}")),
        Err(error) => {
            report.note(&format!("  FAILED after {took}: {error}"))?;
            report.kernel_log()?;
            Err(error
                .context(format_args!("rung '{name}'"))
                .or_hint(format!(
                    "the report is {}; `shimos selftest --continue` goes on behind this rung",
                    report.path
                )))
        }
    }
}

/// Where to begin, by what the last one has left.
fn first(last: Option<Record>, boot: &str, args: &cli::Selftest) -> Result<Rung> {
    let bottom = Rung::Checks;
    let Some(last) = last.filter(|_| !args.anew) else {
        return if args.go_on {
            Err(Error::new("there is no selftest to continue").hint("shimos selftest"))
        } else {
            Ok(bottom)
        };
    };
    if args.go_on {
        return behind(&last.rung);
    }
    if last.state != State::Climbing {
        return Ok(bottom);
    }
    let how = if last.boot == boot {
        "was ended there"
    } else {
        "the machine has been started anew since"
    };
    Err(Error::new(format!(
        "the last selftest did not come back from rung '{}': {how}",
        last.rung
    ))
    .hint(format!(
        "send in {}/report.txt; then `shimos selftest --continue` goes on behind that rung, --anew begins at the first",
        args.directory.display()
    )))
}

/// The rung behind one that is named.
fn behind(name: &str) -> Result<Rung> {
    let at = Rung::value_variants()
        .iter()
        .position(|rung| self::name(*rung) == name)
        .ok_or_else(|| {
            Error::new(format!("there is no rung '{name}'")).hint("shimos selftest --anew")
        })?;
    Rung::value_variants().get(at + 1).copied().ok_or_else(|| {
        Error::new(format!("there is nothing behind rung '{name}'")).hint("shimos selftest")
    })
}

/// Its place in the ladder, from 1.
fn number(rung: Rung) -> usize {
    Rung::value_variants()
        .iter()
        .take_while(|lower| **lower <= rung)
        .count()
}

/// What a rung is called on the command line, and everywhere.
fn name(rung: Rung) -> String {
    rung.to_possible_value()
        .map(|value| value.get_name().to_string())
        .unwrap_or_default()
}

/// What is sent in: on the disk as far as it goes, whatever happens next.
struct Report {
    file: File,
    path: String,
}

impl Report {
    /// Begin it with the machine, or go on with the last one.
    fn open(path: &Path, anew: bool) -> Result<Self> {
        let cannot = || format!("cannot write {}", path.display());
        let file = OpenOptions::new()
            .create(true)
            .append(!anew)
            .write(true)
            .truncate(anew)
            .open(path)
            .or_fail(cannot())?;
        let mut report = Report {
            file,
            path: path.display().to_string(),
        };
        report.note(&format!("shimos {} selftest", env!("CARGO_PKG_VERSION")))?;
        for line in hardware::describe(&System::real()) {
            report.note(&line)?;
        }
        Ok(report)
    }

    fn note(&mut self, text: &str) -> Result<()> {
        let written = writeln!(self.file, "{text}").and_then(|()| self.file.sync_data());
        written.or_fail(format_args!("cannot write {}", self.path))
    }

    /// Write it down and print it.
    fn both(&mut self, text: String) -> Result<()> {
        self.note(&text)?;
        output::line(text)
    }

    fn kernel_log(&mut self) -> Result<()> {
        let log = kernel_log::read(Path::new("/")).unwrap_or_default();
        self.note(&format!("the kernel's log:\n{log}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command, WithoutKLoader};
    use clap::Parser;

    fn args(line: &str) -> cli::Selftest {
        let words = format!("shimos selftest {line}");
        let Command::WithoutKLoader(WithoutKLoader::Selftest(args)) =
            Cli::try_parse_from(words.split_whitespace())
                .unwrap()
                .command
        else {
            panic!()
        };
        args
    }

    fn left(rung: &str, state: State) -> Option<Record> {
        Some(Record {
            rung: rung.into(),
            boot: "this".into(),
            state,
        })
    }

    #[test]
    fn where_it_begins() {
        assert_eq!(first(None, "this", &args("")), Ok(Rung::Checks));
        assert_eq!(
            first(left("all", State::Passed), "this", &args("")),
            Ok(Rung::Checks)
        );
        assert_eq!(
            first(left("cpu", State::Failed), "this", &args("")),
            Ok(Rung::Checks)
        );
        let climbing = || left("parking", State::Climbing);
        assert_eq!(first(climbing(), "this", &args("--anew")), Ok(Rung::Checks));
        assert_eq!(
            first(climbing(), "this", &args("--continue")),
            Ok(Rung::Kernel)
        );
        assert_eq!(
            first(left("cpu", State::Failed), "this", &args("--continue")),
            Ok(Rung::Memory)
        );
    }

    #[test]
    fn one_that_did_not_come_back_is_named() {
        let told = |boot| {
            first(left("parking", State::Climbing), boot, &args(""))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            told("this"),
            "the last selftest did not come back from rung 'parking': was ended there"
        );
        assert!(told("other").ends_with("'parking': the machine has been started anew since"));
    }

    #[test]
    fn nothing_to_continue() {
        let continued = |last| {
            first(last, "this", &args("--continue"))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(continued(None), "there is no selftest to continue");
        assert_eq!(
            continued(left("all", State::Climbing)),
            "there is nothing behind rung 'all'"
        );
        assert_eq!(
            continued(left("roof", State::Climbing)),
            "there is no rung 'roof'"
        );
    }

    #[test]
    fn a_report_is_kept_when_it_is_continued() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("report.txt");
        let mut report = Report::open(&path, true).unwrap();
        report.note("first").unwrap();
        Report::open(&path, false).unwrap().note("second").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains("first") && text.ends_with("second\n"),
            "{text}"
        );
        Report::open(&path, true).unwrap();
        assert!(!std::fs::read_to_string(&path).unwrap().contains("first"));
    }
}
