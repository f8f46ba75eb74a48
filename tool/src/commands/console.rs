//! `shimos console`: the terminal, or a pipe, connected to a partition.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::cli::{self, DetachKey};
use crate::error::{Error, IoContext, Result, io_text};
use crate::partition::lookup;
use crate::partition::{Cause, Device, Status};
use crate::ui::interrupt;
use crate::ui::output::{self, printable, written};
use crate::ui::refusal::OrRefuse;
use crate::ui::terminal::RawMode;

/// Input taken from the user that the partition has not taken yet.
const MAX_PENDING: usize = 4096;
/// As far as `tail` reads: it may go on printing.
const MAX_TAIL: u64 = 1 << 20;
/// The longest that a signal goes unseen.
const SLICE: Duration = Duration::from_millis(250);
/// How long a partition that restarts at reboot may be down.
const RESTART_GAP: Duration = Duration::from_millis(1000);
const CTRL_C: u8 = 3;

/// Why a session ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Detached,
    Timeout,
    PartitionEnded,
}

/// Connect the terminal, or a pipe, until the key, the partition's end or the time is up.
pub fn run(device: &dyn Device, args: &cli::Console) -> Result<()> {
    let status = lookup::find(device, &args.name)?;
    let console = open(device, &status)?;
    let terminal = io::stdin().is_terminal();
    if terminal {
        greet(&status, args);
    }
    let raw = terminal.then(RawMode::enter).transpose()?;
    let mut session = Session {
        device,
        id: status.id,
        console,
        input: File::from(
            io::stdin()
                .as_fd()
                .try_clone_to_owned()
                .or_fail("cannot read standard input")?,
        ),
        input_open: true,
        terminal,
        read_only: args.read_only,
        detach_key: args.detach_key,
        pending: Vec::new(),
        end: args.timeout.map(|t| Instant::now() + t),
    };
    let end = session.run();
    drop(raw);
    if terminal {
        output::detail("");
    }
    match end? {
        End::Detached => output::note(format_args!("disconnected from '{}'", status.name)),
        End::Timeout => {}
        End::PartitionEnded => say_how_it_ended(device, &status),
    }
    Ok(())
}

fn open(device: &dyn Device, status: &Status) -> Result<File> {
    let console = device
        .console(status.id)
        .or_refuse(format_args!("cannot open the console of '{}'", status.name))?;
    fcntl(&console, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).or_fail("cannot set up the console")?;
    Ok(console)
}

fn greet(status: &Status, args: &cli::Console) {
    let how = match (args.detach_key.shown(), args.read_only) {
        (Some(key), true) => format!("{key} or Ctrl-C ends watching"),
        (None, true) => "Ctrl-C ends watching".into(),
        (Some(key), false) => format!("{key} ends the connection"),
        (None, false) => "there is no key to end the connection".into(),
    };
    output::note(format_args!("connected to '{}', {how}", status.name));
}

fn say_how_it_ended(device: &dyn Device, before: &Status) {
    let name = &before.name;
    match device.status(before.id) {
        Ok(now) if now.message.is_empty() => {
            output::note(format_args!("'{name}' {}", now.cause.verb()));
        }
        Ok(now) => output::note(format_args!(
            "'{name}' {}: {}",
            now.cause.verb(),
            printable(&now.message)
        )),
        Err(_) => output::note(format_args!("'{name}' has been removed")),
    }
}

struct Session<'a> {
    device: &'a dyn Device,
    id: u32,
    console: File,
    input: File,
    input_open: bool,
    terminal: bool,
    read_only: bool,
    detach_key: DetachKey,
    pending: Vec<u8>,
    end: Option<Instant>,
}

