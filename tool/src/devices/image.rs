//! A file as a disk: behind a loop device that vanishes with its last user.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;

use super::node;
use super::opening::{open as open_path, read_only_hint};
use super::{Status, spec, usage};
use crate::abi::loops;
use crate::error::{Error, IoContext, Result, io_text};
use crate::system::{Number, System};
use crate::units::size;

const CONTROL: &str = "/dev/loop-control";
const SECTOR: u64 = 512;
/// Others may take the free loop device before we do.
const TRIES: usize = 50;

/// Open a loop device of the file.
pub fn open(
    system: &System,
    spec: &spec::Disk,
    metadata: &Metadata,
    shared: &[Status],
) -> Result<(File, Number)> {
    fit(spec, metadata)?;
    if let Some(user) = conflict(system, spec, metadata, shared) {
        return Err(in_use(format!("it is in use: {user}")));
    }
    let file =
        open_path(&spec.path, spec.read_only, OFlag::empty()).map_err(|e| open_error(spec, &e))?;
    // The loop device will hold the lock for as long as it exists.
    match loops::lock(&file, !spec.read_only) {
        Err(Errno::EWOULDBLOCK) => {
            return Err(in_use(
                "it is in use: another program or kernel has locked it".into(),
            ));
        }
        // Not every file system can lock.
        Ok(()) | Err(_) => {}
    }
    let device = attach(&file, spec)?;
    let number = device
        .metadata()
        .or_fail("cannot look at the loop device")?
        .rdev();
    Ok((device, Number::of(number)))
}

fn in_use(message: String) -> Error {
    Error::new(message).hint(
        "two kernels that write to one disk destroy what is on it: release it there first, or share it with ',ro' everywhere",
    )
}

/// What can be said without opening it.
fn fit(spec: &spec::Disk, metadata: &Metadata) -> Result<()> {
    let path = spec.path.display();
    let length = metadata.len();
    if length == 0 {
        return Err(
            Error::new("the file is empty").hint(format!("give it a size: truncate -s 10G {path}"))
        );
    }
    if let Some(wanted) = spec.size {
        if wanted > length {
            return Err(Error::new(format!(
                "size={} is more than the file has, {}",
                size::show(wanted),
                size::show(length)
            ))
            .hint(format!("make it larger: truncate -s {wanted} {path}")));
        }
    } else if length < SECTOR {
        return Err(
            Error::new(format!("{length} bytes are less than a sector, {SECTOR}"))
                .hint("is it the right file?"),
        );
    } else if length % SECTOR != 0 {
        return Err(Error::new(format!(
            "its size, {length} bytes, is not a multiple of {SECTOR}: its end could not be used"
        ))
        .hint(format!("round it up: truncate -s %{SECTOR} {path}")));
    }
    // Root may write to it all the same, but somebody did not want that.
    if !spec.read_only && metadata.mode() & 0o222 == 0 {
        return Err(Error::new("the file is read-only")
            .hint(format!("{}, or: chmod u+w {path}", read_only_hint(spec))));
    }
    Ok(())
}

fn open_error(spec: &spec::Disk, error: &io::Error) -> Error {
    let message = Error::new(io_text(error));
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EROFS | Errno::EACCES | Errno::EPERM) if !spec.read_only => {
            message.hint(read_only_hint(spec))
        }
        Some(Errno::ETXTBSY) => message.hint("a running program was started from it"),
        _ => message,
    }
}

/// Who has this file behind a loop device already, unless all of them only read.
fn conflict(
    system: &System,
    spec: &spec::Disk,
    metadata: &Metadata,
    shared: &[Status],
) -> Option<String> {
    for name in system.list("sys/block") {
        let Some(backing) = system.read(format!("sys/block/{name}/loop/backing_file")) else {
            continue;
        };
        let reads = system.read(format!("sys/block/{name}/ro")).as_deref() == Some("1");
        if (reads && spec.read_only) || !is_file(&backing, metadata) {
            continue;
        }
        let number = system.read(format!("sys/block/{name}/dev"));
        let number = number.as_deref().and_then(Number::parse);
        let users = number.and_then(|n| usage::of(system, n, shared));
        return Some(users.unwrap_or_else(|| format!("/dev/{name} is made of it")));
    }
    None
}

/// Tell whether the file of that path is the one that `metadata` is of.
pub fn is_file(path: &str, metadata: &Metadata) -> bool {
    let other = fs::metadata(path);
    other.is_ok_and(|m| (m.dev(), m.ino()) == (metadata.dev(), metadata.ino()))
}

fn attach(file: &File, spec: &spec::Disk) -> Result<File> {
    const WHAT: &str = "cannot make a loop device";
    if !Path::new(CONTROL).exists() {
        node::load("loop");
    }
    let control = open_path(Path::new(CONTROL), false, OFlag::empty())
        .or_fail(format_args!("cannot open {CONTROL}"))
        .map_err(|e| e.hint("load the module: modprobe loop"))?;
    let flags = loops::AUTOCLEAR
        | loops::DIRECT_IO
        | match spec.read_only {
            true => loops::READ_ONLY,
            false => 0,
        };
    let path = fs::canonicalize(&spec.path).unwrap_or_else(|_| spec.path.clone());
    for _ in 0..TRIES {
        let number = loops::get_free(&control).or_fail(WHAT)?;
        let node = PathBuf::from(format!("/dev/loop{number}"));
        let device = open_path(&node, spec.read_only, OFlag::empty())
            .or_fail(format_args!("cannot open {}", node.display()))?;
        let name = path.as_os_str().as_bytes();
        match loops::configure(&device, file, name, flags, spec.size.unwrap_or(0)) {
            Ok(()) => return Ok(device),
            Err(Errno::EBUSY) => {}
            Err(errno) => return Err(errno).or_fail(WHAT),
        }
    }
    Err(Error::new(format!("{WHAT}: others take them all")))
}

