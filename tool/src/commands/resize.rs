//! `shimos resize`

use std::path::Path;

use crate::cli::{self, Difference};
use crate::error::{Error, Result};
use crate::partition::{Device, Status, lookup};
use crate::system::resctrl::Groups;
use crate::system::{System, numbers};
use crate::ui::output;
use crate::ui::refusal::OrRefuse;
use crate::units::{cpulist, size};

/// Give a partition CPUs or memory, or take some back: all that was asked for, or nothing.
pub fn run(root: &Path, device: &dyn Device, args: &cli::Resize) -> Result<()> {
    let status = lookup::find(device, &args.name)?;
    if let Some(difference) = &args.memory {
        return memory(device, &status, difference);
    }
    match (&args.cpus, &args.cpuset) {
        (Some(Difference::More(count)), _) => {
            add(root, device, &status, &free(root, &status, *count)?)
        }
        (Some(Difference::Fewer(count)), _) => remove(device, &status, &last(&status, *count)?),
        (_, Some(Difference::More(list))) => add(root, device, &status, &list.0),
        (_, Some(Difference::Fewer(list))) => remove(device, &status, &list.0),
        (None, None) => Ok(()),
    }?;
    let now = lookup::find(device, &args.name)?;
    output::line(format_args!(
        "{}: has CPUs {} now",
        args.name,
        now.cpu_list()
    ))
}

fn memory(device: &dyn Device, status: &Status, difference: &Difference<u64>) -> Result<()> {
    let id = status.id;
    let more = |size| device.add_memory(id, size);
    let less = |size| device.remove_memory(id, size);
    match difference {
        Difference::More(size) => whole(*size, more, less)
            .or_refuse(format_args!("cannot give '{}' more memory", status.name)),
        Difference::Fewer(size) => whole(*size, less, more)
            .or_refuse(format_args!("cannot take memory from '{}'", status.name)),
    }?;
    let now = lookup::find(device, &status.name)?;
    output::line(format_args!(
        "{}: has {} now",
        now.name,
        size::show(now.memory)
    ))
}

/// Do it piece by piece, as each comes, or undo what was done and return why the rest could not be.
fn whole<E>(
    size: u64,
    action: impl Fn(u64) -> std::result::Result<u64, E>,
    undo: impl Fn(u64) -> std::result::Result<u64, E>,
) -> std::result::Result<(), E> {
    let mut done = 0;
    while done < size {
        match action(size - done) {
            Ok(some) => done += some,
            Err(refusal) => {
                // What cannot be undone stays as the partition has it.
                while let Some(some) = (done > 0).then(|| undo(done).ok()).flatten() {
                    done = done.saturating_sub(some);
                }
                return Err(refusal);
            }
        }
    }
    Ok(())
}

/// Choose so many that it may get and the host has online.
fn free(root: &Path, status: &Status, count: u32) -> Result<Vec<u32>> {
    let online = numbers(root, "sys/devices/system/cpu/online");
    let later = status.later();
    let free: Vec<u32> = later
        .iter()
        .copied()
        .filter(|cpu| online.contains(cpu))
        .collect();
    if let Some(chosen) = free.get(..count as usize) {
        return Ok(chosen.to_vec());
    }
    let what = format!("'{}' can get {} CPUs now", status.name, free.len());
    Err(match later.len() - free.len() {
        0 => Error::new(format!("{what}: it was told of no more when it started"))
            .hint("run it anew with --max-cpus"),
        _ => Error::new(format!(
            "{what}, and {} that the host does not have online",
            cpulist::show(&later)
        ))
        .hint("`shimos ls` shows who has CPUs"),
    })
}

/// Choose so many that it got last.
fn last(status: &Status, count: u32) -> Result<Vec<u32>> {
    match status.cpus.len().checked_sub(count as usize) {
        None | Some(0) => Err(Error::new(format!(
            "'{}' has {} CPUs, and keeps the one that booted it",
            status.name,
            status.cpus.len()
        ))),
        Some(kept) => Ok(status.cpus.iter().skip(kept).rev().copied().collect()),
    }
}

