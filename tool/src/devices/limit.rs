//! Limits for a disk's user, set by the owner's own tool: cgroup v2, io.max. The
//! back end does a device's work in kernel threads "shm-<id>/<queue>", which go
//! into a group of their own.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;

use super::spec::Limit;
use crate::error::{Error, IoContext, Result, io_text};
use crate::system::{Number, System};

const CGROUPS: &str = "sys/fs/cgroup";
const OURS: &str = "sys/fs/cgroup/shimos";
/// kthreadd
const PARENT: u32 = 2;
/// A new thread cannot be moved before it has run for the first time.
const PATIENCE: Duration = Duration::from_secs(1);

/// Check that there can be limits at all.
pub fn check(system: &System) -> Result<()> {
    let Some(controllers) = system.read(format!("{CGROUPS}/cgroup.controllers")) else {
        return Err(Error::new(
            "iops= and bw= need cgroup v2, and it is not mounted on /sys/fs/cgroup",
        )
        .hint("mount -t cgroup2 none /sys/fs/cgroup, or with systemd: boot with systemd.unified_cgroup_hierarchy=1"));
    };
    match controllers.split_whitespace().any(|c| c == "io") {
        true => Ok(()),
        false => Err(
            Error::new("iops= and bw= need the io controller of cgroup v2, and there is none")
                .hint("if cgroup v1 has it: unmount blkio there; else use a kernel with CONFIG_BLK_DEV_THROTTLING"),
        ),
    }
}

/// Put the threads of device `id` into a group that may do no more than `limit`
/// with the block device.
pub fn apply(
    system: &System,
    user: &str,
    id: u32,
    queues: u32,
    number: Number,
    limit: Limit,
) -> Result<()> {
    let group = group(user, id);
    // One of an earlier life of the module.
    let _ = fs::remove_dir(system.path(&group));
    fs::create_dir_all(system.path(&group)).or_fail(format_args!("cannot create /{group}"))?;
    write(system, &format!("{CGROUPS}/cgroup.subtree_control"), "+io")?;
    write(system, &format!("{OURS}/cgroup.subtree_control"), "+io")?;
    // The kernel counts what goes to a partition at the whole disk.
    let number = system.block(number).map_or(number, |b| b.whole().number);
    write(system, &format!("{group}/io.max"), &line(number, limit))?;
    let threads = threads(system, id);
    if threads.is_empty() || threads.len() < queues as usize {
        return Err(Error::new(format!(
            "only {} of its {queues} threads were found, so it cannot be limited",
            threads.len()
        ))
        .hint("install tool and modules of the same version"));
    }
    for thread in threads {
        move_thread(system, &group, thread)?;
    }
    Ok(())
}

fn group(user: &str, id: u32) -> String {
    format!("{OURS}/{user}-{id}")
}

fn line(number: Number, limit: Limit) -> String {
    let mut line = number.to_string();
    if let Some(n) = limit.iops {
        line.push_str(&format!(" riops={n} wiops={n}"));
    }
    if let Some(n) = limit.bytes {
        line.push_str(&format!(" rbps={n} wbps={n}"));
    }
    line
}

fn put(path: &PathBuf, text: &str) -> io::Result<()> {
    // A write that is appended is an ordinary one in a cgroup.
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    // In one piece: the kernel takes each write for a whole line.
    file.write_all(format!("{text}\n").as_bytes())
}

fn write(system: &System, path: &str, text: &str) -> Result<()> {
    put(&system.path(path), text).or_fail(format_args!("cannot write '{text}' to /{path}"))
}

fn move_thread(system: &System, group: &str, thread: u32) -> Result<()> {
    let path = format!("{group}/cgroup.procs");
    let end = Instant::now() + PATIENCE;
    loop {
        match put(&system.path(&path), &thread.to_string()) {
            Ok(()) => return Ok(()),
            Err(e) if e.raw_os_error() == Some(Errno::EINVAL as i32) && Instant::now() < end => {
                thread::sleep(Duration::from_millis(10));
            }
            Err(e) => {
                return Err(Error::new(format!(
                    "cannot move thread {thread} into /{group}: {}",
                    io_text(&e)
                )));
            }
        }
    }
}

/// The kernel threads that serve device `id`.
fn threads(system: &System, id: u32) -> Vec<u32> {
    let prefix = format!("shm-{id}/");
    let is_its = |pid: &u32| {
        let name = system.read(format!("proc/{pid}/comm")).unwrap_or_default();
        name.starts_with(&prefix) && is_kernel_thread(system, *pid)
    };
    let names = system.list("proc");
    names
        .iter()
        .filter_map(|name| name.parse().ok())
        .filter(is_its)
        .collect()
}

