//! Loading a module: finit_module(2).

use std::fs::File;
use std::io;

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};

/// Load one, without parameters; one that is loaded already is fine.
pub fn load(file: &File) -> io::Result<()> {
    match finit_module(file, c"", ModuleInitFlags::empty()) {
        Err(Errno::EEXIST) => Ok(()),
        result => Ok(result?),
    }
}
