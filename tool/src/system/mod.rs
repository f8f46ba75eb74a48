//! What this kernel says in /sys and /proc, below a directory that tests can
//! choose.

pub mod cgroup;
pub mod durable;
pub mod grub;
pub mod host;
pub mod kernel_log;
pub mod mounts;
pub mod resctrl;
pub mod smt;

use std::fs;
use std::path::{Path, PathBuf};

use crate::units::cpulist;

/// Read a list of numbers as Linux writes them ("0-3,8"), below `root`; empty where it cannot be read.
pub fn numbers(root: &Path, path: impl AsRef<Path>) -> Vec<u32> {
    let text = fs::read_to_string(root.join(path)).unwrap_or_default();
    cpulist::parse(text.trim()).unwrap_or_default()
}

/// This kernel's files below a root.
#[derive(Clone, Debug)]
pub struct System {
    root: PathBuf,
}

/// The number of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number {
    pub major: u64,
    pub minor: u64,
}

impl Number {
    /// Take a number apart as stat(2) has it.
    pub fn of(device: u64) -> Self {
        Number {
            major: nix::sys::stat::major(device),
            minor: nix::sys::stat::minor(device),
        }
    }

    /// Read `254:16`; `None`: it is no such pair.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Number {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl System {
    /// Return this machine's.
    pub fn real() -> Self {
        Self::at("/")
    }

    /// Return what is below another root.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        System { root: root.into() }
    }

    /// Return a path below the root; `path` is without the leading slash.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Read a file below the root, without white space around it; `None`: it cannot be
    /// read.
    pub fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = fs::read_to_string(self.path(path)).ok()?;
        Some(text.trim().to_string())
    }

    /// Return the names in a directory, sorted.
    pub fn list(&self, path: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(path)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Find a block device by its number.
    pub fn block(&self, number: Number) -> Option<Block> {
        let link = self.path(format!("sys/dev/block/{number}"));
        Some(Block {
            number,
            directory: fs::canonicalize(link).ok()?,
        })
    }
}

/// A block device's directory in /sys.
#[derive(Clone, Debug)]
pub struct Block {
    pub number: Number,
    directory: PathBuf,
}

impl Block {
    /// Return the kernel's name: "vda1".
    pub fn name(&self) -> String {
        let name = self.directory.file_name();
        name.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Read an attribute, without white space around it; `None`: it has none.
    pub fn read(&self, attribute: &str) -> Option<String> {
        let text = fs::read_to_string(self.directory.join(attribute)).ok()?;
        Some(text.trim().to_string())
    }

    /// Return its size in bytes.
    pub fn size(&self) -> Option<u64> {
        self.read("size")?.parse::<u64>().ok()?.checked_mul(512)
    }

    /// Tell whether it can only be read.
    pub fn is_read_only(&self) -> bool {
        self.read("ro").as_deref() == Some("1")
    }

    fn is_partition(&self) -> bool {
        self.directory.join("partition").exists()
    }

    fn at(directory: &Path) -> Option<Self> {
        let text = fs::read_to_string(directory.join("dev")).ok()?;
        Some(Block {
            number: Number::parse(&text)?,
            directory: directory.into(),
        })
    }

    /// Return the disk it is a partition of, or itself.
    pub fn whole(&self) -> Block {
        let parent = match self.is_partition() {
            true => self.directory.parent().and_then(Block::at),
            false => None,
        };
        parent.unwrap_or_else(|| self.clone())
    }

    /// List its partitions, by their numbers.
    pub fn partitions(&self) -> Vec<Block> {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return Vec::new();
        };
        let mut list: Vec<Block> = entries
            .flatten()
            .filter_map(|entry| Block::at(&entry.path()))
            .filter(Block::is_partition)
            .collect();
        list.sort_by_key(|b| b.number);
        list
    }

    /// List devices that are made of it: RAID, LVM, encryption.
    pub fn holders(&self) -> Vec<String> {
        System::at(&self.directory).list("holders")
    }
}

/// Make a machine with disk vdb, 254:16, of 1 MiB with the partitions vdb1 and vdb2, and
/// what `files` adds.
#[cfg(test)]
pub fn example(files: &[(&str, &str)]) -> (tempfile::TempDir, System) {
    let work = tempfile::tempdir().unwrap();
    let vdb = "sys/devices/pci/block/vdb";
    let all = [
        ("dev", "254:16\n"),
        ("size", "2048\n"),
        ("ro", "0\n"),
        ("vdb1/dev", "254:17\n"),
        ("vdb1/partition", "1\n"),
        ("vdb1/size", "1024\n"),
        ("vdb2/dev", "254:18\n"),
        ("vdb2/partition", "2\n"),
        ("queue/logical_block_size", "512\n"),
    ]
    .map(|(path, text)| (format!("{vdb}/{path}"), text));
    let more = files.iter().map(|(path, text)| (path.to_string(), *text));
    for (path, text) in all.into_iter().chain(more) {
        let path = work.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let links = work.path().join("sys/dev/block");
    fs::create_dir_all(&links).unwrap();
    for (number, path) in [
        ("254:16", "vdb"),
        ("254:17", "vdb/vdb1"),
        ("254:18", "vdb/vdb2"),
    ] {
        let target = format!("../../devices/pci/block/{path}");
        std::os::unix::fs::symlink(target, links.join(number)).unwrap();
    }
    let system = System::at(work.path());
    (work, system)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn number(minor: u64) -> Number {
        Number { major: 254, minor }
    }

    #[test]
    fn a_disk_and_its_partitions() {
        let (_work, system) = example(&[("sys/devices/pci/block/vdb/holders/dm-0/x", "")]);
        let disk = system.block(number(16)).unwrap();
        assert_eq!(disk.name(), "vdb");
        assert_eq!(disk.size(), Some(1 << 20));
        assert!(!disk.is_read_only());
        assert_eq!(disk.holders(), ["dm-0"]);
        assert_eq!(disk.whole().number, number(16));
        let names: Vec<String> = disk.partitions().iter().map(Block::name).collect();
        assert_eq!(names, ["vdb1", "vdb2"]);
        let partition = system.block(number(18)).unwrap();
        assert_eq!(partition.whole().number, number(16));
        assert!(partition.partitions().is_empty());
        assert!(system.block(number(99)).is_none());
    }

    #[test]
    fn numbers() {
        assert_eq!(Number::parse("254:16\n"), Some(number(16)));
        assert_eq!(Number::parse("x:1"), None);
        assert_eq!(number(3).to_string(), "254:3");
        assert_eq!(Number::of(nix::sys::stat::makedev(254, 3)), number(3));
    }
}
