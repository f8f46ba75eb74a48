//! A container as its bundle's `config.json` has it: what of that can be had, and how much of
//! the machine it takes (OCI runtime specification, config.md and config-linux.md).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::{Error, IoContext, Result};
use crate::exec::USUAL_SIZE;

/// A bundle's description, unless told.
pub const CONFIG: &str = "config.json";
/// What a kernel and its small root take beside the container's own memory.
const OVERHEAD: u64 = 256 << 20;
/// For a container without a limit.
pub const MEMORY: u64 = 512 << 20;
/// What annotations of ours begin with.
const ANNOTATIONS: &str = "org.shimos.";
/// Whoever has one of these has the machine: the partition's kernel is not kept from it.
const REFUSED: [&str; 3] = ["CAP_SYS_BOOT", "CAP_SYS_MODULE", "CAP_SYS_RAWIO"];

/// null, zero, full, random, urandom, tty, and fuse, which brings the container's files: major and minor.
const OF_EVERY_KERNEL: [(u64, u64); 7] =
    [(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (10, 229)];

/// Which CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// These and no others.
    These(String),
    Count(u64),
}

/// A directory or a file of the host's, for the container.
#[derive(Debug, PartialEq, Eq)]
pub struct Bind {
    /// Of the list of mounts.
    pub index: usize,
    pub source: PathBuf,
    pub recursive: bool,
}

/// A bundle that can be run.
#[derive(Debug)]
pub struct Bundle {
    pub directory: PathBuf,
    /// Where its description was.
    pub file: PathBuf,
    pub config: Value,
    pub root: PathBuf,
}

impl Bundle {
    /// Read a bundle, described by a file in it, and refuse what cannot be had.
    pub fn read(directory: &Path, file: &Path) -> Result<Self> {
        let directory = fs::canonicalize(directory).or_fail(format_args!(
            "cannot use the bundle '{}'",
            directory.display()
        ))?;
        let file = directory.join(file);
        let config = json(&file)?;
        Self::of(directory, file.clone(), config).map_err(|e| e.context(file.display()))
    }

    fn of(directory: PathBuf, file: PathBuf, config: Value) -> Result<Self> {
        check(&config)?;
        let root = text(&config, "/root/path")
            .ok_or_else(|| Error::new("'root.path' is missing: the container's root"))?;
        let root = directory.join(root);
        // What a link leads to can change until it is mounted.
        match fs::symlink_metadata(&root) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let why = format!("root.path: '{}' is not a directory", root.display());
                return Err(Error::new(why));
            }
            Err(e) => {
                return Err(e).or_fail(format_args!("root.path: cannot use '{}'", root.display()));
            }
        }
        Ok(Bundle {
            directory,
            file,
            config,
            root,
        })
    }

    /// Tell whether its program has a terminal.
    pub fn terminal(&self) -> bool {
        flag(&self.config, "/process/terminal")
    }

    /// Return rows and columns of its terminal, as far as they are known.
    pub fn size(&self) -> (u16, u16) {
        let side = |name: &str, usual| {
            let side = self.config.pointer("/process/consoleSize");
            let side = side.and_then(|size| size.get(name)?.as_u64());
            side.and_then(|n| u16::try_from(n).ok())
                .filter(|n| *n > 0)
                .unwrap_or(usual)
        };
        (side("height", USUAL_SIZE.0), side("width", USUAL_SIZE.1))
    }

    /// Return which CPUs it takes.
    pub fn cpus(&self) -> Result<Cpus> {
        if let Some(count) = self.annotation("cpus") {
            return match count.parse() {
                Ok(count @ 1..) => Ok(Cpus::Count(count)),
                _ => Err(Error::new(format!(
                    "{ANNOTATIONS}cpus={count}: that is no number of CPUs"
                ))),
            };
        }
        let cpu = self.config.pointer("/linux/resources/cpu");
        let number = |name| cpu.and_then(|cpu| cpu.get(name)?.as_i64());
        if let Some(list) = cpu
            .and_then(|cpu| cpu.get("cpus")?.as_str())
            .filter(|l| !l.is_empty())
        {
            return Ok(Cpus::These(list.into()));
        }
        // A part of a core is a whole one: it is nobody else's.
        let whole = match (number("quota"), number("period")) {
            (Some(quota @ 1..), Some(period @ 1..)) => (quota as u64).div_ceil(period as u64),
            (Some(quota @ 1..), None) => (quota as u64).div_ceil(100_000),
            _ => 1,
        };
        Ok(Cpus::Count(whole))
    }

    /// Return the bytes that its partition takes.
    pub fn memory(&self) -> Result<u64> {
        if let Some(size) = self.annotation("memory") {
            return crate::units::size::parse(size)
                .map_err(|why| Error::new(format!("{ANNOTATIONS}memory={size}: {why}")));
        }
        let limit = self.config.pointer("/linux/resources/memory/limit");
        Ok(match limit.and_then(Value::as_i64) {
            Some(limit @ 1..) => (limit as u64).saturating_add(OVERHEAD),
            _ => MEMORY,
        })
    }

    /// Return its kernel, if it is to have another one than the host: a file, or a version.
    pub fn kernel(&self) -> Option<PathBuf> {
        self.annotation("kernel").map(kernel_file)
    }

    /// Return its network namespace, if it is one that others have prepared.
    pub fn network(&self) -> Option<PathBuf> {
        Some(self.namespace("network")?.get("path")?.as_str()?.into())
    }

    /// Tell whether its network may be set up between `create` and `start`: by a hook, as docker's,
    /// or by podman for a container with users of its own.
    pub fn has_late_network(&self) -> bool {
        let hook = |name: &&str| {
            let hooks = self.config.pointer(&format!("/hooks/{name}"));
            !list(hooks).is_empty()
        };
        self.network().is_none()
            && (["prestart", "createRuntime"].iter().any(hook) || self.namespace("user").is_some())
    }

    fn namespace(&self, kind: &str) -> Option<&Value> {
        namespace(list(self.config.pointer("/linux/namespaces")), kind)
    }

    fn annotation(&self, name: &str) -> Option<&str> {
        let key = format!("{ANNOTATIONS}{name}");
        self.config.get("annotations")?.get(&key)?.as_str()
    }

    /// List what is bound from the host.
    pub fn binds(&self) -> Vec<Bind> {
        let all = mounts(&self.config).iter().enumerate();
        all.filter_map(|(index, mount)| {
            let options = words(mount.get("options"));
            let source = mount.get("source")?.as_str()?;
            is_bind(mount).then(|| Bind {
                index,
                source: self.directory.join(source),
                recursive: options.contains(&"rbind"),
            })
        })
        .collect()
    }
}

