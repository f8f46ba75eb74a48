//! What the crun in the partition is given: the container as it was asked for, its files from
//! the share.

use serde_json::{Value, json};

use super::bundle::{Bundle, is_bind, is_shm, mounts};
use super::{BINDS, CRUN, NETWORK, ROOT, SHARE};
use crate::exec::{Container, Start, kept};

/// The network of the partition: a container's whose network others have prepared.
const OWN_NETWORK: &str = "/proc/1/ns/net";

/// Return the `config.json` for there.
pub fn config(bundle: &Bundle) -> Value {
    let mut config = bundle.config.clone();
    let mounted = mounts(&bundle.config)
        .iter()
        .enumerate()
        .map(|(i, m)| mount(i, m))
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
        format!("{SHARE}/{ROOT}").into(),
    );
    set(&mut config, "/linux", "cgroupsPath", "/container".into());
    if let Some(process) = config.get_mut("process") {
        clean(process);
    }
    if let Some(linux) = config.get_mut("linux").and_then(Value::as_object_mut) {
        for what in [
            "mountLabel",
            "intelRdt",
            "uidMappings",
            "gidMappings",
            "devices",
        ] {
            linux.remove(what);
        }
        // Whole CPUs are its own, and there is no other of its devices.
        if let Some(resources) = linux.get_mut("resources").and_then(Value::as_object_mut) {
            for what in [
                "cpu",
                "blockIO",
                "hugepageLimits",
                "network",
                "rdma",
                "unified",
            ] {
                resources.remove(what);
            }
        }
        if let Some(namespaces) = linux.get_mut("namespaces").and_then(Value::as_array_mut) {
            for namespace in namespaces.iter_mut().filter_map(Value::as_object_mut) {
                // It is the only one with a path: bundle::check_namespaces().
                if namespace.contains_key("path") {
                    namespace.insert("path".into(), OWN_NETWORK.into());
                }
            }
        }
    }
    config
}

/// Ask for the container to be made, up to its program's first step. The bundle is the share.
pub fn create(id: &str, terminal: Option<(u16, u16)>) -> Start {
    kept("create", &["--bundle", SHARE], id, id, terminal)
}

/// Ask for one more process, which a file in the share describes; what it says is kept.
pub fn exec(id: &str, file: &str, terminal: Option<(u16, u16)>) -> Start {
    let process = format!("{SHARE}/{file}");
    kept(
        "exec",
        &["--detach", "--process", &process],
        id,
        file,
        terminal,
    )
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

/// Ask for the program's first step, and all that follows.
pub fn start(id: &str, terminal: Option<(u16, u16)>) -> Start {
    Start {
        terminal,
        container: Some(Container::Start(id.into())),
        ..crun(&["start", id])
    }
}

/// Ask for all that one more process does, which has begun.
pub fn join(file: &str, terminal: Option<(u16, u16)>) -> Start {
    Start {
        terminal,
        container: Some(Container::Start(file.into())),
        ..Start::default()
    }
}

/// Ask for the partition's interfaces to be set up, as a file in the share says.
pub fn network() -> Start {
    command(&["ip", "-batch", &format!("{SHARE}/{NETWORK}")])
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

/// Leave out of a process what only the host knows.
pub fn clean(process: &mut Value) {
    if let Some(process) = process.as_object_mut() {
        process.remove("apparmorProfile");
        process.remove("selinuxLabel");
    }
}

fn mount(index: usize, mount: &Value) -> Value {
    let mut mount = mount.clone();
    if is_shm(&mount) {
        return json!({
            "destination": "/dev/shm", "type": "tmpfs", "source": "shm",
            "options": ["nosuid", "noexec", "nodev", "mode=1777"],
        });
    }
    if is_bind(&mount) {
        set(
            &mut mount,
            "",
            "source",
            format!("{SHARE}/{BINDS}/{index}").into(),
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
        let config = config(&example());
        insta::assert_snapshot!(serde_json::to_string_pretty(&config).unwrap());
    }
}