fn add(root: &Path, device: &dyn Device, status: &Status, cpus: &[u32]) -> Result<()> {
    let groups = Groups::open_if_there(&System::at(root));
    all(
        cpus,
        |cpu| give(device, groups.as_ref(), status, cpu),
        |cpu| {
            device
                .remove_cpu(status.id, cpu)
                .or_refuse("cannot undo it")
        },
    )
}

/// It comes into the partition's group of resctrl while it is the host's.
fn give(device: &dyn Device, groups: Option<&Groups>, status: &Status, cpu: u32) -> Result<()> {
    let name = &status.name;
    if let Some(groups) = groups {
        groups.add(name, cpu)?;
    }
    let given = device
        .add_cpu(status.id, cpu)
        .or_refuse(format_args!("cannot give '{name}' more CPUs"));
    if given.is_err() {
        groups.inspect(|groups| groups.take_back(name));
    }
    given
}

fn remove(device: &dyn Device, status: &Status, cpus: &[u32]) -> Result<()> {
    all(
        cpus,
        |cpu| device.remove_cpu(status.id, cpu),
        |cpu| device.add_cpu(status.id, cpu),
    )
    .or_refuse(format_args!("cannot take CPUs from '{}'", status.name))
}

/// Do it with each, or undo what was done and return why one could not be.
fn all<E>(
    cpus: &[u32],
    action: impl Fn(u32) -> std::result::Result<(), E>,
    undo: impl Fn(u32) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    for (at, cpu) in cpus.iter().enumerate() {
        if let Err(refusal) = action(*cpu) {
            for done in cpus.iter().take(at).rev() {
                // What cannot be undone stays as the partition's list of CPUs has it.
                let _ = undo(*done);
            }
            return Err(refusal);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command, WithKLoader};
    use crate::partition::fake::{Fake, Manner, status};

    /// Of four CPUs 0 and 1 are the host's, and web may get 1 and 4, which is another's.
    fn machine() -> (tempfile::TempDir, Fake) {
        let root = tempfile::tempdir().unwrap();
        let cpu = root.path().join("sys/devices/system/cpu");
        fs::create_dir_all(&cpu).unwrap();
        fs::write(cpu.join("online"), "0-1\n").unwrap();
        let fake = Fake::default();
        let mut web = status("web");
        web.cpus = vec![2, 3];
        web.more = vec![4, 1, 3];
        fake.add(web);
        (root, fake)
    }

    fn resize(root: &Path, fake: &Fake, option: &str, value: &str) -> String {
        let line = ["shimos", "resize", "web", option, value];
        let command = Cli::try_parse_from(line).unwrap().command;
        let Command::WithKLoader(WithKLoader::Resize(args)) = command else {
            panic!("{line:?}");
        };
        match run(root, fake, &args) {
            Ok(()) if args.memory.is_some() => size::show(fake.status(1).unwrap().memory),
            Ok(()) => fake.status(1).unwrap().cpu_list(),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn by_number() {
        let (root, fake) = machine();
        let by = |difference| resize(root.path(), &fake, "--cpus", difference);
        assert_eq!(by("+1"), "1-3");
        assert!(by("+1").contains("can get 0 CPUs now, and 4 that the host does not have"));
        assert_eq!(by("-2"), "2", "those that came last go first");
        assert!(by("-1").contains("keeps the one that booted it"));
    }

    #[test]
    fn memory_piece_by_piece() {
        let (root, fake) = machine();
        let by = |difference| resize(root.path(), &fake, "--memory", difference);
        let before = fake.status(1).unwrap().memory;
        assert_eq!(by("+1G"), size::show(before + (1 << 30)));
        assert_eq!(by("-768M"), size::show(before + (256 << 20)));
        assert!(by("+8G").contains("cannot give 'web' more memory"));
        assert_eq!(
            fake.status(1).unwrap().memory,
            before + (256 << 20),
            "undone"
        );
    }

    #[test]
    fn all_or_none() {
        let (root, fake) = machine();
        let by = |difference| resize(root.path(), &fake, "--cpuset", difference);
        assert_eq!(by("+1"), "1-3");
        assert_eq!(by("-1"), "2-3");
        assert!(by("+1,9").contains("its kernel refuses"));
        assert_eq!(fake.status(1).unwrap().cpu_list(), "2-3", "undone");
        fake.manner(Manner::Deaf);
        assert!(by("+1").contains("cannot give 'web' more CPUs"));
    }
}
