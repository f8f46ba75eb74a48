//! Warm partitions: each waits for a container, or a container has it.
//!
//! One that waits is described by a file in `ready`, with its name. Who takes it moves the file
//! to `taken`, under the container's id, which one only can do. What is in neither, or belongs to
//! a container that there is not, is left over by somebody who was killed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use super::bundle::Cpus;
use super::partition;
use super::share::Share;
use crate::error::{Error, IoContext, Result};
use crate::units::cpulist;

/// Below the root of the runtime; no container can be called so.
const DIRECTORY: &str = ".pool";
/// What names begin with; a number follows.
const NAME: &str = "oci-warm-";

/// A partition that is up and listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Of the partition, and of its spare interface on the host.
    pub name: String,
    /// The file, without links.
    pub kernel: PathBuf,
    pub cpus: Vec<u32>,
    /// In bytes.
    pub memory: u64,
    pub cid: u32,
}

impl Slot {
    /// Tell whether it is what somebody wants: that kernel, those CPUs, and memory enough.
    pub fn fits(&self, kernel: &Path, cpus: &Cpus, memory: u64) -> bool {
        let of_cpus = match cpus {
            Cpus::Count(count) => self.cpus.len() as u64 == *count,
            Cpus::These(list) => cpulist::parse(list).is_ok_and(|list| list == self.cpus),
        };
        of_cpus && self.kernel == kernel && self.memory >= memory
    }
}

/// All of them.
#[derive(Debug)]
pub struct Slots {
    root: PathBuf,
    directory: PathBuf,
}

impl Slots {
    /// Name those of a runtime, by its root.
    pub fn of(root: &Path) -> Self {
        Slots {
            root: root.into(),
            directory: root.join(DIRECTORY),
        }
    }

    /// Return where those are that wait.
    pub fn ready_path(&self) -> PathBuf {
        self.directory.join("ready")
    }

    /// Return where those are that containers have.
    pub fn taken_path(&self) -> PathBuf {
        self.directory.join("taken")
    }

    /// Return the directory of one.
    pub fn place(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Be the only one who makes them and takes them away.
    pub fn own(&self) -> Result<Flock<fs::File>> {
        for path in [self.ready_path(), self.taken_path()] {
            fs::create_dir_all(&path).or_fail(format_args!("cannot make {}", path.display()))?;
        }
        let lock = partition::lock(
            &self.directory.join("lock"),
            FlockArg::LockExclusiveNonblock,
        )?;
        lock.ok_or_else(|| {
            Error::new("somebody keeps the pool already")
                .hint("systemctl stop shimos-pool, or end `shimos pool keep`")
        })
    }

    /// List those that wait, by name.
    pub fn ready(&self) -> Vec<Slot> {
        let mut slots: Vec<Slot> = files(&self.ready_path())
            .iter()
            .filter_map(|path| read(path).ok())
            .collect();
        slots.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
        slots
    }

    /// List those that containers have, with the containers' ids.
    pub fn taken(&self) -> Vec<(String, Slot)> {
        let mut taken: Vec<(String, Slot)> = files(&self.taken_path())
            .iter()
            .filter_map(|path| {
                let id = path.file_name()?.to_str()?;
                Some((id.to_string(), read(path).ok()?))
            })
            .collect();
        taken.sort_by(|a, b| a.0.cmp(&b.0));
        taken
    }

    /// Return the one that a container has.
    pub fn taken_by(&self, id: &str) -> Result<Option<Slot>> {
        let path = self.taken_path().join(id);
        match read(&path) {
            Ok(slot) => Ok(Some(slot)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e).or_fail(format_args!("cannot read {}", path.display())),
        }
    }

    /// Give a container the smallest that fits and runs, if there is one.
    pub fn take(&self, id: &str, kernel: &Path, cpus: &Cpus, memory: u64) -> Option<Slot> {
        let kernel = fs::canonicalize(kernel).ok()?;
        let mut fitting = self.ready();
        fitting.retain(|slot| slot.fits(&kernel, cpus, memory) && partition::runs(&slot.name));
        fitting.sort_by_key(|slot| slot.memory);
        fitting
            .into_iter()
            .find(|slot| self.moved(&slot.name, id).is_ok())
    }

    fn moved(&self, name: &str, id: &str) -> std::io::Result<()> {
        fs::rename(self.ready_path().join(name), self.taken_path().join(id))
    }

    /// Begin one: its name, which has a directory now.
    pub fn begin(&self) -> Result<String> {
        for number in 1.. {
            let name = format!("{NAME}{number}");
            match fs::create_dir(self.place(&name)) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                made => {
                    made.or_fail(format_args!("cannot make {}", self.place(&name).display()))?;
                    return Ok(name);
                }
            }
        }
        Err(Error::new("there are too many warm partitions"))
    }

