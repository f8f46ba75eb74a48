//! The partition's initrd: our cpio with init and modules, then the user's as it is.
//!
//! The kernel unpacks archives one after the other, each compressed in its own
//! way, so that the user's need not be touched.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::boot::cpio::Archive;
use crate::boot::modules::Module;
use crate::error::{Error, IoContext, Result};
use crate::units::memory_file;

/// Loads the modules in the partition, then becomes the original init.
const INIT: &str = "/usr/lib/shimos/init";

/// Return where the init binary for partitions lies.
pub fn init_path() -> PathBuf {
    std::env::var_os("SHIMOS_INIT_BINARY").map_or_else(|| INIT.into(), PathBuf::from)
}

/// Pack what the partition needs before its own init, as an archive.
pub fn agent_archive(modules: &[Module]) -> Result<Vec<u8>> {
    let path = init_path();
    let init = std::fs::read(&path)
        .or_fail(format_args!("cannot read {}", path.display()))
        .map_err(|e| {
            e.hint("the package shimos is not installed completely; see `shimos doctor`")
        })?;
    if !init.starts_with(b"\x7fELF") {
        return Err(Error::new(format!("{} is no program", path.display())));
    }
    Ok(archive(&init, modules))
}

/// The init finds in /shimos/modules which ones to load, in this order.
fn archive(init: &[u8], modules: &[Module]) -> Vec<u8> {
    let mut archive = Archive::default();
    archive.directory("/dev");
    archive.character_device("/dev/console", 0o600, 5, 1);
    archive.character_device("/dev/kmsg", 0o644, 1, 11);
    archive.directory("/shimos");
    archive.file("/shimos/init", 0o755, init);
    let mut list = String::new();
    for module in modules {
        let path = format!("/shimos/{}.ko", module.name);
        archive.file(&path, 0o644, &module.data);
        list.push_str(&path);
        list.push('\n');
    }
    archive.file("/shimos/modules", 0o644, list.as_bytes());
    archive.finish()
}

/// Open the user's initrd and look whether it can be one.
pub fn open(path: &Path) -> Result<File> {
    let shown = path.display();
    let file = File::open(path).or_fail(format_args!("cannot open initrd {shown}"))?;
    let metadata = file
        .metadata()
        .or_fail(format_args!("cannot look at initrd {shown}"))?;
    if !metadata.is_file() {
        return Err(Error::new(format!("initrd {shown} is not a regular file")));
    }
    if metadata.len() == 0 {
        return Err(Error::new(format!("initrd {shown} is empty")));
    }
    Ok(file)
}

/// Make a file in memory with `first` and then `user`.
pub fn combine(first: &[u8], user: Option<&File>) -> Result<File> {
    const WHAT: &str = "cannot put the initrd together";
    memory_file::made(WHAT, |file| {
        file.write_all(first).or_fail(WHAT)?;
        if let Some(mut user) = user {
            io::copy(&mut user, file).or_fail(WHAT)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn the_users_part_follows_untouched() {
        let mut user = tempfile::tempfile().unwrap();
        user.write_all(b"\x1f\x8brest").unwrap();
        io::Seek::rewind(&mut user).unwrap();
        let module = |name: &str| Module {
            name: name.into(),
            data: vec![1, 2, 3],
        };
        let first = archive(b"\x7fELFinit", &[module("a"), module("b_c")]);
        let list = b"/shimos/a.ko\n/shimos/b_c.ko\n";
        assert!(memchr::memmem::find(&first, list).is_some());
        assert_eq!(first.len() % 4, 0);
        let mut file = combine(&first, Some(&user)).unwrap();
        let mut all = Vec::new();
        file.read_to_end(&mut all).unwrap();
        assert_eq!(&all[..first.len()], first);
        assert_eq!(&all[first.len()..], b"\x1f\x8brest");
        assert!(file.write_all(b"x").is_err(), "must be read-only");
    }

    #[test]
    fn no_initrd_at_all() {
        assert!(
            open(Path::new("/nonexistent"))
                .unwrap_err()
                .to_string()
                .contains("No such")
        );
        assert!(
            open(Path::new("/"))
                .unwrap_err()
                .to_string()
                .contains("regular")
        );
        let empty = tempfile::NamedTempFile::new().unwrap();
        assert!(
            open(empty.path())
                .unwrap_err()
                .to_string()
                .contains("empty")
        );
    }
}
