//! The kernel log of a partition, from the best source there is.

use super::paging::AddressSpace;
use super::printk::{Record, Ring};
use super::{banner, last_log};
use crate::arch::NATIVE;
use crate::error::Result;
use crate::memory::vmcoreinfo::{self, Vmcoreinfo};
use crate::memory::{FileMemory, Memory};
use crate::partition::{Device, Status};
use crate::ui::refusal::OrRefuse;

/// Whose log it is: KLoader knows that of each partition.
#[derive(Clone, Copy, Debug)]
pub struct Whose<'a> {
    pub name: &'a str,
    pub kernel_version: &'a str,
    /// How often it has been started.
    pub starts: u32,
}

impl<'a> From<&'a Status> for Whose<'a> {
    fn from(status: &'a Status) -> Self {
        Whose {
            name: &status.name,
            kernel_version: &status.kernel_version,
            starts: status.starts,
        }
    }
}

/// Where the lines came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The log itself, found by the VMCOREINFO note at this address.
    Ring(u64),
    /// The log of a kernel that came not far: no times.
    EarlyRing,
    /// What the agent saved at a panic.
    LastLog,
    Nothing,
}

impl Source {
    /// Tell where the log was found, and why not in a better place.
    pub fn explain(self) -> String {
        match self {
            Source::Ring(at) => {
                return format!("read from the kernel's log, found by VMCOREINFO at {at:#x}");
            }
            Source::EarlyRing => {
                "read from the early log, found by its first line: the kernel has no VMCOREINFO yet"
            }
            Source::LastLog => "the kernel's log is gone; this is what the agent saved of it",
            Source::Nothing => "there is no kernel log in its memory",
        }
        .into()
    }
}

/// Open a partition's memory.
pub fn open(device: &dyn Device, status: &Status) -> Result<FileMemory> {
    let file = device
        .memory(status.id)
        .or_refuse(format_args!("cannot read the memory of '{}'", status.name))?;
    Ok(FileMemory::new(file, &status.ranges))
}

/// Find the VMCOREINFO of the kernel that runs there, or ran there last: of its version,
/// and leading to a log. From the second start on memory may still hold the whole log of an
/// earlier kernel, with its note: then all of them are looked at.
pub fn describe<'a>(memory: &dyn Memory, whose: impl Into<Whose<'a>>) -> Option<Vmcoreinfo> {
    let whose = whose.into();
    let release = whose.kernel_version.split_whitespace().next();
    let fits = |info: &Vmcoreinfo| {
        release.is_none_or(|r| r == info.release())
            && AddressSpace::new(memory, info)
                .is_some_and(|space| Ring::new(&space, info).is_some())
    };
    if whose.starts <= 1 {
        return vmcoreinfo::search(memory, &mut |info| fits(info));
    }
    let mut mine = None;
    let mut nameless = None;
    vmcoreinfo::search(memory, &mut |info| {
        if fits(info) {
            let lines = lines_of(&records(memory, info, 0, true));
            match life_of(&lines) {
                Some(start) if start == whose.starts => mine = Some(info.clone()),
                Some(_) => {}
                // Only a log that has wrapped has lost its first lines: such a
                // kernel has run for long.
                None => nameless = Some(info.clone()),
            }
        }
        mine.is_some()
    });
    mine.or(nameless)
}

/// Which start of the partition a log belongs to: KLoader says so at the end of
/// the command line, which is among the first lines of each log.
fn life_of(lines: &[String]) -> Option<u32> {
    const MARK: &str = " shimos.start=";
    let line = lines
        .iter()
        .find(|line| line.contains("ommand line: ") && line.contains(MARK))?;
    let (_, number) = line.rsplit_once(MARK)?;
    number.split_whitespace().next()?.parse().ok()
}

/// Read the log as records, if the kernel has come that far.
pub fn records(memory: &dyn Memory, info: &Vmcoreinfo, from: u64, open: bool) -> Vec<Record> {
    let Some(space) = AddressSpace::new(memory, info) else {
        return Vec::new();
    };
    Ring::new(&space, info).map_or_else(Vec::new, |ring| ring.records(from, open))
}

