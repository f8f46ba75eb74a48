//! What is done with a container, from `create` to `delete`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::bundle::{self, Bundle};
use super::home::{self, PATIENCE, ask, asked};
use super::last_words::{self, LastWords};
use super::record::Record;
use super::shadow::{self, Crun};
use super::{guest, mount_points, partition};
use crate::error::{Error, IoContext, Result};
use crate::exec::{Start, USUAL_SIZE, client};
use crate::system::cgroup::Figures;
use crate::ui::output;

/// How long the crun in a partition may take for SIGKILL: the partition is killed then.
const LAST: Duration = Duration::from_secs(2);

/// The status of one that the host's crun does not know.
const CREATING: &str = "creating";

/// What concerns all containers.
#[derive(Debug)]
pub struct Runtime {
    /// Where they are remembered.
    pub root: PathBuf,
    /// Cgroups are made by systemd.
    pub systemd: bool,
}

/// What `create` and `run` are given for the container's half on the host.
#[derive(Debug, Default)]
pub struct Outside {
    pub console_socket: Option<PathBuf>,
    pub pid_file: Option<PathBuf>,
}

impl Outside {
    fn words(&self, command: &mut Command) {
        for (option, value) in [
            ("--console-socket", &self.console_socket),
            ("--pid-file", &self.pid_file),
        ] {
            if let Some(value) = value {
                command.arg(option).arg(value);
            }
        }
    }
}

impl Runtime {
    /// Make a container, up to its program's first step.
    pub fn create(&self, id: &str, bundle: Bundle, outside: &Outside) -> Result<()> {
        self.created(id, bundle, outside).map(drop)
    }

    fn created(&self, id: &str, bundle: Bundle, outside: &Outside) -> Result<Record> {
        let (record, request) = self.prepare(id, bundle)?;
        // Neither half needs the other before the first step, and mount points are there.
        let (there, here) = both(&record, &request, || {
            self.shadow(&record, &["create"], outside)
        });
        self.or_undo(&record, there.and(here)).map(|()| record)
    }

    /// Make a container, and let its program begin.
    pub fn begin(&self, id: &str, bundle: Bundle, outside: &Outside) -> Result<()> {
        let record = self.created(id, bundle, outside)?;
        self.or_undo(&record, self.start(id))
    }

    /// Make a container and run it to its end; nothing is left of it, unless it is to be kept.
    pub fn run(&self, id: &str, bundle: Bundle, outside: &Outside, keep: bool) -> Result<()> {
        let (record, request) = self.prepare(id, bundle)?;
        let begun = ask(&record, &request).and_then(|_| ask(&record, &guest::start(id)));
        self.or_undo(&record, begun)?;
        if keep {
            return self.shadow(&record, &["run", "--keep"], outside);
        }
        let ended = self.shadow(&record, &["run"], outside);
        let removed = self.remove(&record);
        ended.and(removed)
    }

    /// All but the two halves themselves; returns what makes the partition's.
    fn prepare(&self, id: &str, bundle: Bundle) -> Result<(Record, Start)> {
        let mut record = Record::begin(&self.root, id, &bundle.directory)?;
        record.config = bundle.file.clone();
        let made = self.make(&mut record, &bundle);
        self.or_undo(&record, made).map(|start| (record, start))
    }

    fn make(&self, record: &mut Record, bundle: &Bundle) -> Result<Start> {
        let (share, leader) = match self.leader(bundle)? {
            Some(leader) => {
                let (share, there) = home::with(&self.root, record, &leader, bundle)?;
                (share, Some(there))
            }
            None => (home::own(&self.root, record, bundle)?, None),
        };
        let place = record.place_there();
        share.add("config.json", &guest::config(bundle, &place, leader))?;
        let terminal = bundle.terminal().then(|| bundle.size());
        let program = std::env::current_exe().or_fail("cannot find this program")?;
        let words = [
            "proxy".into(),
            record.cid.to_string(),
            record.id.clone(),
            "--partition".into(),
            LastWords::describe(&record.partition)?,
        ];
        let config = shadow::config(bundle, &program, &words);
        write(&config_path(record), &config)?;
        mount_points::make(bundle);
        Ok(guest::create(&record.id, &place, terminal))
    }

    /// The container whose partition it shares: its pod's sandbox, or the one whose namespaces it
    /// joins. What podman's annotation names is the pod, and no container.
    fn leader(&self, bundle: &Bundle) -> Result<Option<Record>> {
        let sandbox = bundle.sandbox().map(|id| Record::find(&self.root, id));
        match sandbox {
            Some(Ok(sandbox)) if sandbox.leader.is_none() => Ok(Some(sandbox)),
            _ => bundle.joins()?.map(|pid| self.owner(pid)).transpose(),
        }
    }

    /// The container whose program on the host has that number, and which has a partition.
    fn owner(&self, pid: i64) -> Result<Record> {
        let mut all = Record::all(&self.root).into_iter();
        let is_it = |other: &Record| {
            other.leader.is_none() && self.state_of(other)["pid"].as_i64() == Some(pid)
        };
        all.find(is_it).ok_or_else(|| {
            Error::new("the container whose namespaces it is to share is none of ours")
                .hint("the whole pod needs this runtime: podman --runtime shimos pod create")
        })
    }