#[cfg(test)]
mod tests {
    use super::super::fake;
    use super::*;
    use crate::system;
    use std::os::unix::fs::PermissionsExt;

    fn words(error: &Error) -> String {
        let Error::Failed { message, hint } = error else {
            panic!()
        };
        format!("{message} | {}", hint.clone().unwrap_or_default())
    }

    fn file(bytes: u64) -> (tempfile::NamedTempFile, spec::Disk) {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(bytes).unwrap();
        let spec = spec::disk(file.path().to_str().unwrap()).unwrap();
        (file, spec)
    }

    fn judged(bytes: u64, size: Option<u64>) -> Result<()> {
        let (file, mut spec) = file(bytes);
        spec.size = size;
        fit(&spec, &file.as_file().metadata().unwrap())
    }

    #[test]
    fn sizes() {
        assert_eq!(judged(512, None), Ok(()));
        assert_eq!(judged(1000, Some(512)), Ok(()));
        for (bytes, size, word) in [
            (0, None, "is empty"),
            (0, Some(512), "is empty"),
            (511, None, "less than a sector"),
            (1000, None, "truncate -s %512"),
            (1024, Some(2048), "size=2 KiB is more"),
        ] {
            let text = words(&judged(bytes, size).unwrap_err());
            assert!(text.contains(word), "{bytes} {size:?}: {text}");
        }
    }

    #[test]
    fn read_only_files() {
        let (file, mut spec) = file(512);
        let mode = std::fs::Permissions::from_mode(0o444);
        file.as_file().set_permissions(mode).unwrap();
        let metadata = file.as_file().metadata().unwrap();
        let text = words(&fit(&spec, &metadata).unwrap_err());
        assert!(text.contains("read-only") && text.contains(",ro"), "{text}");
        spec.read_only = true;
        assert_eq!(fit(&spec, &metadata), Ok(()));
        spec.read_only = false;
        let error = io::Error::from_raw_os_error(Errno::EROFS as i32);
        assert!(words(&open_error(&spec, &error)).contains(",ro"));
    }

    #[test]
    fn other_loop_devices() {
        let (file, mut spec) = file(512);
        let metadata = file.as_file().metadata().unwrap();
        let path = format!("{}\n", file.path().display());
        let (work, system) = system::example(&[
            ("sys/block/loop3/loop/backing_file", &path),
            ("sys/block/loop3/dev", "254:16\n"),
            ("sys/block/loop3/ro", "0\n"),
            ("sys/block/loop4/loop/backing_file", "/gone (deleted)\n"),
            ("sys/block/vda/dev", "254:0\n"),
        ]);
        assert_eq!(
            conflict(&system, &spec, &metadata, &[]).unwrap(),
            "/dev/loop3 is made of it"
        );
        let shared = [fake::disk(7, "db", "x")];
        let text = conflict(&system, &spec, &metadata, &shared).unwrap();
        assert!(text.contains("'db' has"), "{text}");
        spec.read_only = true;
        assert!(conflict(&system, &spec, &metadata, &[]).is_some());
        fs::write(work.path().join("sys/block/loop3/ro"), "1\n").unwrap();
        assert_eq!(conflict(&system, &spec, &metadata, &[]), None);
        spec.read_only = false;
        assert!(conflict(&system, &spec, &metadata, &[]).is_some());
    }

    /// Only where loop devices can be made.
    #[test]
    fn a_real_loop_device() {
        let control = open_path(Path::new(CONTROL), false, OFlag::empty());
        if control.is_err() || !nix::unistd::geteuid().is_root() {
            return;
        }
        let system = System::real();
        let (file, spec) = file(1 << 20);
        let metadata = file.as_file().metadata().unwrap();
        let (device, number) = match open(&system, &spec, &metadata, &[]) {
            // In a container.
            Err(e) if e.to_string().contains("loop") => return,
            other => other.unwrap(),
        };
        let block = system.block(number).unwrap();
        assert_eq!(block.size(), Some(1 << 20));
        assert_eq!(block.read("loop/autoclear").as_deref(), Some("1"));
        let error = open(&system, &spec, &metadata, &[]).unwrap_err();
        assert!(error.to_string().contains("is in use"), "{error}");
        let other = File::open(file.path()).unwrap();
        assert_eq!(loops::lock(&other, false), Err(Errno::EWOULDBLOCK));
        drop(device);
        let end = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while loops::lock(&other, true).is_err() {
            assert!(std::time::Instant::now() < end, "it still exists");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        drop(other);
        let text = format!("{},ro,size=4K", file.path().display());
        let spec = spec::disk(&text).unwrap();
        let opened = || open(&system, &spec, &metadata, &[]).unwrap();
        let (a, b) = (opened(), opened());
        assert_ne!(a.1, b.1, "each has its own");
        let block = system.block(a.1).unwrap();
        assert_eq!(block.size(), Some(4096));
        assert!(block.is_read_only());
    }
}
