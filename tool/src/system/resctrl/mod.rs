//! Shares of L3 caches and of memory bandwidth, by groups of resctrl
//! (Documentation/arch/x86/resctrl.rst).
//!
//! A partition's CPUs come into a group of its own while they are the host's. KLoader keeps
//! the group's number in them; the host forgets it when they go offline.

mod bits;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MsFlags, mount};

use super::{System, numbers};
use crate::error::{Error, IoContext, Result};
use bits::Cache;

const TOP: &str = "sys/fs/resctrl";
/// What the names of our groups begin with.
const OURS: &str = "shimos-";

/// How much a partition shall have, in percent; `None`: what the host has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub l3: Option<u32>,
    pub mb: Option<u32>,
}

/// How a line is written to a file: `fs::write()` but in tests.
type Write = fn(&Path, &str) -> io::Result<()>;

/// The groups, which nobody else changes meanwhile.
///
/// A group of ours has a part of an L3 cache, which is in no other group, or follows the host: it
/// has what the host's own group has.
pub struct Groups {
    system: System,
    write: Write,
    /// That other programs leave the groups alone, as the document asks for.
    _lock: Option<Flock<File>>,
}

/// A partition's group, which goes with this unless it is kept.
pub struct Group<'a> {
    groups: &'a Groups,
    name: &'a str,
    kept: bool,
}

impl Group<'_> {
    /// Leave it there.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.groups.remove(self.name);
        }
    }
}

impl Groups {
    /// Return the machine's groups; mounts resctrl if nobody has. An error if the machine has not
    /// what `share` asks for.
    pub fn open(system: &System, share: Share) -> Result<Self> {
        let option = match share.l3 {
            Some(_) => "--l3",
            None => "--mb",
        };
        let known = system.read("proc/filesystems").unwrap_or_default();
        if !known.lines().any(|line| line.ends_with("\tresctrl")) {
            return Err(Error::new(format!(
                "{option}: this machine cannot share that out: its processor, or the Linux on it, has no resctrl"
            ))
            .hint(format!("leave {option} out")));
        }
        let top = system.path(TOP);
        if !top.join("schemata").exists() {
            let none = None::<&str>;
            mount(
                Some("resctrl"),
                &top,
                Some("resctrl"),
                MsFlags::empty(),
                none,
            )
            .or_fail(format_args!("cannot mount resctrl on {}", top.display()))?;
        }
        let groups = Self::locked(system)?;
        groups.check(share)?;
        Ok(groups)
    }

    /// Return them if there are any to look after.
    pub fn open_if_there(system: &System) -> Option<Self> {
        let there = system.path(TOP).join("schemata").exists();
        there.then(|| Self::locked(system).ok()).flatten()
    }