    /// Make the half here; `words` are crun's command.
    fn shadow(&self, record: &Record, words: &[&str], outside: &Outside) -> Result<()> {
        let crun = Crun::of(record, self.systemd);
        let mut line = crun.command(words);
        line.arg("--bundle")
            .arg(&record.bundle)
            .arg("--config")
            .arg(config_path(record));
        outside.words(&mut line);
        line.args(["--preserve-fds", last_words::FILES]);
        LastWords::give(&record.partition, &mut line)?;
        crun.run_with_ours(line.arg(&record.id))
    }

    fn or_undo<T>(&self, record: &Record, result: Result<T>) -> Result<T> {
        if result.is_err() {
            if let Err(e) = self.remove(record) {
                output::error(&e);
            }
        }
        result
    }

    /// Let its program take the first step.
    pub fn start(&self, id: &str) -> Result<()> {
        let mut record = Record::find(&self.root, id)?;
        if let Some(spare) = record.spare.take() {
            let shadow = &self.state_of(&record)["pid"];
            let namespace = format!("/proc/{shadow}/ns/net").into();
            home::late(&self.root, &record, &spare, namespace)?;
            record.save()?;
        }
        let crun = Crun::of(&record, self.systemd);
        // What the program says waits for the proxy.
        let start = || crun.run(crun.command(&["start"]).arg(id)).map(drop);
        match both(&record, &guest::start(id), start) {
            (Ok(()), Err(e)) => {
                let _ = ask(&record, &guest::crun(&["kill", id, "KILL"]));
                Err(e)
            }
            (there, here) => there.and(here),
        }
    }

    /// Return its state as the specification has it, as soon as it can be started.
    pub fn state(&self, id: &str) -> Result<Value> {
        let record = Record::find(&self.root, id)?;
        let state = self.state_of(&record);
        match state["status"] == CREATING {
            true => Err(Error::new(format!("container '{id}' is not made yet"))
                .hint("if nobody makes it any more: shimos-oci delete --force")),
            false => Ok(state),
        }
    }

    fn state_of(&self, record: &Record) -> Value {
        let found = Crun::of(record, self.systemd).state();
        let mut state = found.unwrap_or_else(|| {
            json!({
                "ociVersion": "1.0.0", "id": record.id, "pid": 0, "status": CREATING,
                "bundle": record.bundle,
            })
        });
        if record.paused && state["status"] == "running" {
            state["status"] = "paused".into();
        }
        state["partition"] = record.partition.as_str().into();
        state
    }

    /// List the states of all.
    pub fn list(&self) -> Vec<Value> {
        Record::all(&self.root)
            .iter()
            .map(|record| self.state_of(record))
            .collect()
    }

    fn found(&self, id: &str, states: &[&str]) -> Result<Record> {
        self.found_as(id, states).map(|(record, _)| record)
    }

    /// A container in one of these states, and in which.
    fn found_as(&self, id: &str, states: &[&str]) -> Result<(Record, String)> {
        let record = Record::find(&self.root, id)?;
        let state = self.state_of(&record);
        let status = state["status"].as_str().unwrap_or_default();
        if states.contains(&status) {
            return Ok((record, status.into()));
        }
        Err(Error::new(format!(
            "container '{id}' is {status}, not {}",
            states.join(" or ")
        )))
    }

    /// Send a signal to its program, or to all of its programs.
    pub fn kill(&self, id: &str, signal: &str, all: bool) -> Result<()> {
        let (record, status) = self.found_as(id, &["created", "running", "paused"])?;
        let crun = Crun::of(&record, self.systemd);
        let mut words = vec!["kill", id, signal];
        if all {
            words.insert(1, "--all");
        }
        let patience = if is_sigkill(signal) { LAST } else { PATIENCE };
        let heard = asked(client::ask(record.cid, &guest::crun(&words), patience));
        match (heard, is_sigkill(signal)) {
            (Ok(_), _) if status != "created" => Ok(()),
            (Err(e), false) => Err(e),
            // Its program has not begun, or its kernel does not listen any more. The proxy goes
            // first: it ends by the signal, and not because it has lost its partition.
            (heard, _) => {
                let killed = crun.run(crun.command(&["kill"]).args([id, signal]));
                if heard.is_err() {
                    partition::kill(&record.partition)?;
                }
                killed.map(drop)
            }
        }
    }

    /// Forget a container that has ended, or with `force` any.
    pub fn delete(&self, id: &str, force: bool) -> Result<()> {
        let record = match Record::find(&self.root, id) {
            Err(_) if force => return Ok(()),
            found => found?,
        };
        if !force {
            self.found(id, &["created", CREATING, "stopped"])?;
        }
        self.remove(&record)
    }

    /// The shadow last: whoever sees it gone may reuse what it had.
    fn remove(&self, record: &Record) -> Result<()> {
        home::leave(&self.root, record)?;
        let crun = Crun::of(record, self.systemd);
        if crun.state().is_some() {
            crun.run(crun.command(&["delete", "--force"]).arg(&record.id))?;
        }
        record.remove()
    }

