//! A program in this partition, and our ends of its pipes or terminal.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::openpty;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

use super::{Exit, FAILED, Kind, NOT_EXECUTABLE, NOT_FOUND, Start};
use crate::abi::tty;
use crate::error::io_text;

/// One that runs.
pub struct Program {
    /// Who hears signals: a process, or less than zero for a group.
    pub signals: Pid,
    pub ends: Ends,
    /// Returns when it has ended.
    pub wait: Box<dyn FnOnce() -> io::Result<Exit> + Send>,
    /// Nobody listens to it any more.
    pub abandoned: Signal,
}

impl Program {
    /// Take one that has been started.
    pub fn child(mut child: Child, ends: Ends) -> Self {
        Program {
            signals: Pid::from_raw(-(child.id() as i32)),
            ends,
            wait: Box::new(move || child.wait().map(exit)),
            abandoned: Signal::SIGHUP,
        }
    }
}

/// Our ends of what a program has.
pub struct Ends {
    /// None when there is no more.
    pub input: Option<File>,
    /// Its output, and its errors if they come apart.
    pub outputs: Vec<(Kind, File)>,
    /// If it has one: for its size.
    terminal: Option<File>,
}

impl Ends {
    /// Make pipes for a command, and start it.
    pub fn of_pipes(command: &mut Command) -> io::Result<(Child, Self)> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(Self::with_pipes(command.spawn()?))
    }

    /// Take the side of a terminal that its user has.
    pub fn of_terminal(master: File) -> io::Result<Self> {
        Ok(Ends {
            input: Some(master.try_clone()?),
            outputs: vec![(Kind::Output, master.try_clone()?)],
            terminal: Some(master),
        })
    }

    /// Set the size of its terminal, if it has one.
    pub fn resize(&self, (rows, columns): (u16, u16)) {
        if let Some(terminal) = &self.terminal {
            let _ = tty::set_size(terminal, rows, columns);
        }
    }

    /// Read all that came as errors, of one that has ended.
    pub fn errors(&mut self) -> String {
        let mut said = Vec::new();
        for (_, end) in self
            .outputs
            .iter_mut()
            .filter(|(kind, _)| *kind == Kind::Errors)
        {
            let _ = end.read_to_end(&mut said);
        }
        String::from_utf8_lossy(&said).trim().to_string()
    }

    /// Start a command with a terminal or with pipes.
    pub fn start(start: &Start) -> Result<(Child, Self), Exit> {
        let Some((program, words)) = start.command.split_first() else {
            return Err(Exit::NotRun(FAILED, "no command is given".into()));
        };
        if let Some(directory) = start.directory.as_ref().filter(|d| !Path::new(d).is_dir()) {
            let why = format!("there is no directory '{directory}' to start in");
            return Err(Exit::NotRun(NOT_EXECUTABLE, why));
        }
        let failed = |e: io::Error| Exit::NotRun(FAILED, io_text(&e));
        let (child, ends) = match start.terminal {
            Some(size) => Self::in_terminal(start, size).map_err(failed)?,
            None => {
                let mut command = Command::new(program);
                command.args(words).process_group(0);
                prepare(&mut command, start);
                Self::of_pipes(&mut command).map_err(|e| not_run(program, &e))?
            }
        };
        ends.unblock().map_err(failed)?;
        Ok((child, ends))
    }

    fn with_pipes(mut child: Child) -> (Child, Self) {
        let out = child.stdout.take().map(OwnedFd::from);
        let errors = child.stderr.take().map(OwnedFd::from);
        let outputs = [(Kind::Output, out), (Kind::Errors, errors)];
        let ends = Ends {
            input: child.stdin.take().map(|input| OwnedFd::from(input).into()),
            outputs: outputs
                .into_iter()
                .filter_map(|(kind, end)| Some((kind, end?.into())))
                .collect(),
            terminal: None,
        };
        (child, ends)
    }

    /// A step between makes the terminal its own: `server::in_its_terminal()`.
    fn in_terminal(start: &Start, (rows, columns): (u16, u16)) -> io::Result<(Child, Self)> {
        let pty = openpty(Some(&tty::winsize(rows, columns)), None)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("exec-tty").arg("--").args(&start.command);
        command
            .stdin(pty.slave.try_clone()?)
            .stdout(pty.slave.try_clone()?)
            .stderr(pty.slave);
        prepare(&mut command, start);
        let child = command.spawn()?;
        Ok((child, Self::of_terminal(pty.master.into())?))
    }

    /// Let nobody wait for the program in a read or a write.
    pub fn unblock(&self) -> io::Result<()> {
        for file in self.outputs.iter().map(|(_, file)| file).chain(&self.input) {
            let flags = fcntl(file, FcntlArg::F_GETFL).map(OFlag::from_bits_truncate)?;
            fcntl(file, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        }
        Ok(())
    }
}

/// Tell a command its environment and directory.
pub fn prepare(command: &mut Command, start: &Start) {
    command.envs(start.env.iter().filter_map(|pair| pair.split_once('=')));
    command.current_dir(start.directory.as_deref().unwrap_or("/"));
}

/// Say why a program did not run, with the exit code for that.
pub fn not_run(program: &str, error: &io::Error) -> Exit {
    let code = match error.kind() {
        ErrorKind::NotFound => NOT_FOUND,
        ErrorKind::PermissionDenied => NOT_EXECUTABLE,
        _ => FAILED,
    };
    Exit::NotRun(code, format!("cannot run '{program}': {}", io_text(error)))
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code as u8),
        (None, signal) => Exit::Signal(signal.unwrap_or_default() as u8),
    }
}
