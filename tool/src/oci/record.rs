//! What this runtime remembers of a container: a directory below its root, which is in memory.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{MEMBERS, SHARE};
use crate::error::{Error, IoContext, Result};

/// Where containers are remembered, unless told.
pub const ROOT: &str = "/run/shimos-oci";
/// Below the root: the host's crun.
const CRUN: &str = ".crun";
const FILE: &str = "container.json";

/// A container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub id: String,
    pub bundle: PathBuf,
    /// The bundle's description.
    #[serde(default)]
    pub config: PathBuf,
    /// The name of its partition.
    pub partition: String,
    /// The address of its partition's vsock; 0: it has none yet.
    pub cid: u32,
    pub paused: bool,
    /// The interface on the host that is there for a network which comes late.
    #[serde(default)]
    pub spare: Option<String>,
    /// The container whose partition it is, if it is not its own.
    pub leader: Option<String>,
    #[serde(skip)]
    root: PathBuf,
}

impl Record {
    /// Begin a record; nobody else can have the same id after that.
    pub fn begin(root: &Path, id: &str, bundle: &Path) -> Result<Self> {
        check_id(id)?;
        let record = Self::begun(root, id, bundle);
        fs::create_dir_all(root).or_fail(format_args!("cannot make {}", root.display()))?;
        let directory = record.directory();
        match fs::create_dir(&directory) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                Err(Error::new(format!("a container '{id}' exists already"))
                    .hint(format!("shimos-oci delete {id}")))
            }
            result => result.or_fail(format_args!("cannot make {}", directory.display())),
        }?;
        record.save()?;
        Ok(record)
    }

    /// Read the record of a container; of one whose maker was killed before it could write any, as
    /// much as that knew.
    pub fn find(root: &Path, id: &str) -> Result<Self> {
        check_id(id)?;
        let path = root.join(id).join(FILE);
        let text = match fs::read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound && root.join(id).is_dir() => {
                return Ok(Self::begun(root, id, Path::new("")));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(Error::new(format!("there is no container '{id}'"))
                    .hint("`shimos-oci list` shows all"));
            }
            result => result.or_fail(format_args!("cannot read {}", path.display()))?,
        };
        let record: Record = serde_json::from_slice(&text)
            .map_err(|e| Error::new(format!("{} is damaged: {e}", path.display())))?;
        Ok(Record {
            root: root.into(),
            ..record
        })
    }

    fn begun(root: &Path, id: &str, bundle: &Path) -> Self {
        Record {
            id: id.into(),
            bundle: bundle.into(),
            config: PathBuf::new(),
            partition: partition_name(id),
            cid: 0,
            paused: false,
            spare: None,
            leader: None,
            root: root.into(),
        }
    }

    /// List all, by their ids.
    pub fn all(root: &Path) -> Vec<Self> {
        let names = fs::read_dir(root).into_iter().flatten().flatten();
        let mut all: Vec<Self> = names
            .filter_map(|entry| Self::find(root, entry.file_name().to_str()?).ok())
            .collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }

    /// Write it; whoever reads sees the old one or the new one.
    pub fn save(&self) -> Result<()> {
        let path = self.directory().join(FILE);
        let new = path.with_extension("new");
        let text = serde_json::to_vec(self).map_err(|e| Error::new(e.to_string()))?;
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &path))
            .or_fail(format_args!("cannot write {}", path.display()))
    }

    /// Forget it.
    pub fn remove(&self) -> Result<()> {
        let directory = self.directory();
        fs::remove_dir_all(&directory)
            .or_fail(format_args!("cannot remove {}", directory.display()))
    }

    /// Return its own directory.
    pub fn directory(&self) -> PathBuf {
        self.root.join(&self.id)
    }

    /// Return where the partition has its part of the share.
    pub fn place_there(&self) -> String {
        match self.leader {
            Some(_) => format!("{SHARE}/{MEMBERS}/{}", self.id),
            None => SHARE.into(),
        }
    }

    /// Return where the host's crun remembers its containers.
    pub fn crun_root(&self) -> PathBuf {
        self.root.join(CRUN)
    }
}

/// Return where the small roots of partitions are kept.
pub fn initrds_path(root: &Path) -> PathBuf {
    root.join(".initrd")
}

/// Return what is held by one at a time that takes CPUs and memory.
pub fn lock_path(root: &Path) -> PathBuf {
    root.join(".lock")
}

fn check_id(id: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_+-.".contains(c);
    let why = match id.chars().find(|c| !fits(*c)) {
        // As crun says it.
        Some(c) => format!("invalid character `{c}` in the ID: "),
        None if id.is_empty() || id.starts_with('.') || id.len() > 255 => String::new(),
        None => return Ok(()),
    };
    let shown = crate::ui::output::printable(id);
    let why = crate::ui::output::printable(&why);
    Err(Error::new(format!(
        "{why}'{shown}' is no id of a container: up to 255 letters, digits, '_', '+', '-' and '.', which does not begin it"
    )))
}

/// Ids are longer than names, and their beginnings differ enough.
fn partition_name(id: &str) -> String {
    const LENGTH: usize = 24;
    let name: String = id.chars().take(LENGTH).collect();
    format!("oci-{}", name.replace('+', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begun_saved_and_removed() {
        let work = tempfile::tempdir().unwrap();
        let mut record = Record::begin(work.path(), "a+b", Path::new("/bundle")).unwrap();
        assert_eq!(record.partition, "oci-a_b");
        assert_eq!(record.place_there(), "/share");
        crate::units::name::check(&record.partition).unwrap();
        let again = Record::begin(work.path(), "a+b", Path::new("/x")).unwrap_err();
        assert_eq!(again.to_string(), "a container 'a+b' exists already");
        record.cid = 7;
        record.save().unwrap();
        fs::create_dir(record.crun_root()).unwrap();
        assert_eq!(Record::all(work.path()), [record.clone()]);
        fs::remove_file(record.directory().join(FILE)).unwrap();
        let half = Record::find(work.path(), "a+b").unwrap();
        assert_eq!((&*half.partition, half.cid), ("oci-a_b", 0));
        record.remove().unwrap();
        let gone = Record::find(work.path(), "a+b").unwrap_err();
        assert_eq!(gone.to_string(), "there is no container 'a+b'");
    }

    #[test]
    fn ids() {
        for bad in ["", ".", "..", "a/b", "a b", "\u{e9}", &"x".repeat(256)] {
            assert!(
                Record::find(Path::new("/nonexistent"), bad)
                    .unwrap_err()
                    .to_string()
                    .contains("no id"),
                "{bad}"
            );
        }
        let name = partition_name(&"f".repeat(64));
        crate::units::name::check(&name).unwrap();
    }
}