/// Return the file of a kernel that is named by it, or by its version.
pub fn kernel_file(kernel: &str) -> PathBuf {
    match kernel.starts_with('/') {
        true => kernel.into(),
        false => format!("/boot/vmlinuz-{kernel}").into(),
    }
}

/// Read a file of JSON.
pub fn json(path: &Path) -> Result<Value> {
    let shown = path.display();
    let text = fs::read(path).or_fail(format_args!("cannot read {shown}"))?;
    serde_json::from_slice(&text).map_err(|e| Error::new(format!("{shown} is no JSON: {e}")))
}

/// Return the list of mounts.
pub fn mounts(config: &Value) -> &[Value] {
    list(config.get("mounts"))
}

/// Tell whether a mount brings something from the host. Memory that several processes share
/// cannot come from another kernel: /dev/shm is the partition's own.
pub fn is_bind(mount: &Value) -> bool {
    let options = words(mount.get("options"));
    let bind = options.contains(&"bind") || options.contains(&"rbind");
    let kind = mount.get("type").and_then(Value::as_str);
    (bind || kind == Some("bind")) && !is_shm(mount)
}

/// Tell whether a mount is for memory that processes share.
pub fn is_shm(mount: &Value) -> bool {
    mount.get("destination").and_then(Value::as_str) == Some("/dev/shm")
}

/// Return the values of a list; none, if it is no list.
pub fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn words(value: Option<&Value>) -> Vec<&str> {
    list(value).iter().filter_map(Value::as_str).collect()
}

fn text<'a>(config: &'a Value, place: &str) -> Option<&'a str> {
    config.pointer(place)?.as_str()
}

fn flag(config: &Value, place: &str) -> bool {
    config.pointer(place).and_then(Value::as_bool) == Some(true)
}

fn check(config: &Value) -> Result<()> {
    if words(config.pointer("/process/args")).is_empty() {
        return Err(Error::new("'process.args' is missing: the program to run"));
    }
    if config.get("linux").and_then(Value::as_object).is_none() {
        return Err(Error::new(
            "'linux' is missing: it is no container of Linux",
        ));
    }
    check_namespaces(list(config.pointer("/linux/namespaces")))?;
    if let Some(process) = config.get("process") {
        check_process(process)?;
    }
    let mut devices = list(config.pointer("/linux/devices")).iter();
    let of_host = devices.find(|device| !is_of_every_kernel(device));
    if let Some(path) = of_host.and_then(|device| device.get("path")?.as_str()) {
        return Err(Error::new(format!(
            "the host's device {path} cannot be had by a partition"
        ))
        .hint("leave out --device; a partition can have disks of its own: shimos run --disk"));
    }
    Ok(())
}

