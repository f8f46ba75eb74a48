//! To open what becomes a disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;

use super::spec;

/// Open a file or device, to be written unless `read_only`.
pub fn open(path: &Path, read_only: bool, flags: OFlag) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(!read_only)
        .custom_flags(flags.bits())
        .open(path)
}

/// Tell how to ask for a disk that can only be read.
pub fn read_only_hint(spec: &spec::Disk) -> String {
    format!("share it for reading only: {},ro", spec.path.display())
}
