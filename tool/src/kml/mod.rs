//! Programs in kernel mode: the module `shimos_kml` and what it says.

pub mod caller;
pub mod node;
pub mod processes;
pub mod program;
pub mod report;
pub mod support;

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::arch::Architecture;
use crate::error::{Error, Result};
use crate::system::System;

/// The module's name.
pub const MODULE: &str = "shimos_kml";

/// Where programs are trusted, unless the module is told another place.
const DIRECTORY: &str = "/trusted";

const S_IWGRP: u32 = 0o020;
const S_IWOTH: u32 = 0o002;
const S_ISVTX: u32 = 0o1000;
const S_ISGID: u32 = 0o2000;
const S_ISUID: u32 = 0o4000;

/// Check that the architecture has it; the error says why there can be none.
pub fn available(architecture: &Architecture) -> Result<()> {
    match architecture.without.kernel_mode {
        Some(why) => Err(Error::new(why).hint("partitions do not need it")),
        None => Ok(()),
    }
}

/// Tell whether the module is loaded.
pub fn loaded(system: &System) -> bool {
    system.path("sys/module").join(MODULE).exists()
}

/// Return the directory whose programs are trusted.
pub fn directory(system: &System) -> PathBuf {
    let given = system.read(format!("sys/module/{MODULE}/parameters/directory"));
    given.map_or_else(|| DIRECTORY.into(), PathBuf::from)
}

/// Only root's, and nobody else can write it.
fn roots_own(file: &Metadata) -> bool {
    file.uid() == 0 && file.mode() & (S_IWGRP | S_IWOTH) == 0
}