/// Any program can call itself what it likes.
fn is_kernel_thread(system: &System, pid: u32) -> bool {
    let stat = system.read(format!("proc/{pid}/stat")).unwrap_or_default();
    // "7 (name) S 2 …"; the name may have parentheses of its own.
    let parent = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
    parent == Some(PARENT)
}

/// Remove the groups of devices that are no more.
pub fn sweep(system: &System, alive: impl Fn(u32) -> bool) {
    for name in system.list(OURS) {
        let id = name.rsplit_once('-').and_then(|(_, id)| id.parse().ok());
        if id.is_some_and(|id| !alive(id)) {
            // Threads that are still ending keep it: the next one will do it.
            let _ = fs::remove_dir(system.path(OURS).join(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system;

    const LIMIT: Limit = Limit {
        iops: Some(100),
        bytes: Some(1 << 20),
    };
    const VDB1: Number = Number {
        major: 254,
        minor: 17,
    };

    const THREADS: &[(&str, &str)] = &[
        ("proc/101/comm", "shm-3/0\n"),
        ("proc/101/stat", "101 (shm-3/0) S 2 0 0\n"),
        ("proc/102/comm", "shm-3/1\n"),
        ("proc/102/stat", "102 (shm-3/1) S 2 0 0\n"),
        ("proc/103/comm", "shm-31/0\n"),
        ("proc/103/stat", "103 (shm-31/0) S 2 0 0\n"),
        ("proc/104/comm", "shm-3/2\n"),
        ("proc/104/stat", "104 (shm-3/2) S 1 0 0\n"),
        ("proc/self/comm", "shm-3/9\n"),
    ];

    #[test]
    fn threads_go_into_a_group() {
        let (_work, system) = system::example(THREADS);
        fs::create_dir_all(system.path(CGROUPS)).unwrap();
        apply(&system, "web", 3, 2, VDB1, LIMIT).unwrap();
        let read = |path: &str| system.read(format!("{CGROUPS}/{path}")).unwrap();
        assert_eq!(read("cgroup.subtree_control"), "+io");
        assert_eq!(read("shimos/cgroup.subtree_control"), "+io");
        assert_eq!(
            read("shimos/web-3/io.max"),
            "254:16 riops=100 wiops=100 rbps=1048576 wbps=1048576"
        );
        assert_eq!(read("shimos/web-3/cgroup.procs"), "101\n102");
    }

    #[test]
    fn missing_threads() {
        let (_work, system) = system::example(THREADS);
        fs::create_dir_all(system.path(CGROUPS)).unwrap();
        let error = apply(&system, "web", 3, 3, VDB1, LIMIT).unwrap_err();
        assert!(error.to_string().contains("only 2 of its 3 threads"));
        assert!(apply(&system, "web", 4, 0, VDB1, LIMIT).is_err());
    }

    #[test]
    fn one_limit() {
        let iops = Limit {
            iops: Some(5),
            bytes: None,
        };
        assert_eq!(line(VDB1, iops), "254:17 riops=5 wiops=5");
        let bytes = Limit {
            iops: None,
            bytes: Some(9),
        };
        assert_eq!(line(VDB1, bytes), "254:17 rbps=9 wbps=9");
    }

    #[test]
    fn what_is_needed() {
        let (_work, system) = system::example(&[]);
        assert!(
            check(&system)
                .unwrap_err()
                .to_string()
                .contains("cgroup v2")
        );
        let controllers = "sys/fs/cgroup/cgroup.controllers";
        let (_work, system) = system::example(&[(controllers, "cpu memory\n")]);
        let error = check(&system).unwrap_err();
        assert!(error.to_string().contains("io controller"));
        let (_work, system) = system::example(&[(controllers, "cpu io memory\n")]);
        assert_eq!(check(&system), Ok(()));
    }

    #[test]
    fn groups_of_the_dead_go() {
        let (_work, system) = system::example(&[(&format!("{OURS}/cgroup.procs"), "")]);
        for name in ["web-3", "a-b-4"] {
            fs::create_dir_all(system.path(OURS).join(name)).unwrap();
        }
        sweep(&system, |id| id == 4);
        assert_eq!(system.list(OURS), ["a-b-4", "cgroup.procs"]);
    }
}
