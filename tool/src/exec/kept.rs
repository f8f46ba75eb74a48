//! Programs of containers that a runtime has made, each with the ends of its input and output,
//! until somebody is there for them.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use super::program::{Ends, Program, not_run, prepare};
use super::{Exit, FAILED, Start, orphans};
use crate::abi::pass::receive_file;
use crate::error::io_text;

/// By their ids.
static KEPT: Mutex<Option<HashMap<String, Kept>>> = Mutex::new(None);

struct Kept {
    /// Its first process, which became ours when the runtime ended.
    pid: Pid,
    ends: Ends,
}

/// Return where the runtime writes the number of its first process.
pub fn pid_file(id: &str) -> String {
    format!("/run/{id}.pid")
}

/// Return where the runtime sends its terminal: the option --console-socket.
pub fn console_socket(id: &str) -> String {
    format!("/run/{id}.console")
}

/// Have the runtime make a container, and keep it. An error is what the runtime has said.
pub fn create(id: &str, start: &Start) -> Result<(), Exit> {
    let kept = made(id, start)?;
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    all.get_or_insert_default().insert(id.into(), kept);
    Ok(())
}

fn made(id: &str, start: &Start) -> Result<Kept, Exit> {
    let failed = |e: io::Error| Exit::NotRun(FAILED, io_text(&e));
    let console = match start.terminal {
        Some(_) => Some(UnixListener::bind(console_socket(id)).map_err(failed)?),
        None => None,
    };
    let mut ends = finished(start)?;
    if let (Some(console), Some(size)) = (console, start.terminal) {
        let (connection, _) = console.accept().map_err(failed)?;
        ends = Ends::of_terminal(receive_file(&connection).map_err(failed)?).map_err(failed)?;
        ends.resize(size);
    }
    ends.unblock().map_err(failed)?;
    let pid = fs::read_to_string(pid_file(id)).map_err(failed)?;
    let pid = pid.trim().parse().map_err(io::Error::other);
    Ok(Kept {
        pid: Pid::from_raw(pid.map_err(failed)?),
        ends,
    })
}

/// Run the runtime's command to its end.
fn finished(start: &Start) -> Result<Ends, Exit> {
    let Some((program, words)) = start.command.split_first() else {
        return Err(Exit::NotRun(FAILED, "no command is given".into()));
    };
    let mut command = Command::new(program);
    command.args(words);
    prepare(&mut command, start);
    let (mut child, mut ends) = Ends::of_pipes(&mut command).map_err(|e| not_run(program, &e))?;
    match child.wait() {
        Ok(status) if status.success() => Ok(ends),
        Ok(_) => Err(Exit::NotRun(FAILED, ends.errors())),
        Err(e) => Err(Exit::NotRun(FAILED, io_text(&e))),
    }
}

/// Take over one that is kept; its terminal gets that size.
pub fn join(id: &str, terminal: Option<(u16, u16)>) -> Result<Program, Exit> {
    let kept = {
        let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        all.as_mut().and_then(|all| all.remove(id))
    };
    let Some(kept) = kept else {
        return Err(Exit::NotRun(
            FAILED,
            format!("there is no container '{id}' that waits for its input and output"),
        ));
    };
    if let Some(size) = terminal {
        kept.ends.resize(size);
    }
    Ok(Program {
        signals: kept.pid,
        ends: kept.ends,
        wait: Box::new(move || Ok(orphans::wait(kept.pid))),
        abandoned: Signal::SIGKILL,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Container;

    fn with(command: &str) -> Start {
        Start {
            command: ["sh", "-c", command].map(String::from).to_vec(),
            container: Some(Container::Create("x".into())),
            ..Start::default()
        }
    }

    #[test]
    fn what_the_runtime_says() {
        let refused = create("none", &with("echo 'no such program' >&2; exit 1"));
        assert_eq!(refused, Err(Exit::NotRun(FAILED, "no such program".into())));
        let missing = join("none", None).err();
        let text = "there is no container 'none' that waits for its input and output";
        assert_eq!(missing, Some(Exit::NotRun(FAILED, text.into())));
    }
}