/// Tell whether a device needs no hardware, and gives nothing that its kernel keeps from the container.
fn is_of_every_kernel(device: &Value) -> bool {
    let number = |name| device.get(name).and_then(Value::as_u64);
    device
        .get("type")
        .is_some_and(|kind| kind == "c" || kind == "u")
        && matches!((number("major"), number("minor")), (Some(major), Some(minor)) if OF_EVERY_KERNEL.contains(&(major, minor)))
}

/// Check a process, the container's own or one that joins it.
pub fn check_process(process: &Value) -> Result<()> {
    let capabilities = process.get("capabilities").and_then(Value::as_object);
    let given = capabilities.into_iter().flat_map(Map::values);
    let mut given = given.flat_map(|set| words(Some(set)));
    match given.find(|name| REFUSED.contains(name)) {
        Some(name) => Err(Error::new(format!(
            "{name} is refused: with it the program has the whole machine, not only its partition"
        ))
        .hint("leave out --privileged, or the capability")),
        None => Ok(()),
    }
}

/// Check limits that are to change while it runs.
pub fn check_update(resources: &Value) -> Result<()> {
    let cpu = resources.get("cpu").and_then(Value::as_object);
    let set = |value: &Value| !matches!(value.as_i64(), Some(0)) && value.as_str() != Some("");
    let of_whole_cpus = ["quota", "period", "cpus"];
    let named = cpu.and_then(|cpu| {
        let is_set = |name: &&str| cpu.get(*name).is_some_and(set);
        of_whole_cpus.into_iter().find(is_set)
    });
    match named {
        None => Ok(()),
        Some(name) => Err(Error::new(format!(
            "cpu.{name} cannot be changed: the container has whole CPUs of its own"
        ))
        .hint("make another container, with --cpus or --cpuset-cpus")),
    }
}

fn namespace<'a>(all: &'a [Value], kind: &str) -> Option<&'a Value> {
    all.iter()
        .find(|one| one.get("type").and_then(Value::as_str) == Some(kind))
}