    /// Run one more process in it; its terminal, input and output are the shadow's. `cgroup` is below
    /// the container's.
    pub fn exec(
        &self,
        id: &str,
        mut process: Value,
        cgroup: Option<&str>,
        detach: bool,
        outside: &Outside,
    ) -> Result<()> {
        let record = self.found(id, &["created", "running"])?;
        bundle::check_process(&process)?;
        let name = format!("exec-{}.json", std::process::id());
        let terminal = process["terminal"].as_bool() == Some(true);
        guest::clean(&mut process);
        let size = terminal.then_some(USUAL_SIZE);
        let start = guest::exec(id, &record.place_there(), &name, cgroup, size);
        home::ask_with(&self.root, &record, &name, &process, &start)?;
        let config = bundle::json(&config_path(&record))?;
        let words = [
            "proxy".into(),
            record.cid.to_string(),
            record.id.clone(),
            name.clone(),
        ];
        let path = record.directory().join(&name);
        write(&path, &shadow::joining(&config, &words, terminal))?;
        let crun = Crun::of(&record, self.systemd);
        let mut line = crun.command(&["exec"]);
        line.arg("--process").arg(&path);
        if detach {
            line.arg("--detach");
        }
        outside.words(&mut line);
        crun.run_with_ours(line.arg(&record.id))
    }

    /// Return its own process, as it was asked for.
    pub fn process(&self, id: &str) -> Result<Value> {
        let record = self.found(id, &["created", "running"])?;
        Ok(bundle::json(&record.config)?["process"].take())
    }

    /// Return what crun's `ps` says of it.
    pub fn ps(&self, id: &str, format: &str) -> Result<String> {
        let record = self.found(id, &["running", "paused"])?;
        ask(&record, &guest::crun(&["ps", "--format", format, id]))
    }

    /// Fail unless it runs.
    pub fn check_runs(&self, id: &str) -> Result<()> {
        self.found(id, &["running", "paused"]).map(drop)
    }

    /// Return what its processes use, or have used.
    pub fn figures(&self, id: &str) -> Result<Figures> {
        let record = Record::find(&self.root, id)?;
        let said = ask(&record, &guest::figures(&record.place_there()))?;
        serde_json::from_str(&said)
            .map_err(|e| Error::new(format!("the partition's figures make no sense: {e}")))
    }

    /// Change its limits, as far as they are not the partition's own.
    pub fn update(&self, id: &str, mut resources: Value) -> Result<()> {
        let record = self.found(id, &["created", "running", "paused"])?;
        bundle::check_update(&resources)?;
        guest::clean_resources(&mut resources);
        let name = format!("update-{}.json", std::process::id());
        let start = guest::update(id, &record.place_there(), &name);
        home::ask_with(&self.root, &record, &name, &resources, &start).map(drop)
    }

    /// Let all of its programs stand still, or go on.
    pub fn pause(&self, id: &str, pause: bool) -> Result<()> {
        let (command, state) = if pause {
            ("pause", "running")
        } else {
            ("resume", "paused")
        };
        let mut record = self.found(id, &[state])?;
        ask(&record, &guest::crun(&[command, id]))?;
        record.paused = pause;
        record.save()
    }
}

/// Do something there and here at the same time; returns what came of each.
fn both(
    record: &Record,
    request: &Start,
    here: impl FnOnce() -> Result<()>,
) -> (Result<()>, Result<()>) {
    thread::scope(|scope| {
        let there = scope.spawn(|| ask(record, request).map(drop));
        let here = here();
        let lost = |_| Err(Error::new("the partition was not asked"));
        (there.join().unwrap_or_else(lost), here)
    })
}

fn is_sigkill(signal: &str) -> bool {
    matches!(signal.trim_start_matches("SIG"), "KILL" | "9")
}

/// The host's crun finds its half of the container there.
fn config_path(record: &Record) -> PathBuf {
    record.directory().join("shadow.json")
}

fn write(path: &Path, value: &Value) -> Result<()> {
    std::fs::write(path, value.to_string()).or_fail(format_args!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals() {
        assert!(
            is_sigkill("SIGKILL") && is_sigkill("9") && is_sigkill("KILL") && !is_sigkill("15")
        );
    }

    #[test]
    fn containers_that_are_not_there() {
        let work = tempfile::tempdir().unwrap();
        let runtime = Runtime {
            root: work.path().into(),
            systemd: false,
        };
        assert_eq!(runtime.delete("a", true), Ok(()));
        let words = "there is no container 'a'";
        assert_eq!(runtime.delete("a", false).unwrap_err().to_string(), words);
        assert_eq!(
            runtime.kill("a", "KILL", false).unwrap_err().to_string(),
            words
        );
        assert!(runtime.list().is_empty());
        assert!(
            Bundle::read(work.path(), Path::new(bundle::CONFIG))
                .unwrap_err()
                .to_string()
                .contains("config.json")
        );
    }
}
