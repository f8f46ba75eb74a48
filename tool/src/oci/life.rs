//! What is done with a container, from `create` to `delete`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::bundle::{self, Bundle};
use super::last_words::{self, LastWords};
use super::network::Network;
use super::partition::{self, Nets, Wish};
use super::record::{self, Record};
use super::settings::{self, Settings};
use super::shadow::{self, Crun};
use super::share::Share;
use super::slot::Slots;
use super::{NETWORK, guest};
use crate::boot::image;
use crate::error::{Error, IoContext, Result};
use crate::exec::{Exit, Start, USUAL_SIZE, client};
use crate::ui::output;

/// How long the crun in a partition may take for what it does at once.
const PATIENCE: Duration = Duration::from_secs(20);
/// The same for SIGKILL: the partition is killed then.
const LAST: Duration = Duration::from_secs(2);

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
    pub fn create(&self, id: &str, directory: &Path, outside: &Outside) -> Result<()> {
        let record = self.prepare(id, directory)?;
        let made = self.shadow(&record, "create", outside);
        self.or_undo(&record, made)
    }

    /// Make a container and run it to its end; nothing is left of it.
    pub fn run(&self, id: &str, directory: &Path, outside: &Outside) -> Result<()> {
        let record = self.prepare(id, directory)?;
        let ended = self.shadow(&record, "run", outside);
        let removed = self.remove(&record);
        ended.and(removed)
    }

    /// Both halves but the shadow's crun.
    fn prepare(&self, id: &str, directory: &Path) -> Result<Record> {
        let bundle = Bundle::read(directory)?;
        let mut record = Record::begin(&self.root, id, &bundle.directory)?;
        let made = self.make(&mut record, &bundle);
        self.or_undo(&record, made).map(|()| record)
    }

    fn make(&self, record: &mut Record, bundle: &Bundle) -> Result<()> {
        let network = Network::of(bundle)?;
        let share = self.partition(record, bundle, network.as_ref())?;
        share.add("config.json", &guest::config(bundle))?;
        if let Some(network) = network {
            share.add_text(NETWORK, &network.there())?;
            ask(record, &guest::network())?;
            network.connect()?;
        }
        let terminal = bundle.terminal().then(|| bundle.size());
        ask(record, &guest::create(&record.id, terminal))?;
        let program = std::env::current_exe().or_fail("cannot find this program")?;
        let words = [
            "proxy".into(),
            record.cid.to_string(),
            record.id.clone(),
            "--partition".into(),
            LastWords::describe(&record.partition)?,
        ];
        let config = shadow::config(bundle, &program, &words);
        write(&config_path(record), &config)
    }

    /// Take a warm one or start one; the record learns which. Returns its share, with all that
    /// the container has of the host.
    fn partition(
        &self,
        record: &mut Record,
        bundle: &Bundle,
        network: Option<&Network>,
    ) -> Result<Share> {
        let settings = Settings::read(Path::new(settings::FILE))?;
        let (cpus, memory) = (bundle.cpus()?, bundle.memory()?);
        settings.check(&cpus)?;
        let kernel = match bundle.kernel() {
            Some(kernel) => kernel,
            None => {
                image::of_host().map_err(|e| e.or_hint("--annotation org.shimos.kernel=FILE"))?
            }
        };
        let usual = network.is_none_or(Network::is_usual);
        let warm = usual.then(|| self.slots().take(&record.id, &kernel, &cpus, memory));
        if let Some(slot) = warm.flatten() {
            record.partition.clone_from(&slot.name);
            record.cid = slot.cid;
            record.save()?;
            let share = Share::of(&self.slots().place(&slot.name));
            share.fill(bundle)?;
            network.map_or(Ok(()), |network| network.take(&slot.name))?;
            return Ok(share);
        }
        let share = Share::of(&record.directory());
        share.make(false)?;
        share.fill(bundle)?;
        let wish = Wish {
            name: &record.partition,
            kernel: &kernel,
            cpus,
            among: settings.cpuset.as_deref(),
            memory,
            view: &share.view,
            nets: network.map_or(Nets::None, Nets::Of),
        };
        let lock = record::lock_path(&self.root);
        record.cid = partition::start(&wish, &record.directory(), &lock)?.cid;
        record.save()?;
        Ok(share)
    }

    fn slots(&self) -> Slots {
        Slots::of(&self.root)
    }

    fn share(&self, record: &Record) -> Result<Share> {
        let warm = self.slots().taken_by(&record.id)?;
        Ok(Share::of(&match warm {
            Some(slot) => self.slots().place(&slot.name),
            None => record.directory(),
        }))
    }

    fn shadow(&self, record: &Record, command: &str, outside: &Outside) -> Result<()> {
        let crun = Crun::of(record, self.systemd);
        let mut line = crun.command(command);
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
        let record = Record::find(&self.root, id)?;
        let crun = Crun::of(&record, self.systemd);
        crun.run(crun.command("start").arg(id)).map(drop)
    }

    /// Return its state as the specification has it.
    pub fn state(&self, id: &str) -> Result<Value> {
        let record = Record::find(&self.root, id)?;
        Ok(self.state_of(&record))
    }

    fn state_of(&self, record: &Record) -> Value {
        let found = Crun::of(record, self.systemd).state();
        let mut state = found.unwrap_or_else(|| {
            json!({
                "ociVersion": "1.0.0", "id": record.id, "pid": 0, "status": "creating",
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
                let killed = crun.run(crun.command("kill").args([id, signal]));
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
            self.found(id, &["created", "creating", "stopped"])?;
        }
        self.remove(&record)
    }

    /// The shadow last: whoever sees it gone may reuse what it had.
    fn remove(&self, record: &Record) -> Result<()> {
        match self.slots().taken_by(&record.id)? {
            Some(slot) => self.slots().give_back(&record.id, &slot)?,
            None => {
                partition::remove(&record.partition)?;
                Share::of(&record.directory()).remove()?;
            }
        }
        let crun = Crun::of(record, self.systemd);
        if crun.state().is_some() {
            crun.run(crun.command("delete").arg("--force").arg(&record.id))?;
        }
        record.remove()
    }

    /// Run one more process in it; its terminal, input and output are the shadow's.
    pub fn exec(
        &self,
        id: &str,
        mut process: Value,
        detach: bool,
        outside: &Outside,
    ) -> Result<()> {
        let record = self.found(id, &["created", "running"])?;
        bundle::check_process(&process)?;
        let name = format!("exec-{}.json", std::process::id());
        let terminal = process["terminal"].as_bool() == Some(true);
        guest::clean(&mut process);
        self.share(&record)?.add(&name, &process)?;
        let size = terminal.then_some(USUAL_SIZE);
        ask(&record, &guest::exec(id, &name, size))?;
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
        let mut line = crun.command("exec");
        line.arg("--process").arg(&path);
        if detach {
            line.arg("--detach");
        }
        outside.words(&mut line);
        crun.run_with_ours(line.arg(&record.id))
    }

    /// Return the process that a command makes in the container, as the container's own has it.
    pub fn process(&self, id: &str, args: &[String], terminal: bool) -> Result<Value> {
        let record = Record::find(&self.root, id)?;
        let mut process = Bundle::read(&record.bundle)?.config["process"].take();
        process["args"] = args.into();
        process["terminal"] = terminal.into();
        Ok(process)
    }

    /// Return what crun's `ps` says of it.
    pub fn ps(&self, id: &str, format: &str) -> Result<String> {
        let record = self.found(id, &["running", "paused"])?;
        ask(&record, &guest::crun(&["ps", "--format", format, id]))
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

/// Have the partition's crun do something, and return what it said.
fn ask(record: &Record, start: &Start) -> Result<String> {
    asked(client::ask(record.cid, start, PATIENCE))
}

fn is_sigkill(signal: &str) -> bool {
    matches!(signal.trim_start_matches("SIG"), "KILL" | "9")
}

/// What crun there has said is the error, if it failed.
fn asked(result: Result<(Exit, String)>) -> Result<String> {
    let (exit, said) = result?;
    let said = match exit {
        Exit::Code(0) => return Ok(said),
        Exit::NotRun(_, why) => why,
        _ => said,
    };
    let said = output::printable(said.trim().trim_start_matches("crun: "));
    Err(Error::new(if said.is_empty() {
        "crun in the partition has failed".into()
    } else {
        said
    }))
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
    fn what_crun_says() {
        assert_eq!(asked(Ok((Exit::Code(0), "x\n".into()))), Ok("x\n".into()));
        let error = asked(Ok((Exit::Code(1), "crun: no such thing\n".into()))).unwrap_err();
        assert_eq!(error.to_string(), "no such thing");
        let error = asked(Ok((Exit::NotRun(125, "why".into()), String::new()))).unwrap_err();
        assert_eq!(error.to_string(), "why");
        assert!(asked(Ok((Exit::Signal(9), String::new()))).is_err());
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
            runtime
                .create("a", work.path(), &Outside::default())
                .unwrap_err()
                .to_string()
                .contains("config.json")
        );
    }
}