/// Write all records as dmesg does.
pub fn lines_of(records: &[Record]) -> Vec<String> {
    records.iter().flat_map(Record::lines).collect()
}

/// Read all lines of the log that can be found.
pub fn read<'a>(memory: &dyn Memory, whose: impl Into<Whose<'a>>) -> (Vec<String>, Source) {
    let whose = whose.into();
    if let Some(info) = describe(memory, whose) {
        let lines = lines_of(&records(memory, &info, 0, true));
        if !lines.is_empty() {
            return (lines, Source::Ring(info.address));
        }
    }
    let lines = banner::search(memory, NATIVE.first_line, &|lines| {
        whose.starts <= 1 || life_of(lines).is_none_or(|start| start == whose.starts)
    });
    if !lines.is_empty() {
        return (lines, Source::EarlyRing);
    }
    let lines = last_log::search(memory, whose.name);
    if !lines.is_empty() {
        return (lines, Source::LastLog);
    }
    (lines, Source::Nothing)
}

/// Read how a crash was told, up to the end; empty: there was none.
pub fn crash<'a>(memory: &dyn Memory, whose: impl Into<Whose<'a>>) -> Vec<String> {
    last_words(read(memory, whose).0, 0)
}

/// Read the last lines, or none: for when there is something worse to report.
///
/// More than `count`, but no more than `MOST`, if a crash began before them.
pub fn tail(device: &dyn Device, status: &Status, count: usize) -> Vec<String> {
    let Ok(memory) = open(device, status) else {
        return Vec::new();
    };
    let (lines, _) = read(&memory, status);
    last_words(lines, count)
}

/// A crash and all that is said of it: an oops has some 50 lines, and what it is stands first.
const MOST: usize = 80;
const CRASHES: [&str; 5] = ["[#1]", "Oops", "BUG: ", "Kernel panic", "Unable to handle"];