impl Session<'_> {
    fn run(&mut self) -> Result<End> {
        loop {
            interrupt::check()?;
            if self.end.is_some_and(|end| Instant::now() >= end) {
                return Ok(End::Timeout);
            }
            let (console, input) = self.poll()?;
            if console.contains(PollFlags::POLLOUT) {
                self.send()?;
            }
            if console.intersects(PollFlags::POLLIN | PollFlags::POLLHUP | PollFlags::POLLERR)
                && !self.receive()?
            {
                return Ok(End::PartitionEnded);
            }
            if input.intersects(PollFlags::POLLIN | PollFlags::POLLHUP | PollFlags::POLLERR)
                && !self.take_input()?
            {
                return Ok(End::Detached);
            }
        }
    }

    /// Wait for something to do; what happened on the console and the input.
    fn poll(&self) -> Result<(PollFlags, PollFlags)> {
        let mut wanted = PollFlags::POLLIN;
        wanted.set(PollFlags::POLLOUT, !self.pending.is_empty());
        let mut fds = vec![PollFd::new(self.console.as_fd(), wanted)];
        if self.input_open && self.pending.len() < MAX_PENDING {
            fds.push(PollFd::new(self.input.as_fd(), PollFlags::POLLIN));
        }
        let left = self
            .end
            .map_or(SLICE, |end| end.saturating_duration_since(Instant::now()))
            .clamp(Duration::from_millis(1), SLICE);
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut fds, timeout) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok((PollFlags::empty(), PollFlags::empty())),
            Err(e) => return Err(e).or_fail("cannot wait for the console"),
        }
        let happened = |at: usize| {
            fds.get(at)
                .and_then(PollFd::revents)
                .unwrap_or(PollFlags::empty())
        };
        Ok((happened(0), happened(1)))
    }

    /// From the partition to the user; false at its end.
    fn receive(&mut self) -> Result<bool> {
        let mut buffer = [0; 16384];
        match self.console.read(&mut buffer) {
            Ok(0) => self.lives_on(),
            Ok(n) => {
                let mut out = io::stdout().lock();
                let data = buffer.get(..n).unwrap_or_default();
                written(out.write_all(data).and_then(|()| out.flush()))?;
                Ok(true)
            }
            Err(e) if is_temporary(&e) => Ok(true),
            Err(e) => Err(Error::new(format!(
                "cannot read the console: {}",
                io_text(&e)
            ))),
        }
    }

    /// The console has no more to give: has the partition ended, or is it on
    /// its way through a reboot?
    fn lives_on(&self) -> Result<bool> {
        let Ok(now) = self.device.status(self.id) else {
            return Ok(false);
        };
        if now.state.active() {
            return Ok(true);
        }
        if now.cause != Cause::Reboot {
            return Ok(false);
        }
        let change = self.device.wait(self.id, now.event, RESTART_GAP);
        Ok(matches!(change, Ok(Some(change)) if change.state.active()))
    }

    /// From the user to the queue; false if the user wants to leave.
    fn take_input(&mut self) -> Result<bool> {
        let mut buffer = [0; 1024];
        let got = match self.input.read(&mut buffer) {
            Ok(0) => {
                self.input_open = false;
                // A terminal that has gone away.
                return Ok(!self.terminal);
            }
            Ok(n) => n,
            Err(e) if is_temporary(&e) => return Ok(true),
            Err(e) => {
                return Err(Error::new(format!(
                    "cannot read standard input: {}",
                    io_text(&e)
                )));
            }
        };
        let mut data = buffer.get(..got).unwrap_or_default();
        let mut stay = true;
        if self.terminal {
            let leaves = |b: &u8| Some(*b) == self.detach_key.0 || (self.read_only && *b == CTRL_C);
            if let Some(at) = data.iter().position(leaves) {
                data = data.get(..at).unwrap_or_default();
                stay = false;
            }
        }
        if !self.read_only {
            self.pending.extend_from_slice(data);
            if !stay {
                self.send()?;
            }
        }
        Ok(stay)
    }

    /// From the queue to the partition.
    fn send(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        match self.console.write(&self.pending) {
            Ok(n) => {
                self.pending.drain(..n.min(self.pending.len()));
                Ok(())
            }
            Err(e) if is_temporary(&e) => Ok(()),
            // It does not run: nobody is there to read it.
            Err(e) if e.kind() == io::ErrorKind::NotConnected => {
                self.pending.clear();
                Ok(())
            }
            Err(e) => Err(Error::new(format!(
                "cannot write to the console: {}",
                io_text(&e)
            ))),
        }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Return the last lines that it still holds, or none: for when there is something worse to
/// report.
pub fn tail(device: &dyn Device, status: &Status, count: usize) -> Vec<String> {
    let mut data = Vec::new();
    if let Ok(console) = open(device, status) {
        // What was read before an error, or before there was no more, stays.
        let _ = console.take(MAX_TAIL).read_to_end(&mut data);
    }
    let text = String::from_utf8_lossy(&data);
    let lines: Vec<&str> = text.lines().collect();
    let skip = lines.len().saturating_sub(count);
    lines.into_iter().skip(skip).map(printable).collect()
}

/// Print what the console still holds; with `follow`, go on until it ends.
pub fn print(device: &dyn Device, status: &Status, follow: bool) -> Result<()> {
    let mut console = open(device, status)?;
    if !follow {
        let mut buffer = [0; 16384];
        loop {
            interrupt::check()?;
            match console.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => {
                    let data = buffer.get(..n).unwrap_or_default();
                    written(io::stdout().lock().write_all(data))?;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e).or_fail("cannot read the console"),
            }
        }
    }
    let nothing = File::open("/dev/null").or_fail("cannot open /dev/null")?;
    Session {
        device,
        id: status.id,
        console,
        input: nothing,
        input_open: false,
        terminal: false,
        read_only: true,
        detach_key: DetachKey(None),
        pending: Vec::new(),
        end: None,
    }
    .run()
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake::Fake;
    use std::os::unix::net::UnixStream;

    fn session(fake: &Fake, console: UnixStream, input: UnixStream, terminal: bool) -> Session<'_> {
        console.set_nonblocking(true).unwrap();
        Session {
            device: fake,
            id: 1,
            console: std::os::fd::OwnedFd::from(console).into(),
            input: std::os::fd::OwnedFd::from(input).into(),
            input_open: true,
            terminal,
            read_only: false,
            detach_key: DetachKey(Some(0x1d)),
            pending: Vec::new(),
            end: Some(Instant::now() + Duration::from_secs(5)),
        }
    }

    #[test]
    fn the_detach_key_leaves_what_came_before_is_sent() {
        let fake = Fake::with(&["a"]);
        let (partition, console) = UnixStream::pair().unwrap();
        let (mut user, input) = UnixStream::pair().unwrap();
        user.write_all(b"ls\r\x1dlost").unwrap();
        assert_eq!(
            session(&fake, console, input, true).run().unwrap(),
            End::Detached
        );
        let mut sent = String::new();
        (&partition).take(3).read_to_string(&mut sent).unwrap();
        assert_eq!(sent, "ls\r");
    }

    #[test]
    fn a_pipe_has_no_detach_key_and_its_end_is_not_the_end() {
        let fake = Fake::with(&["a"]);
        let (mut partition, console) = UnixStream::pair().unwrap();
        let (mut user, input) = UnixStream::pair().unwrap();
        user.write_all(b"a\x1db").unwrap();
        drop(user);
        let mut session = session(&fake, console, input, false);
        session.end = Some(Instant::now() + Duration::from_millis(100));
        assert_eq!(session.run().unwrap(), End::Timeout);
        let mut sent = [0; 3];
        partition.read_exact(&mut sent).unwrap();
        assert_eq!(&sent, b"a\x1db");
    }

    #[test]
    fn the_end_of_the_partition() {
        let fake = Fake::with(&["a"]);
        fake.kill(1).unwrap();
        let (partition, console) = UnixStream::pair().unwrap();
        let (_user, input) = UnixStream::pair().unwrap();
        drop(partition);
        let mut session = session(&fake, console, input, false);
        assert_eq!(session.run().unwrap(), End::PartitionEnded);
    }

    #[test]
    fn watchers_type_into_the_void() {
        let fake = Fake::with(&["a"]);
        let (partition, console) = UnixStream::pair().unwrap();
        let (mut user, input) = UnixStream::pair().unwrap();
        user.write_all(b"abc\x03").unwrap();
        let mut session = session(&fake, console, input, true);
        session.read_only = true;
        assert_eq!(session.run().unwrap(), End::Detached);
        drop(session);
        let mut sent = Vec::new();
        (&partition).read_to_end(&mut sent).unwrap();
        assert_eq!(sent, b"");
    }
}
