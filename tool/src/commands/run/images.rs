//! What KLoader puts into a partition.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::wish::Wish;
use crate::boot::modules::{self, Needs};
use crate::boot::{cmdline, image, initrd};
use crate::error::{Error, IoContext, Result};
use crate::partition::Kind;
use crate::ui::output;
use crate::units::size;

/// The opened and checked files, and the command line that goes with them.
pub struct Images {
    pub kernel: File,
    pub initrd: Option<File>,
    pub cmdline: String,
    /// What they are and what was left out, for --verbose.
    pub notes: Vec<String>,
}

impl Images {
    /// Open and check all that the partition needs before there is one.
    pub fn open(wish: &Wish) -> Result<Self> {
        match wish.kind {
            Kind::Linux => linux(wish),
            Kind::Rt => program(&wish.kernel),
        }
    }

    /// Print what the user should know of them.
    pub fn describe(&self) {
        for note in &self.notes {
            output::note(note);
        }
    }
}

fn linux(wish: &Wish) -> Result<Images> {
    let (kernel, image) = image::open(&wish.kernel)?;
    let user_initrd = match &wish.initrd {
        Some(path) => Some(initrd::open(path)?),
        None => default_initrd(&image.version)?,
    };
    let cmdline = cmdline::compose(&wish.cmdline, wish.with_agent).map_err(Error::new)?;
    let mut notes = Vec::new();
    let initrd = if wish.with_agent {
        let needs = Needs {
            disk: !wish.wanted.disks.is_empty(),
            net: !wish.wanted.nets.is_empty(),
        };
        let modules = modules::read(&image.version, needs)?;
        let agent = initrd::agent_archive(&modules.list)?;
        notes = modules.notes;
        Some(initrd::combine(&agent, user_initrd.as_ref())?)
    } else {
        user_initrd
    };
    notes.push(format!("kernel version {}", image.version));
    if let Some(metadata) = initrd.as_ref().and_then(|f| f.metadata().ok()) {
        notes.push(format!("initrd of {}", size::show(metadata.len())));
    }
    notes.push(format!("command line: {cmdline}"));
    Ok(Images {
        kernel,
        initrd,
        cmdline,
        notes,
    })
}

/// KLoader looks into it, and says what is wrong with it.
fn program(path: &Path) -> Result<Images> {
    let shown = output::shown(path);
    let kernel = File::open(path).or_fail(format_args!("cannot open program {shown}"))?;
    let metadata = kernel
        .metadata()
        .or_fail(format_args!("cannot look at program {shown}"))?;
    if !metadata.is_file() {
        return Err(Error::new(format!("program {shown} is not a regular file")));
    }
    Ok(Images {
        kernel,
        initrd: None,
        cmdline: String::new(),
        notes: vec![format!("program of {}", size::show(metadata.len()))],
    })
}

fn default_initrd(version: &str) -> Result<Option<File>> {
    let path = PathBuf::from(format!("/boot/initrd.img-{version}"));
    if path.exists() {
        return initrd::open(&path).map(Some);
    }
    output::note(format_args!(
        "there is no {}: starting without an initrd of its own",
        path.display()
    ));
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_taken_as_it_is() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("control.elf");
        std::fs::write(&path, "no ELF at all").unwrap();
        let images = program(&path).unwrap();
        assert!(images.initrd.is_none());
        assert_eq!(images.cmdline, "");
        assert_eq!(images.notes, ["program of 13 bytes"]);
        for (path, words) in [
            (work.path().to_owned(), "is not a regular file"),
            (work.path().join("x"), "cannot open program"),
        ] {
            let error = program(&path).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