fn last_words(mut lines: Vec<String>, count: usize) -> Vec<String> {
    let far = lines.len().saturating_sub(MOST);
    let near = lines.len().saturating_sub(count);
    let crash = lines
        .iter()
        .skip(far)
        .position(|line| CRASHES.iter().any(|sign| line.contains(sign)))
        .map_or(near, |at| far + at);
    lines.drain(..crash.min(near));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::sample;
    use crate::partition::fake;
    use crate::ui::output;

    #[test]
    fn the_last_words_begin_with_the_crash() {
        let log = |crash: usize| -> Vec<String> {
            let text = |n| match n == crash {
                true => "[ 2.9] Oops: int3: 0000 [#1]".into(),
                false => format!("[ 2.9] line {n}"),
            };
            (0..100).map(text).collect()
        };
        let kept = |crash| last_words(log(crash), 15).len();
        assert_eq!(kept(50), 50);
        assert_eq!(kept(95), 15);
        assert_eq!(kept(19), 15, "too long ago");
        assert_eq!(kept(20), 80);
        assert_eq!(kept(100), 15, "there is none");
        assert_eq!(last_words(vec!["one".into()], 15), ["one"]);
        assert_eq!(last_words(log(95), 0).len(), 5);
        assert!(last_words(log(100), 0).is_empty());
    }

    /// For development: SHIMOS_TEST_MEMORY names a file with the memory of a
    /// real kernel, from address 0, saved by an emulator. SHIMOS_TEST_VMCORE names
    /// the dump to make of it.
    #[test]
    #[ignore = "needs a file with a kernel's memory"]
    fn a_real_kernel() {
        let path = std::env::var_os("SHIMOS_TEST_MEMORY").unwrap();
        let file = std::fs::File::open(path).unwrap();
        let size = file.metadata().unwrap().len();
        let memory = FileMemory::new(file, &[crate::partition::Range { start: 0, size }]);
        let mut status = fake::status("web");
        status.kernel_version.clear();
        let start = std::time::Instant::now();
        let (lines, source) = read(&memory, &status);
        let took = start.elapsed();
        output::detail(lines.join("\n"));
        output::detail(format_args!("{} {took:?}", source.explain()));
        if let Some(info) = describe(&memory, &status) {
            let kernel = crate::guest::vmcore::Kernel::new(&memory, &info);
            output::detail(format_args!(
                "image {:x?} direct map {:x?}",
                kernel.image, kernel.direct_map
            ));
            if let Some(path) = std::env::var_os("SHIMOS_TEST_VMCORE") {
                let plan = crate::guest::vmcore::Plan::new(memory.ranges(), 2, &kernel).unwrap();
                let file = std::fs::File::create(path).unwrap();
                assert_eq!(plan.write(&memory, &file, &mut |_| {}).unwrap(), 0);
            }
        } else {
            let start = std::time::Instant::now();
            banner::search(&memory, NATIVE.first_line, &|_| true);
            output::detail(format_args!("banner {:?}", start.elapsed()));
        }
        assert!(!lines.is_empty());
    }

    #[test]
    fn whose_log() {
        let lines = |text: &str| vec!["Linux version 6".to_owned(), text.to_owned()];
        assert_eq!(
            life_of(&lines("[ 0.0] Command line: quiet shimos.start=12")),
            Some(12)
        );
        assert_eq!(
            life_of(&lines("[ 0.0] Kernel command line: a shimos.start=3 b")),
            Some(3)
        );
        assert_eq!(
            life_of(&lines(
                "[ 0.0] Kernel command line: a shimos.start=0000000010"
            )),
            Some(10)
        );
        assert_eq!(life_of(&lines("echo shimos.start=3")), None);
        assert_eq!(life_of(&lines("Command line: shimos.start=x")), None);
        assert_eq!(life_of(&[]), None);
    }

    #[test]
    fn an_earlier_life_is_not_shown() {
        let (mut image, _) = sample::kernel();
        let mut status = fake::status("web");
        status.kernel_version = "6.1.0-sample (x) #1".into();
        sample::log(
            &mut image,
            &["Linux version 6.1", "Command line: a shimos.start=1"],
        );
        assert!(matches!(read(&image, &status).1, Source::Ring(_)));
        status.starts = 2;
        assert_eq!(read(&image, &status).1, Source::Nothing);
        status.starts = 1;
        assert_eq!(read(&image, &status).0.len(), 2);
    }

    #[test]
    fn a_kernel_of_arm64() {
        for shape in sample::aarch64::SHAPES {
            let (mut image, _) = sample::aarch64::kernel(shape);
            let mut status = fake::status("web");
            status.kernel_version = "6.12.0-sample (x) #1".into();
            status.starts = 2;
            let start = "Kernel command line: a shimos.start=0000000002";
            sample::aarch64::log(&mut image, shape, &["Linux version 6.12", start]);
            let (lines, source) = read(&image, &status);
            assert!(matches!(source, Source::Ring(_)), "{shape:?}");
            assert_eq!(lines[0], "[    0.000000] Linux version 6.12");
            status.starts = 3;
            assert_eq!(read(&image, &status).1, Source::Nothing);
        }
    }

    #[test]
    fn the_best_source() {
        let (mut image, _) = sample::kernel();
        let mut status = fake::status("web");
        status.kernel_version = "6.1.0-sample (x) #1".into();
        assert_eq!(read(&image, &status), (vec![], Source::Nothing));
        let first = format!("{}6.1", NATIVE.first_line);
        sample::log(&mut image, &[&first, "b"]);
        let (lines, source) = read(&image, &status);
        assert!(matches!(source, Source::Ring(_)));
        assert_eq!(lines[1], "[    1.000001] b");
        // A note of another kernel is not believed.
        status.kernel_version = "6.12".into();
        let (lines, source) = read(&image, &status);
        assert_eq!(source, Source::EarlyRing);
        assert_eq!(lines, [&first, "b"]);
    }
}