fn check_namespaces(namespaces: &[Value]) -> Result<()> {
    let of = |kind| namespace(namespaces, kind);
    for kind in ["pid", "mount"] {
        if of(kind).is_none() {
            return Err(Error::new(format!(
                "the host's {kind} namespace cannot be had: the container has a kernel of its own"
            )));
        }
    }
    if of("network").is_none() {
        return Err(
            Error::new("the host's network cannot be had: it is another kernel's")
                .hint("--network none"),
        );
    }
    for kind in ["pid", "mount", "cgroup", "user"] {
        if of(kind).is_some_and(|namespace| namespace.get("path").is_some()) {
            return Err(Error::new(format!(
                "the {kind} namespace of another container cannot be joined"
            ))
            .hint("containers of a pod share ipc, net and uts"));
        }
    }
    Ok(())
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use serde_json::json;

    /// A bundle as podman writes it, as far as it matters here.
    pub fn example() -> Bundle {
        let config = json!({
            "ociVersion": "1.2.0",
            "root": {"path": "/", "readonly": true},
            "hostname": "c1",
            "process": {
                "terminal": true, "args": ["sh"], "cwd": "/", "env": ["A=b"],
                "user": {"uid": 1000, "gid": 1000},
                "capabilities": {"bounding": ["CAP_CHOWN"]},
                "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 10, "soft": 10}],
                "apparmorProfile": "x", "consoleSize": {"height": 30, "width": 100},
            },
            "hooks": {"prestart": []},
            "annotations": {},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
                {"destination": "/dev/shm", "type": "bind", "source": "/run/shm", "options": ["bind"]},
                {"destination": "/etc/hosts", "type": "bind", "source": "/run/hosts", "options": ["bind", "ro"]},
                {"destination": "/srv", "type": "none", "source": "/srv", "options": ["rbind"]},
            ],
            "linux": {
                "namespaces": [
                    {"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "cgroup"},
                    {"type": "network", "path": "/run/netns/a"},
                ],
                "resources": {
                    "cpu": {"quota": 150_000, "period": 100_000},
                    "memory": {"limit": 64 << 20}, "pids": {"limit": 100},
                },
                "cgroupsPath": "/libpod/a",
            },
        });
        Bundle::of("/bundle".into(), "/bundle/config.json".into(), config).unwrap()
    }

    #[test]
    fn what_it_takes() {
        let mut bundle = example();
        assert_eq!(bundle.cpus(), Ok(Cpus::Count(2)), "whole ones");
        assert_eq!(bundle.memory(), Ok((64 << 20) + OVERHEAD));
        assert_eq!((bundle.terminal(), bundle.size()), (true, (30, 100)));
        assert_eq!(bundle.kernel(), None);
        assert_eq!(bundle.network(), Some("/run/netns/a".into()));
        assert!(!bundle.has_late_network(), "it is there already");
        bundle.config["linux"]["resources"] = json!({"cpu": {"cpus": "2-3"}});
        assert_eq!(bundle.cpus(), Ok(Cpus::These("2-3".into())));
        assert_eq!(bundle.memory(), Ok(MEMORY));
        bundle.config["annotations"] = json!({"org.shimos.kernel": "6.1.0", "org.shimos.cpus": "3", "org.shimos.memory": "1G"});
        assert_eq!(bundle.kernel(), Some("/boot/vmlinuz-6.1.0".into()));
        assert_eq!(bundle.cpus(), Ok(Cpus::Count(3)));
        assert_eq!(bundle.memory(), Ok(1 << 30));
        let places: Vec<usize> = bundle.binds().iter().map(|bind| bind.index).collect();
        assert_eq!(places, [3, 4], "not /dev/shm");
        assert!(bundle.binds()[1].recursive);
    }

    #[test]
    fn devices() {
        let device = |kind, major, minor| json!({"path": "/dev/x", "type": kind, "major": major, "minor": minor});
        assert!(is_of_every_kernel(&device("c", 10, 229)));
        // a disk, the whole memory, and KVM
        for (kind, major, minor) in [("b", 1, 5), ("c", 1, 1), ("c", 10, 232)] {
            assert!(!is_of_every_kernel(&device(kind, major, minor)));
        }
        assert!(!is_of_every_kernel(&json!({"path": "/dev/x"})));
    }

    #[test]
    fn networks_that_come_late() {
        let with = |hooks: Value, kinds: &[&str]| {
            let mut bundle = example();
            bundle.config["hooks"] = hooks;
            bundle.config["linux"]["namespaces"] =
                kinds.iter().map(|kind| json!({"type": kind})).collect();
            bundle.has_late_network()
        };
        let hook = json!({"createRuntime": [{"path": "/h"}]});
        assert!(with(hook, &["network"]));
        assert!(with(Value::Null, &["network", "user"]));
        let after = json!({"prestart": [], "poststop": [{"path": "/h"}]});
        assert!(!with(after, &["network"]));
    }

    #[test]
    fn what_can_change() {
        let memory = json!({"memory": {"limit": 1 << 26}, "cpu": {"quota": 0, "cpus": ""}});
        assert_eq!(check_update(&memory), Ok(()));
        let error = check_update(&json!({"cpu": {"quota": 200_000}})).unwrap_err();
        assert!(error.to_string().starts_with("cpu.quota cannot be changed"));
    }

    #[test]
    fn what_cannot_be_had() {
        let with = |place: &str, value: Value| {
            let mut config = example().config;
            match config.pointer_mut(place) {
                Some(old) => *old = value,
                None => config["linux"]["devices"] = value,
            }
            Bundle::of("/bundle".into(), "/bundle/config.json".into(), config).map(|_| ())
        };
        let namespaces =
            |list: &[&str]| -> Value { list.iter().map(|kind| json!({"type": kind})).collect() };
        let shown = crate::error::tests::failures([
            ("no program", with("/process/args", json!([]))),
            ("no root", with("/root", json!({}))),
            ("nothing there", with("/root/path", json!("/nonexistent"))),
            ("a link", with("/root/path", json!("/proc/self/cwd"))),
            (
                "a capability",
                with("/process/capabilities/bounding", json!(["CAP_SYS_MODULE"])),
            ),
            (
                "the host's network",
                with("/linux/namespaces", namespaces(&["pid", "mount"])),
            ),
            (
                "the host's processes",
                with("/linux/namespaces", namespaces(&["network", "mount"])),
            ),
            (
                "another's users",
                with(
                    "/linux/namespaces/2",
                    json!({"type": "user", "path": "/proc/1/ns/user"}),
                ),
            ),
            (
                "another's",
                with(
                    "/linux/namespaces/0",
                    json!({"type": "pid", "path": "/proc/1/ns/pid"}),
                ),
            ),
            (
                "a device",
                with("/linux/devices", json!([{"path": "/dev/fuse"}])),
            ),
        ]);
        insta::assert_snapshot!(shown);
        let mut bundle = example();
        bundle.config["annotations"] = json!({"org.shimos.cpus": "0", "org.shimos.memory": "x"});
        assert!(bundle.cpus().is_err() && bundle.memory().is_err());
    }
}