    fn locked(system: &System) -> Result<Self> {
        let top = system.path(TOP);
        let what = format!("cannot lock {}", top.display());
        let file = File::open(&top).or_fail(&what)?;
        let lock = Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| errno);
        Ok(Groups {
            system: system.clone(),
            write: |file, line| fs::write(file, line),
            _lock: Some(lock.or_fail(&what)?),
        })
    }

    /// Refuse what the machine has not, or counts in another way.
    fn check(&self, share: Share) -> Result<()> {
        let host = self.schemata("");
        if share.l3.is_some() && !host.contains_key("L3") {
            let (why, hint) = match host.contains_key("L3CODE") {
                true => (
                    "it is shared out by code and data just now",
                    "mount resctrl without its option cdp",
                ),
                false => ("its processor cannot", "leave --l3 out"),
            };
            let what = "--l3: this machine's L3 caches cannot be shared out";
            return Err(Error::new(format!("{what}: {why}")).hint(hint));
        }
        let Some(percent) = share.mb else {
            return Ok(());
        };
        let Some(bandwidth) = host.get("MB") else {
            return Err(Error::new(
                "--mb: this machine's memory bandwidth cannot be shared out: its processor cannot",
            )
            .hint("leave --mb out"));
        };
        if bandwidth.values().any(|most| *most > 100) {
            return Err(Error::new(
                "--mb: this machine does not count memory bandwidth in percent, as AMD's do not, nor a resctrl with its option mba_MBps",
            )
            .hint(format!("leave --mb out, and see /{TOP}/schemata")));
        }
        let least = self.info("MB/min_bandwidth", 10).unwrap_or(1);
        if u64::from(percent) < least {
            return Err(Error::new(format!(
                "--mb {percent}%: this machine leaves a CPU {least} % at least"
            )));
        }
        Ok(())
    }

    /// Make the group of partition `name` for these CPUs of the host's.
    pub fn make<'a>(&'a self, name: &'a str, cpus: &[u32], share: Share) -> Result<Group<'a>> {
        self.remove(name);
        let online = numbers(&self.system.path(""), "sys/devices/system/cpu/online");
        // Those that are not are KLoader's to refuse.
        let cpus: Vec<u32> = cpus
            .iter()
            .copied()
            .filter(|c| online.contains(c))
            .collect();
        let directory = self.directory(name);
        fs::create_dir(&directory).map_err(|e| self.failed("make a group of resctrl", &e))?;
        let group = Group {
            groups: self,
            name,
            kept: false,
        };
        for (id, cache) in self.caches() {
            self.set(&group_name(name), "L3", id, &format!("{:x}", cache.host))?;
        }
        for id in self.domains(&cpus)? {
            if let Some(percent) = share.l3 {
                self.give(name, id, percent)?;
            }
            if let Some(percent) = share.mb {
                self.set(&group_name(name), "MB", id, &percent.to_string())?;
            }
        }
        let list: Vec<String> = cpus.iter().map(u32::to_string).collect();
        self.write(&directory.join("cpus_list"), &list.join(","))?;
        Ok(group)
    }

    /// Put one more CPU of the host's into the group of partition `name`, if it has one.
    pub fn add(&self, name: &str, cpu: u32) -> Result<()> {
        let group = self.schemata(&group_name(name));
        if group.is_empty() {
            return Ok(());
        }
        let host = self.schemata("");
        let of = |all: &Schemata, what: &str, id: &u32| all.get(what)?.get(id).copied();
        let given = |id: &u32| {
            let limited = of(&group, "MB", id) != of(&host, "MB", id);
            limited || !follows(of(&group, "L3", id), of(&host, "L3", id))
        };
        if !self.domains(&[cpu])?.iter().all(given) {
            return Err(Error::new(format!(
                "CPU {cpu} is at another L3 cache than those of '{name}', which has a share of theirs"
            ))
            .hint("take one that is at the same"));
        }
        let list = self.directory(name).join("cpus_list");
        self.write(&list, &cpu.to_string())
    }

    /// Take such a CPU out again, before it has gone offline.
    pub fn take_back(&self, name: &str) {
        let list = self.directory(name).join("cpus_list");
        if list.exists() {
            // What is in no group is the host's own.
            let _ = (self.write)(&list, "\n");
        }
    }

    /// Remove the group of partition `name`, if it has one: its cache is the host's again.
    pub fn remove(&self, name: &str) {
        let directory = self.directory(name);
        if !directory.exists() {
            return;
        }
        let before = self.caches();
        // A file that a test has in it is none of resctrl's: there they go with their directory.
        let _ = fs::remove_dir(&directory).or_else(|_| fs::remove_dir_all(&directory));
        for (id, cache) in self.caches() {
            let was = before.get(&id).copied().unwrap_or(cache);
            // Otherwise somebody else has chosen what the host has.
            if was.host == was.rest() && cache.host != cache.rest() {
                let _ = self.set_host(id, cache.host, cache.rest());
            }
        }
    }

    /// Remove groups of partitions that are not among `there`.
    pub fn sweep(&self, there: &[&str]) {
        for group in self.system.list(TOP) {
            match group.strip_prefix(OURS) {
                Some(name) if !there.contains(&name) => self.remove(name),
                _ => {}
            }
        }
    }

    /// Return the lines that say what partition `name` may have; none: it has no group.
    pub fn shown(system: &System, name: &str) -> Vec<String> {
        let text = system.read(format!("{TOP}/{}/schemata", group_name(name)));
        let lines = text.as_deref().unwrap_or_default().lines();
        lines.map(|line| line.trim().to_string()).collect()
    }

    /// Give the group its part of an L3 cache, which the host's own group then has no more.
    fn give(&self, name: &str, id: u32, percent: u32) -> Result<()> {
        // A new group begins with what nobody has.
        let mut caches = self.caches_but(&group_name(name));
        let Some(cache) = caches.remove(&id) else {
            return Err(Error::new(format!(
                "the machine's resctrl has no L3 cache {id}"
            )));
        };
        if cache.host != cache.rest() {
            return Err(Error::new(format!(
                "--l3: of L3 cache {id} the host itself has {:x}, and {:x} is what nobody else has: somebody has set it",
                cache.host,
                cache.rest()
            ))
            .hint(format!(
                "give the host the rest: echo 'L3:{id}={:x}' >/{TOP}/schemata",
                cache.rest()
            )));
        }
        let mask = cache.place(percent).map_err(|most| {
            Error::new(format!(
                "--l3 {percent}%: of L3 cache {id} {most} % can be had in one piece, and the host keeps some"
            ))
            .hint(format!("groups in /{TOP} have the rest"))
        })?;
        let host = Cache {
            others: cache.others | mask,
            ..cache
        };
        self.set_host(id, cache.host, host.rest())?;
        self.set(&group_name(name), "L3", id, &format!("{mask:x}"))
    }

    /// Change what the host's own group has, and all that follow it.
    fn set_host(&self, id: u32, was: u64, mask: u64) -> Result<()> {
        let value = format!("{mask:x}");
        self.set("", "L3", id, &value)?;
        for group in self.system.list(TOP) {
            let its = self.schemata(&group).remove("L3");
            let its = its.and_then(|l3| l3.get(&id).copied());
            if group.starts_with(OURS) && its.is_some() && follows(its, Some(was)) {
                self.set(&group, "L3", id, &value)?;
            }
        }
        Ok(())
    }

    /// The ids of the L3 caches of these CPUs, by which memory bandwidth goes, too.
    fn domains(&self, cpus: &[u32]) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        for cpu in cpus {
            let caches = format!("sys/devices/system/cpu/cpu{cpu}/cache");
            let read =
                |cache: &str, what: &str| self.system.read(format!("{caches}/{cache}/{what}"));
            let list = self.system.list(&caches);
            let third = list
                .iter()
                .find(|c| read(c, "level").as_deref() == Some("3"));
            let id = third.and_then(|cache| read(cache, "id")?.parse().ok());
            let id = id.ok_or_else(|| Error::new(format!("CPU {cpu} has no L3 cache")))?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    fn caches(&self) -> BTreeMap<u32, Cache> {
        self.caches_but("")
    }

    /// All L3 caches, without what this group has.
    fn caches_but(&self, without: &str) -> BTreeMap<u32, Cache> {
        let all = self.info("L3/cbm_mask", 16).unwrap_or_default();
        let least = self.info("L3/min_cbm_bits", 10).unwrap_or(1);
        let names = self.system.list(TOP);
        let others: Vec<_> = names
            .iter()
            .filter(|name| *name != without && *name != "info")
            .map(|name| (name.starts_with(OURS), self.schemata(name)))
            .collect();
        let host = self.schemata("").remove("L3").unwrap_or_default();
        let cache = |(id, host)| {
            let of = |(ours, group): &(bool, Schemata)| {
                let mask = group.get("L3").and_then(|l3| l3.get(&id).copied());
                mask.filter(|_| !ours || !follows(mask, Some(host)))
            };
            let cache = Cache {
                all,
                least: u32::try_from(least).unwrap_or(1),
                host,
                others: others.iter().filter_map(of).fold(0, |all, mask| all | mask),
            };
            (id, cache)
        };
        host.into_iter().map(cache).collect()
    }

    /// What a group may have; of the host's own the name is empty.
    fn schemata(&self, group: &str) -> Schemata {
        let text = self.system.read(format!("{TOP}/{group}/schemata"));
        parsed(&text.unwrap_or_default())
    }

    fn info(&self, path: &str, radix: u32) -> Option<u64> {
        let text = self.system.read(format!("{TOP}/info/{path}"))?;
        u64::from_str_radix(&text, radix).ok()
    }

    fn set(&self, group: &str, what: &str, id: u32, value: &str) -> Result<()> {
        let file = self.system.path(TOP).join(group).join("schemata");
        self.write(&file, &format!("{what}:{id}={value}"))
    }

    fn write(&self, file: &Path, line: &str) -> Result<()> {
        (self.write)(file, &format!("{line}\n"))
            .map_err(|e| self.failed(&format!("write {line} to {}", file.display()), &e))
    }

    /// What went wrong, in the kernel's words if it has any.
    fn failed(&self, what: &str, error: &std::io::Error) -> Error {
        let said = self.system.read(format!("{TOP}/info/last_cmd_status"));
        let why = match said {
            Some(text) if !text.is_empty() && text != "ok" => text,
            _ => error.to_string(),
        };
        Error::new(format!("cannot {what}: {why}"))
    }

    fn directory(&self, name: &str) -> PathBuf {
        self.system.path(TOP).join(group_name(name))
    }
}

/// Tell whether a group of ours has no part of its own of a cache: what it has is the host's, too.
fn follows(its: Option<u64>, hosts: Option<u64>) -> bool {
    its.zip(hosts).is_none_or(|(its, hosts)| its & hosts != 0)
}

fn group_name(partition: &str) -> String {
    format!("{OURS}{partition}")
}

/// By resource and domain: `L3:0=7ff;1=7ff` in hexadecimal, `MB:0=100` in decimal.
type Schemata = BTreeMap<String, BTreeMap<u32, u64>>;

fn parsed(text: &str) -> Schemata {
    let mut all = Schemata::new();
    for line in text.lines() {
        let Some((what, values)) = line.trim().split_once(':') else {
            continue;
        };
        let radix = if what == "MB" { 10 } else { 16 };
        let value = |pair: &str| {
            let (id, value) = pair.split_once('=')?;
            let value = u64::from_str_radix(value.trim(), radix).ok()?;
            Some((id.trim().parse().ok()?, value))
        };
        let values = values.split(';').filter_map(value).collect();
        all.insert(what.to_string(), values);
    }
    all
}

#[cfg(test)]
mod tests;
