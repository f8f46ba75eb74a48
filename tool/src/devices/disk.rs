//! From the path of a disk to an open block device that can be shared.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;

use super::opening::{open, read_only_hint};
use super::{Status, image, spec, usage};
use crate::abi::devices::NAME_LEN;
use crate::error::{Error, Result, io_text};
use crate::system::{Number, System};

/// Open, and found to be fit for sharing.
#[derive(Debug)]
pub struct Disk {
    pub spec: spec::Disk,
    /// The block device: the disk itself, or the loop device of a file.
    pub file: File,
    pub number: Number,
}

impl Disk {
    /// Open a disk for its user; the error says why it cannot be shared, and who uses it.
    pub fn open(system: &System, spec: &spec::Disk, shared: &[Status]) -> Result<Self> {
        let metadata = look(&spec.path)?;
        let opened = match metadata.file_type() {
            kind if kind.is_block_device() => block(system, spec, &metadata, shared),
            kind if kind.is_file() => image::open(system, spec, &metadata, shared),
            kind => Err(Error::new(format!("it is {}", what(kind)))
                .hint("give a block device, or a file with the image of a disk")),
        };
        let (file, number) = opened.map_err(|e| e.context(cannot(&spec.path)))?;
        Ok(Disk {
            spec: spec.clone(),
            file,
            number,
        })
    }

    /// Return its name for the back end, whose field has its limits: the end tells more.
    pub fn kernel_name(&self) -> String {
        shortened(&self.spec.name(), NAME_LEN - 1)
    }
}

fn cannot(path: &Path) -> String {
    format!("cannot share '{}'", path.display())
}

fn look(path: &Path) -> Result<Metadata> {
    fs::metadata(path).map_err(|e| {
        let error = Error::new(format!("{}: {}", cannot(path), io_text(&e)));
        match e.kind() {
            io::ErrorKind::NotFound => error
                .hint("`lsblk` lists the disks; `truncate -s 10G disk.img` makes an empty image"),
            _ => error,
        }
    })
}

fn what(kind: fs::FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_char_device() {
        "a character device"
    } else {
        "neither a disk nor a file"
    }
}

/// What makes two paths the same disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Identity {
    Block(Number),
    File(u64, u64),
}

fn identity(metadata: &Metadata) -> Identity {
    match metadata.file_type().is_block_device() {
        true => Identity::Block(Number::of(metadata.rdev())),
        false => Identity::File(metadata.dev(), metadata.ino()),
    }
}

/// Refuse a disk that is named twice, be it by different paths.
pub fn no_doubles(disks: &[spec::Disk]) -> Result<()> {
    let mut seen: Vec<(Identity, &spec::Disk)> = Vec::new();
    for disk in disks {
        let identity = identity(&look(&disk.path)?);
        if let Some((_, other)) = seen.iter().find(|(i, _)| *i == identity) {
            let path = disk.path.display();
            let message = match disk.path == other.path {
                true => format!("'{path}' is given twice"),
                false => format!("'{}' and '{path}' are the same disk", other.path.display()),
            };
            return Err(Error::new(message).hint("give each disk once"));
        }
        seen.push((identity, disk));
    }
    Ok(())
}

fn block(
    system: &System,
    spec: &spec::Disk,
    metadata: &Metadata,
    shared: &[Status],
) -> Result<(File, Number)> {
    let number = Number::of(metadata.rdev());
    fit(system, spec, number)?;
    // Does somebody claim it? The kernel knows; the back end would be refused, too.
    match open(&spec.path, spec.read_only, OFlag::O_EXCL) {
        Err(e) if e.raw_os_error() == Some(Errno::EBUSY as i32) => {
            if !all_only_read(spec, number, shared) {
                return Err(in_use(system, number, shared));
            }
        }
        Err(e) => return Err(Error::new(io_text(&e))),
        Ok(claimed) => drop(claimed),
    }
    let file =
        open(&spec.path, spec.read_only, OFlag::empty()).map_err(|e| Error::new(io_text(&e)))?;
    Ok((file, number))
}

/// What can be said without opening it.
fn fit(system: &System, spec: &spec::Disk, number: Number) -> Result<()> {
    if spec.size.is_some() {
        return Err(Error::new("size= is for files, and this is a block device")
            .hint("make a partition or a logical volume of that size"));
    }
    let Some(block) = system.block(number) else {
        return Err(Error::new(format!(
            "there is no device behind it ({number})"
        )));
    };
    if block.size() == Some(0) {
        return Err(Error::new(
            "it has no size: no medium, or nothing behind it",
        ));
    }
    if !spec.read_only && block.is_read_only() {
        return Err(Error::new("it can only be read").hint(read_only_hint(spec)));
    }
    Ok(())
}

