//! What the crun in the partition is given: the container as it was asked for, its files from
//! the share.

use serde_json::{Value, json};

use super::bundle::{Bundle, is_bind, is_shm, mounts};
use super::{BINDS, CRUN, IP, NETWORK, NSENTER, ROOT, SHARE};
use crate::exec::{Container, Start, kept};

/// The network of the partition: a container's whose network others have prepared.
const OWN_NETWORK: &str = "/proc/1/ns/net";

/// Return the `config.json` for there. `place` is where its part of the share is, and `leader` the
/// process there whose namespaces it shares.
pub fn config(bundle: &Bundle, place: &str, leader: Option<i64>) -> Value {
    let mut config = bundle.config.clone();
    let mounted = mounts(&bundle.config)
        .iter()
        .enumerate()
        .map(|(i, m)| mount(place, i, m))
        .collect();
    if let Some(top) = config.as_object_mut() {
        // They are the host's, which runs them.
        top.remove("hooks");
        top.insert("mounts".into(), mounted);
    }
    set(
        &mut config,
        "/root",
        "path",
        format!("{place}/{ROOT}").into(),
    );
    set(&mut config, "/linux", "cgroupsPath", cgroup(place).into());
    if let Some(process) = config.get_mut("process") {
        clean(process);
    }
    if let Some(linux) = config.get_mut("linux").and_then(Value::as_object_mut) {
        for what in ["mountLabel", "intelRdt"] {
            linux.remove(what);
        }
        if let Some(resources) = linux.get_mut("resources") {
            clean_resources(resources);
        }
        if let Some(namespaces) = linux.get_mut("namespaces").and_then(Value::as_array_mut) {
            for namespace in namespaces.iter_mut().filter_map(Value::as_object_mut) {
                let path = namespace.get("type").and_then(Value::as_str);
                let path = path.map(|kind| there(kind, leader));
                if let (true, Some(path)) = (namespace.contains_key("path"), path) {
                    namespace.insert("path".into(), path.into());
                }
            }
        }
    }
    config
}

/// The cgroup of the container whose part of the share that is. They are beside each other: who has
/// processes can have no groups with limits below it.
fn cgroup(place: &str) -> String {
    let member = place.strip_prefix(SHARE).and_then(|p| p.rsplit_once('/'));
    match member {
        Some((_, id)) => format!("/container-{id}"),
        None => "/container".into(),
    }
}

/// A namespace that it shares: with the container whose partition it is, or else the partition's
/// own network, as the host has prepared it.
fn there(kind: &str, leader: Option<i64>) -> String {
    let kind_there = if kind == "network" { "net" } else { kind };
    match leader {
        Some(pid) => format!("/proc/{pid}/ns/{kind_there}"),
        None => OWN_NETWORK.into(),
    }
}

/// Ask for the container to be made, up to its program's first step. The bundle is its part of
/// the share.
pub fn create(id: &str, place: &str, terminal: Option<(u16, u16)>) -> Start {
    kept("create", &["--bundle", place], id, id, terminal)
}

/// Ask for one more process, which a file in the share describes; what it says is kept.
pub fn exec(
    id: &str,
    place: &str,
    file: &str,
    cgroup: Option<&str>,
    terminal: Option<(u16, u16)>,
) -> Start {
    let process = format!("{place}/{file}");
    let mut words = vec!["--detach", "--process", &process];
    words.extend(cgroup.iter().flat_map(|cgroup| ["--cgroup", cgroup]));
    kept("exec", &words, id, file, terminal)
}

fn kept(command: &str, words: &[&str], id: &str, key: &str, terminal: Option<(u16, u16)>) -> Start {
    let (pid, console) = (kept::pid_file(key), kept::console_socket(key));
    let mut all = vec![command, "--pid-file", &pid];
    if terminal.is_some() {
        all.extend(["--console-socket", &console]);
    }
    all.extend(words);
    all.push(id);
    Start {
        terminal,
        container: Some(Container::Create(key.into())),
        ..crun(&all)
    }
}

/// Ask for the program's first step. What it says is kept.
pub fn start(id: &str) -> Start {
    crun(&["start", id])
}

/// Ask for all that a process does which is kept: the container's own, or that of a file in the share.
pub fn join(key: &str, terminal: Option<(u16, u16)>) -> Start {
    Start {
        terminal,
        container: Some(Container::Join(key.into())),
        ..Start::default()
    }
}

/// Ask for what the container uses whose part of the share that is.
pub fn figures(place: &str) -> Start {
    Start {
        container: Some(Container::Figures(cgroup(place))),
        ..Start::default()
    }
}

