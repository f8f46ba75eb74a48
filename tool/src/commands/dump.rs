//! `shimos dump`

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;

use crate::cli;
use crate::error::{Error, IoContext, Result};
use crate::guest::log;
use crate::guest::vmcore::{Kernel, Plan};
use crate::memory::Memory;
use crate::partition::lookup;
use crate::partition::{Device, Kind, Status};
use crate::ui::output;
use crate::ui::progress::Progress;
use crate::units::size;

/// Write a partition's memory into a file, as an ELF core.
pub fn run(device: &dyn Device, args: &cli::Dump) -> Result<()> {
    let status = lookup::find(device, &args.name)?;
    let memory = log::open(device, &status)?;
    if status.state.active() && !args.live {
        output::note(format_args!(
            "'{}' is {}: the dump will not be of one moment",
            args.name, status.state
        ));
    }
    let kernel = match status.kind {
        Kind::Linux => linux(&memory, &status),
        Kind::Rt => Kernel::of_program(memory.ranges()),
    };
    let plan = Plan::new(memory.ranges(), status.cpus.len(), &kernel)?;
    let target = Target::new(&args.output, args.force, plan.total())?;
    let mut progress = Progress::bytes(format!("{}: dumping", args.name), plan.total());
    let lost = plan
        .write(&memory, &target.file, &mut |done| progress.position(done))
        .map_err(|e| e.context(args.output.display()))?;
    drop(progress);
    target.finish()?;
    if lost != 0 {
        output::note(format_args!(
            "{} could not be read and are zero in the dump",
            size::show(lost)
        ));
    }
    output::line(format_args!(
        "{}: wrote {}, {} of memory",
        args.name,
        args.output.display(),
        size::show(memory.ranges().iter().map(|r| r.size).sum())
    ))
}

fn linux(memory: &dyn Memory, status: &Status) -> Kernel {
    if let Some(info) = log::describe(memory, status) {
        return Kernel::new(memory, &info);
    }
    output::note(format_args!(
        "'{}' has no VMCOREINFO (its kernel has not come that far): crash and drgn will not know what to make of the dump",
        status.name
    ));
    Kernel::default()
}

/// The file under a temporary name until it is complete; removed if it never is.
struct Target {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
}

impl Target {
    fn new(path: &Path, force: bool, size: u64) -> Result<Self> {
        let shown = path.display();
        if !force && path.symlink_metadata().is_ok() {
            return Err(Error::new(format!("{shown} exists already")).hint("--force overwrites it"));
        }
        let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
            return Err(Error::new(format!("{shown} is a directory, not a file")));
        };
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        if !force {
            check_space(directory, size)?;
        }
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}", std::process::id()));
        let temporary = directory.join(hidden);
        // Somebody's memory: not for everybody's eyes.
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .or_fail(format_args!("cannot create {shown}"))?;
        Ok(Target {
            file,
            temporary,
            path: path.into(),
        })
    }

    fn finish(self) -> Result<()> {
        std::fs::rename(&self.temporary, &self.path)
            .or_fail(format_args!("cannot create {}", self.path.display()))
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // After finish() there is nothing of that name.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

fn check_space(directory: &Path, size: u64) -> Result<()> {
    let shown = directory.display();
    let fs = statvfs(directory).or_fail(format_args!("cannot look at {shown}"))?;
    let free = fs.blocks_available().saturating_mul(fs.fragment_size());
    if free < size {
        return Err(Error::new(format!(
            "there is not enough space in {shown}: {} free, the dump has up to {}",
            size::show(free),
            size::show(size)
        ))
        .hint("pages of zeros take no space: --force tries it all the same"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::field_u64;
    use crate::partition::fake::{self, Fake};
    use std::io::Write;

    #[test]
    fn an_unfinished_file_vanishes() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("core");
        let mut target = Target::new(&path, false, 10).unwrap();
        target.file.write_all(b"half").unwrap();
        drop(target);
        assert_eq!(work.path().read_dir().unwrap().count(), 0);
        Target::new(&path, false, 10).unwrap().finish().unwrap();
        assert!(path.exists());
        assert_eq!(work.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn a_real_time_program() {
        let fake = Fake::default();
        fake.add(fake::rt_status("ctl"));
        let work = tempfile::tempdir().unwrap();
        let output = work.path().join("core");
        let args = cli::Dump {
            name: "ctl".into(),
            output: output.clone(),
            force: false,
            live: true,
        };
        run(&fake, &args).unwrap();
        let dump = std::fs::read(output).unwrap();
        assert!(dump.len() > 8 << 20);
        // After the file's header and that of the notes.
        let memory = 64 + 56;
        assert_eq!(field_u64(&dump, memory + 16), Some(0), "where it sees it");
        assert_eq!(field_u64(&dump, memory + 24), Some(4 << 30));
    }

    #[test]
    fn what_is_refused() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("core");
        std::fs::write(&path, "precious").unwrap();
        let refused = |force, size| Target::new(&path, force, size).map(drop);
        assert!(
            refused(false, 1)
                .unwrap_err()
                .to_string()
                .contains("exists already")
        );
        assert_eq!(refused(true, 1), Ok(()));
        assert_eq!(
            std::fs::read(&path).unwrap(),
            b"precious",
            "until it is complete"
        );
        let new = work.path().join("new");
        let error = Target::new(&new, false, u64::MAX).map(drop).unwrap_err();
        assert!(error.to_string().contains("not enough space"));
        let error = Target::new(work.path(), true, 1).map(drop).unwrap_err();
        assert!(error.to_string().contains("directory"));
    }
}
