//! The container's half on the host: crun makes it, and its only process is our proxy.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::CRUN;
use super::bundle::{Bundle, mounts};
use super::record::Record;
use crate::error::{Error, IoContext, Result};

/// Where the proxy is in the shadow: /dev is in memory, so the image stays as it is.
const IN_DEV: &str = "/dev/.shimos-oci";
/// If there is no such /dev.
const IN_ROOT: &str = "/.shimos-oci";

/// Return the `config.json` for here: cgroup, network and hooks as they were asked for, and a
/// proxy that runs `words`.
pub fn config(bundle: &Bundle, program: &Path, words: &[String]) -> Value {
    let mut config = bundle.config.clone();
    let place = place(&config);
    let root = bundle.root.to_string_lossy().into_owned();
    config["root"]["path"] = root.into();
    config["process"] = process(place, words, bundle.terminal());
    let proxy = json!({
        "destination": place, "type": "bind", "source": program.to_string_lossy(),
        "options": ["bind", "ro", "nosuid", "nodev"],
    });
    if let Some(mounts) = config["mounts"].as_array_mut() {
        mounts.push(proxy);
    } else {
        config["mounts"] = json!([proxy]);
    }
    if let Some(linux) = config["linux"].as_object_mut() {
        linux.remove("seccomp");
        // Only root of the host has root's ports.
        for what in ["uidMappings", "gidMappings"] {
            linux.remove(what);
        }
        if let Some(namespaces) = linux.get_mut("namespaces").and_then(Value::as_array_mut) {
            namespaces.retain(|namespace| namespace["type"] != "user");
        }
        // The proxy runs where it can: the container's CPUs are away.
        if let Some(resources) = linux.get_mut("resources").and_then(Value::as_object_mut) {
            resources.remove("cpu");
            resources.remove("memory");
            resources.remove("unified");
        }
    }
    config
}

fn place(config: &Value) -> &'static str {
    let is_dev = |mount: &Value| {
        let field = |name| mount.get(name).and_then(Value::as_str);
        field("destination") == Some("/dev") && field("type") == Some("tmpfs")
    };
    match mounts(config).iter().any(is_dev) {
        true => IN_DEV,
        false => IN_ROOT,
    }
}

/// Return a process that runs the proxy with `words`; for one that joins a container, too.
fn process(place: &str, words: &[String], terminal: bool) -> Value {
    let args: Vec<&str> = [place]
        .into_iter()
        .chain(words.iter().map(String::as_str))
        .collect();
    // Root's ports are how the partition knows that the host's root speaks.
    let capabilities = ["CAP_NET_BIND_SERVICE"];
    json!({
        "terminal": terminal,
        "user": {"uid": 0, "gid": 0},
        "args": args,
        "env": ["PATH=/"],
        "cwd": "/",
        "noNewPrivileges": true,
        "capabilities": {
            "bounding": capabilities, "effective": capabilities, "permitted": capabilities,
        },
    })
}

/// Return the process for one that joins the shadow of a container.
pub fn joining(config: &Value, words: &[String], terminal: bool) -> Value {
    process(place(config), words, terminal)
}

/// The host's crun, with all that it knows of our containers.
pub struct Crun<'a> {
    record: &'a Record,
    systemd: bool,
}

impl<'a> Crun<'a> {
    /// Speak of one container; `systemd`: its cgroup is made by systemd.
    pub fn of(record: &'a Record, systemd: bool) -> Self {
        Crun { record, systemd }
    }

    /// Begin a command line: a command of crun's, and options of that.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(CRUN);
        command.arg("--root").arg(self.record.crun_root());
        if self.systemd {
            command.arg("--systemd-cgroup");
        }
        command.args(words);
        command
    }

    /// Run a command to its end, and return what it printed; an error is what it said.
    pub fn run(&self, command: &mut Command) -> Result<String> {
        output(command.stdin(Stdio::null()).output())
    }

    /// Run one whose input and output are ours.
    pub fn run_with_ours(&self, command: &mut Command) -> Result<()> {
        let status = command.status().or_fail(missing())?;
        match status.code() {
            Some(0) => Ok(()),
            Some(code) => Err(Error::Reported(code as u8)),
            None => Err(Error::new(format!("{CRUN} has ended: {status}"))),
        }
    }

    /// Return what it says of the container: `None`, it knows none.
    pub fn state(&self) -> Option<Value> {
        let text = self
            .run(self.command(&["state"]).arg(&self.record.id))
            .ok()?;
        serde_json::from_str(&text).ok()
    }
}

/// Return what crun can do, as it says itself.
pub fn features() -> Result<String> {
    output(Command::new(CRUN).arg("features").output())
}

fn missing() -> &'static str {
    "cannot run crun, which makes the container's half on the host (apt install crun)"
}

fn output(result: std::io::Result<Output>) -> Result<String> {
    let output = result.or_fail(missing())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().trim_start_matches("crun: ");
    Err(Error::new(match said {
        "" => format!("{CRUN} has ended: {}", output.status),
        said => said.to_string(),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::bundle::tests::example;
    use super::*;

    #[test]
    fn what_is_here() {
        let config = config(
            &example(),
            Path::new("/usr/bin/shimos"),
            &["proxy".into(), "42".into()],
        );
        insta::assert_snapshot!(serde_json::to_string_pretty(&config).unwrap());
        let mut other = example();
        other.config["linux"]["namespaces"] = json!([{"type": "user"}, {"type": "pid"}]);
        other.config["linux"]["uidMappings"] = json!([]);
        let config = super::config(&other, Path::new("/p"), &[]);
        assert_eq!(config["linux"]["namespaces"], json!([{"type": "pid"}]));
        assert_eq!(config["linux"].get("uidMappings"), None);
        let mut without = example();
        without.config["mounts"] = Value::Null;
        let config = super::config(&without, Path::new("/p"), &[]);
        assert_eq!(config["mounts"][0]["destination"], IN_ROOT);
    }
}