/// Ask for limits to be changed, as a file in the share says.
pub fn update(id: &str, place: &str, file: &str) -> Start {
    crun(&["update", "--resources", &format!("{place}/{file}"), id])
}

/// Ask for the partition's interfaces to be set up, as a file in the share says.
pub fn network() -> Start {
    command(&[IP, "-batch", &format!("{SHARE}/{NETWORK}")])
}

/// Ask for the partition's first interface to be given to the network of a process there.
pub fn give_network(process: i64) -> Start {
    command(&[IP, "link", "set", "eth0", "netns", &process.to_string()])
}

/// Ask for the interfaces of a process there to be set up, as a file in the share says.
pub fn network_of(process: i64) -> Start {
    let namespace = format!("--net=/proc/{process}/ns/net");
    let file = format!("{SHARE}/{NETWORK}");
    command(&[NSENTER, &namespace, IP, "-batch", &file])
}

/// Ask for a command of crun's.
pub fn crun(words: &[&str]) -> Start {
    command(&[&[CRUN], words].concat())
}

fn command(words: &[&str]) -> Start {
    Start {
        command: words.iter().map(|word| (*word).into()).collect(),
        env: vec!["PATH=/usr/bin:/bin".into()],
        ..Start::default()
    }
}

/// Leave out of limits what a partition does not share: whole CPUs are its own, and there is no
/// other user of its devices. Containers of a pod share its CPUs by weight.
pub fn clean_resources(resources: &mut Value) {
    let Some(resources) = resources.as_object_mut() else {
        return;
    };
    for what in ["blockIO", "hugepageLimits", "network", "rdma"] {
        resources.remove(what);
    }
    if let Some(cpu) = resources.get_mut("cpu").and_then(Value::as_object_mut) {
        cpu.retain(|key, _| matches!(key.as_str(), "shares" | "idle"));
    }
    if let Some(files) = resources.get_mut("unified").and_then(Value::as_object_mut) {
        files.retain(|file, _| {
            let (controller, what) = file.split_once('.').unwrap_or((file, ""));
            match controller {
                "cpuset" | "io" | "hugetlb" | "rdma" => false,
                "cpu" => !what.starts_with("max"),
                _ => true,
            }
        });
    }
}

/// Leave out of a process what only the host knows.
pub fn clean(process: &mut Value) {
    if let Some(process) = process.as_object_mut() {
        process.remove("apparmorProfile");
        process.remove("selinuxLabel");
    }
}

fn mount(place: &str, index: usize, mount: &Value) -> Value {
    let mut mount = mount.clone();
    if is_shm(&mount) {
        // All of a pod have the same.
        return json!({
            "destination": "/dev/shm", "type": "bind", "source": "/dev/shm",
            "options": ["bind", "nosuid", "noexec", "nodev"],
        });
    }
    if is_bind(&mount) {
        set(
            &mut mount,
            "",
            "source",
            format!("{place}/{BINDS}/{index}").into(),
        );
    }
    mount
}

fn set(config: &mut Value, place: &str, key: &str, value: Value) {
    if let Some(object) = config.pointer_mut(place).and_then(Value::as_object_mut) {
        object.insert(key.into(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::bundle::tests::example;
    use super::*;

    #[test]
    fn what_is_there() {
        let config = config(&example(), SHARE, None);
        insta::assert_snapshot!(serde_json::to_string_pretty(&config).unwrap());
        let member = super::config(&example(), "/share/members/b", Some(30));
        assert_eq!(member["root"]["path"], "/share/members/b/root");
        assert_eq!(member["linux"]["cgroupsPath"], "/container-b");
        assert_eq!(member["linux"]["namespaces"][5]["path"], "/proc/30/ns/net");
        assert_eq!(member["linux"]["namespaces"][0].get("path"), None);
    }

    #[test]
    fn limits_of_a_partition() {
        let mut limits = json!({
            "memory": {"limit": 1}, "blockIO": {"weight": 1}, "cpu": {"shares": 512, "quota": 1, "cpus": "0"},
            "unified": {"cpu.weight": "1", "cpu.max": "1", "cpuset.mems": "0", "io.weight": "1", "memory.high": "1", "x": ""},
        });
        clean_resources(&mut limits);
        let kept = json!({
            "memory": {"limit": 1}, "cpu": {"shares": 512},
            "unified": {"cpu.weight": "1", "memory.high": "1", "x": ""},
        });
        assert_eq!(limits, kept);
    }
}
