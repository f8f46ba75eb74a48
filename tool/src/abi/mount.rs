//! Mounting: mount(2) as the runtime of containers and its partitions use it.

use std::io;
use std::path::Path;

use nix::mount::{MntFlags, MsFlags, mount, umount2};

const NONE: Option<&str> = None;

/// Mount a file system without a device.
pub fn file_system(kind: &str, source: &str, at: &Path, options: &str) -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    Ok(mount(Some(source), at, Some(kind), flags, Some(options))?)
}

/// Mount one that may have devices and programs with other rights: /dev, or a container's root.
pub fn trusted(kind: &str, source: &str, at: &Path) -> io::Result<()> {
    Ok(mount(Some(source), at, Some(kind), MsFlags::empty(), NONE)?)
}

/// Show a file or a directory at a second place; `recursive`: with what is mounted below it.
pub fn bind(source: &Path, at: &Path, recursive: bool) -> io::Result<()> {
    let mut flags = MsFlags::MS_BIND;
    flags.set(MsFlags::MS_REC, recursive);
    Ok(mount(Some(source), at, NONE, flags, NONE)?)
}

/// Let nobody write by way of this mount, which is a bind.
pub fn make_read_only(at: &Path) -> io::Result<()> {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    Ok(mount(NONE, at, NONE, flags, NONE)?)
}

/// Keep what is mounted below to itself.
pub fn make_private(at: &Path) -> io::Result<()> {
    let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    Ok(mount(NONE, at, NONE, flags, NONE)?)
}

/// Let other mount namespaces see what is mounted below from now on.
pub fn make_shared(at: &Path) -> io::Result<()> {
    Ok(mount(NONE, at, NONE, MsFlags::MS_SHARED, NONE)?)
}

/// Move a mount.
pub fn shift(from: &Path, to: &Path) -> io::Result<()> {
    Ok(mount(Some(from), to, NONE, MsFlags::MS_MOVE, NONE)?)
}

/// Take a mount away, and all below it, whoever still uses it.
pub fn detach(at: &Path) -> io::Result<()> {
    Ok(umount2(at, MntFlags::MNT_DETACH)?)
}