/// Who has claimed it is the back end, for kernels that read it only, and so will
/// this one.
fn all_only_read(spec: &spec::Disk, number: Number, shared: &[Status]) -> bool {
    let mut its = shared.iter().filter(|s| usage::is_it(s, number)).peekable();
    spec.read_only && its.peek().is_some() && its.all(|s| s.read_only)
}

/// Make the error of a disk that somebody uses, and say who if that can be found out.
pub fn in_use(system: &System, number: Number, shared: &[Status]) -> Error {
    match usage::of(system, number, shared) {
        Some(users) => Error::new(format!("it is in use: {users}")),
        None => Error::new("it is in use: a program or the kernel has claimed it"),
    }
    .hint("two kernels that write to one disk destroy what is on it: release it there first")
}

/// At most `most` bytes of it, the last ones.
fn shortened(text: &str, most: usize) -> String {
    const CUT: &str = "…";
    if text.len() <= most {
        return text.into();
    }
    let mut from = text.len() - most.saturating_sub(CUT.len());
    while !text.is_char_boundary(from) {
        from += 1;
    }
    format!("{CUT}{}", text.get(from..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::fake;
    use super::*;
    use crate::error::tests::{errors, failures, told};
    use crate::system;

    const VDB: Number = Number {
        major: 254,
        minor: 16,
    };

    #[test]
    fn paths_that_are_no_disks() {
        let system = System::real();
        let open = |text: &str| {
            let spec = spec::disk(text).unwrap();
            Disk::open(&system, &spec, &[]).map_err(|error| told(&error))
        };
        let text = errors(&["/nonexistent/vdc", "/proc", "/dev/null"], open);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_same_twice() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("a.img");
        fs::write(&path, [0; 512]).unwrap();
        std::os::unix::fs::symlink(&path, work.path().join("b")).unwrap();
        let spec = |name: &str| spec::disk(work.path().join(name).to_str().unwrap()).unwrap();
        let text = failures([
            ("one path", no_doubles(&[spec("a.img"), spec("a.img")])),
            ("two paths", no_doubles(&[spec("a.img"), spec("b")])),
            ("no such file", no_doubles(&[spec("none")])),
            ("once", no_doubles(&[spec("a.img")])),
        ]);
        insta::assert_snapshot!(text.replace(work.path().to_str().unwrap(), "/srv"));
    }

    #[test]
    fn block_devices() {
        let spec = |text: &str| spec::disk(text).unwrap();
        let (work, system) = system::example(&[]);
        assert_eq!(fit(&system, &spec("/dev/vdb"), VDB), Ok(()));
        let sized = fit(&system, &spec("/dev/vdb,size=1M"), VDB);
        let vdb = work.path().join("sys/devices/pci/block/vdb");
        fs::write(vdb.join("ro"), "1\n").unwrap();
        let read_only = fit(&system, &spec("/dev/vdb"), VDB);
        assert_eq!(fit(&system, &spec("/dev/vdb,ro"), VDB), Ok(()));
        fs::write(vdb.join("size"), "0\n").unwrap();
        let empty = fit(&system, &spec("/dev/vdb,ro"), VDB);
        let none = Number { major: 1, minor: 1 };
        let text = failures([
            ("with a size", sized),
            ("it can only be read", read_only),
            ("it has no size", empty),
            ("there is none", fit(&system, &spec("/dev/vdb"), none)),
        ]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn many_readers_or_one() {
        let (_work, system) = system::example(&[]);
        let mut other = fake::disk(3, "db", "/dev/vdb");
        let ro = spec::disk("/dev/vdb,ro").unwrap();
        assert!(!all_only_read(&ro, VDB, &[other.clone()]));
        let text = failures::<()>([
            (
                "by another kernel",
                Err(in_use(&system, VDB, &[other.clone()])),
            ),
            ("by nobody knows whom", Err(in_use(&system, VDB, &[]))),
        ]);
        insta::assert_snapshot!(text);
        other.read_only = true;
        assert!(all_only_read(&ro, VDB, &[other.clone()]));
        assert!(!all_only_read(&ro, VDB, &[]));
        assert!(!all_only_read(
            &spec::disk("/dev/vdb").unwrap(),
            VDB,
            &[other]
        ));
    }

    #[test]
    fn long_names_keep_their_end() {
        assert_eq!(shortened("/dev/vdb", 63), "/dev/vdb");
        let long = format!("/var/{}/ä/disk.img", "x".repeat(60));
        let short = shortened(&long, 63);
        assert!(short.len() <= 63, "{}", short.len());
        assert!(short.starts_with('…') && short.ends_with("/ä/disk.img"));
        for most in 3..20 {
            assert!(shortened(&"ä".repeat(30), most).len() <= most);
        }
    }
}