    /// Let whoever wants it have it.
    pub fn offer(&self, slot: &Slot) -> Result<()> {
        let path = self.ready_path().join(&slot.name);
        let new = self.place(&slot.name).join("slot");
        let text = serde_json::to_vec(slot).map_err(|e| Error::new(e.to_string()))?;
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &path))
            .or_fail(format_args!("cannot write {}", path.display()))
    }

    /// Take one away that waits; nothing happens if a container has got it meanwhile.
    pub fn withdraw(&self, slot: &Slot) -> Result<()> {
        // No container's id begins with a dot.
        let nobody = format!(".{}", slot.name);
        match self.moved(&slot.name, &nobody) {
            Ok(()) => self.give_back(&nobody, slot),
            Err(_) => Ok(()),
        }
    }

    /// Take away the one that a container had.
    pub fn give_back(&self, id: &str, slot: &Slot) -> Result<()> {
        self.remove(&slot.name)?;
        let path = self.taken_path().join(id);
        fs::remove_file(&path).or_fail(format_args!("cannot remove {}", path.display()))
    }

    /// Take away a partition and its directory, as far as they are there.
    pub fn remove(&self, name: &str) -> Result<()> {
        partition::remove(name)?;
        let place = self.place(name);
        Share::of(&place).remove()?;
        match fs::remove_dir_all(&place) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.or_fail(format_args!("cannot remove {}", place.display())),
        }
    }

    /// Take away what is left over, and what does not run any more. Only for who owns them.
    pub fn clean(&self) -> Result<()> {
        for slot in self.ready() {
            if !partition::runs(&slot.name) {
                self.withdraw(&slot)?;
            }
        }
        for (id, slot) in self.taken() {
            if id.starts_with('.') || !self.root.join(&id).exists() {
                self.give_back(&id, &slot)?;
            }
        }
        for name in self.left_over() {
            self.remove(&name)?;
        }
        Ok(())
    }

    /// Those that nobody offers and nobody has. Who takes one moves it from what is read first
    /// to what is read last.
    fn left_over(&self) -> Vec<String> {
        let all = files(&self.directory);
        let ready = self.ready();
        let taken = self.taken();
        let known = |name: &str| {
            let mut slots = ready.iter().chain(taken.iter().map(|(_, slot)| slot));
            slots.any(|slot| slot.name == name)
        };
        let names = all.iter().filter_map(|path| path.file_name()?.to_str());
        names
            .filter(|name| name.starts_with(NAME) && !known(name))
            .map(String::from)
            .collect()
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn read(path: &Path) -> std::io::Result<Slot> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(name: &str, cpus: &[u32], memory: u64) -> Slot {
        Slot {
            name: name.into(),
            kernel: "/".into(),
            cpus: cpus.into(),
            memory,
            cid: 3,
        }
    }

    #[test]
    fn what_fits() {
        let slot = slot("a", &[2, 3], 1 << 30);
        let fits = |kernel: &str, cpus, memory| slot.fits(Path::new(kernel), &cpus, memory);
        assert!(fits("/", Cpus::Count(2), 1 << 30));
        assert!(fits("/", Cpus::These("2-3".into()), 1));
        assert!(!fits("/", Cpus::Count(1), 1));
        assert!(!fits("/", Cpus::These("2".into()), 1));
        assert!(!fits("/", Cpus::Count(2), (1 << 30) + 1));
        assert!(!fits("/boot", Cpus::Count(2), 1));
    }

    #[test]
    fn offered_and_taken_once() {
        let work = tempfile::tempdir().unwrap();
        let slots = Slots::of(work.path());
        let _own = slots.own().unwrap();
        assert!(slots.own().is_err(), "one at a time");
        let (first, second) = (slots.begin().unwrap(), slots.begin().unwrap());
        assert_eq!((&*first, &*second), ("oci-warm-1", "oci-warm-2"));
        let made = slot(&first, &[1], 1);
        slots.offer(&made).unwrap();
        assert_eq!(slots.ready(), [made.clone()]);
        assert_eq!(slots.left_over(), [second]);
        // It does not run.
        assert_eq!(slots.take("c", Path::new("/"), &Cpus::Count(1), 1), None);
        slots.moved(&first, "c").unwrap();
        assert!(slots.moved(&first, "d").is_err());
        assert_eq!(slots.taken_by("c"), Ok(Some(made.clone())));
        assert_eq!(slots.taken_by("d"), Ok(None));
        assert_eq!(slots.taken(), [("c".into(), made)]);
        assert!(slots.ready().is_empty());
    }
}
