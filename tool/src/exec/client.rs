//! The host's side: a program in a partition, with this process's input, output and signals.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd;

use super::{Exit, Kind, MAX_FRAME, PORT, Start, USUAL_SIZE, WINDOW, receive, send, send_json};
use crate::abi::{self, tty, vsock};
use crate::error::{Error, IoContext, Result};
use crate::ui::interrupt;
use crate::ui::output::{self, printable, written};
use crate::ui::terminal::RawMode;

/// The longest that a signal goes unseen.
const SLICE: Duration = Duration::from_millis(250);
const LOST: &str = "the connection is lost: the partition, or its service, has ended";

/// Return the size of this process's terminal, for the program's.
pub fn terminal_size() -> (u16, u16) {
    match tty::size(io::stdin()) {
        Ok((0, _) | (_, 0)) | Err(_) => USUAL_SIZE,
        Ok(size) => size,
    }
}

/// Run a program in the partition of that address, until it has ended.
pub fn run(cid: u32, start: &Start) -> Result<Exit> {
    let connection = connect(cid)?;
    let terminal = start.terminal.is_some() && io::stdin().is_terminal();
    let raw = terminal.then(RawMode::enter).transpose()?;
    tty::watch_size();
    let result = talk(connection, start);
    drop(raw);
    result
}

/// Run a program without input there; returns how it ended, and all that it said. An error is
/// that it could not be asked, or that it has not ended within `patience`.
pub fn ask(cid: u32, start: &Start, patience: Duration) -> Result<(Exit, String)> {
    let end = Instant::now() + patience;
    let mut connection = connect(cid)?;
    send_json(&mut connection, Kind::Start, start).or_fail(LOST)?;
    send(&mut connection, Kind::InputEnd, &[]).or_fail(LOST)?;
    let mut said = Vec::new();
    loop {
        if !wait(&connection)? {
            interrupt::check()?;
            if Instant::now() > end {
                return Err(Error::new("the partition does not answer"));
            }
            continue;
        }
        match receive(&mut connection).or_fail(LOST)? {
            Some((Kind::Output | Kind::Errors, payload)) => said.extend(payload),
            Some((Kind::Taken, _)) => {}
            Some((Kind::Exit, json)) => {
                let exit = serde_json::from_slice(&json).map_err(|_| Error::new(LOST))?;
                return Ok((exit, String::from_utf8_lossy(&said).into_owned()));
            }
            _ => return Err(Error::new(LOST)),
        }
    }
}

fn connect(cid: u32) -> Result<File> {
    vsock::connect(cid, PORT).map_err(|e| match e {
        Errno::EINTR => Error::interrupted(abi::pending_signal().unwrap_or_default()),
        Errno::ECONNRESET | Errno::ETIMEDOUT | Errno::ENODEV => {
            Error::new(format!("nobody answers on CID {cid}: {}", e.desc())).hint(
                "start the service there: systemctl enable --now shimos-execd, or: shimos execd",
            )
        }
        e => Error::new(format!("cannot connect to CID {cid}: {}", e.desc())),
    })
}

fn talk(mut connection: File, start: &Start) -> Result<Exit> {
    let to = Arc::new(To::new(connection.try_clone().or_fail("cannot talk")?));
    to.json(Kind::Start, start)?;
    let terminal = start.terminal.is_some();
    let for_input = Arc::clone(&to);
    // It ends with the process: nobody can wait for a read of standard input.
    thread::spawn(move || for_input.input(&mut io::stdin().lock()));
    loop {
        if !wait(&connection)? {
            pass_signals(&to, terminal)?;
            continue;
        }
        let (kind, payload) = match receive(&mut connection) {
            Ok(Some(frame)) => frame,
            Ok(None) => return Err(Error::new(LOST)),
            Err(e) => return Err(e).or_fail(LOST),
        };
        match kind {
            Kind::Output if payload.is_empty() => close(unistd::dup2_stdout)?,
            Kind::Errors if payload.is_empty() => close(unistd::dup2_stderr)?,
            Kind::Output => show(&mut io::stdout().lock(), &payload)?,
            Kind::Errors => show(&mut io::stderr().lock(), &payload)?,
            Kind::Taken => to.taken(&payload),
            Kind::Exit => {
                return serde_json::from_slice(&payload).map_err(|_| Error::new(LOST));
            }
            _ => return Err(Error::new("the partition's service makes no sense")),
        }
    }
}

/// The program has closed an output: so does this process.
fn close(replace: fn(File) -> nix::Result<()>) -> Result<()> {
    let nowhere = File::options().write(true).open("/dev/null");
    nowhere
        .and_then(|nowhere| Ok(replace(nowhere)?))
        .or_fail("cannot close an output")
}

fn show(to: &mut impl Write, data: &[u8]) -> Result<()> {
    written(to.write_all(data).and_then(|()| to.flush()))
}

/// Wait for a frame; false: look at the signals.
fn wait(connection: &File) -> Result<bool> {
    let mut polled = [PollFd::new(connection.as_fd(), PollFlags::POLLIN)];
    let slice = PollTimeout::try_from(SLICE).unwrap_or(PollTimeout::MAX);
    match poll(&mut polled, slice) {
        Ok(count) => Ok(count > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(e) => Err(e).or_fail("cannot wait for the partition"),
    }
}

fn pass_signals(to: &To, terminal: bool) -> Result<()> {
    if terminal && tty::size_changed() {
        let (rows, columns) = terminal_size();
        to.frame(
            Kind::Size,
            &[rows.to_le_bytes(), columns.to_le_bytes()].concat(),
        )?;
    }
    if let Some(number) = abi::take_signal() {
        to.frame(Kind::Signal, &[number as u8])?;
    }
    Ok(())
}

/// The way to the partition, for two threads.
struct To {
    /// A frame at a time.
    connection: Mutex<File>,
    /// How much input there is room for.
    room: Mutex<usize>,
    more_room: Condvar,
}

impl To {
    fn new(connection: File) -> Self {
        To {
            connection: Mutex::new(connection),
            room: Mutex::new(WINDOW),
            more_room: Condvar::new(),
        }
    }

    fn frame(&self, kind: Kind, payload: &[u8]) -> Result<()> {
        let mut connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        send(&mut *connection, kind, payload).or_fail(LOST)
    }

    fn json(&self, kind: Kind, value: &impl serde::Serialize) -> Result<()> {
        let mut connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        send_json(&mut *connection, kind, value).or_fail(LOST)
    }

    /// Pass on all of it. An error is the connection's, which the other thread sees as well.
    fn input(&self, from: &mut impl Read) {
        let mut piece = vec![0; MAX_FRAME];
        loop {
            let most = self.wait_for_room().min(MAX_FRAME);
            let read = from.read(piece.get_mut(..most).unwrap_or_default());
            let result = match read {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Ok(n) if n > 0 => {
                    self.take_room(n);
                    self.frame(Kind::Input, piece.get(..n).unwrap_or_default())
                }
                _ => {
                    let _ = self.frame(Kind::InputEnd, &[]);
                    return;
                }
            };
            if result.is_err() {
                return;
            }
        }
    }

    fn wait_for_room(&self) -> usize {
        let room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let there = self.more_room.wait_while(room, |room| *room == 0);
        *there.unwrap_or_else(PoisonError::into_inner)
    }

    fn take_room(&self, n: usize) {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        *room = room.saturating_sub(n);
    }

    /// The partition's word is not taken for more than there can be.
    fn taken(&self, payload: &[u8]) {
        let n = payload.try_into().map_or(0, u32::from_le_bytes) as usize;
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        *room = room.saturating_add(n).min(WINDOW);
        self.more_room.notify_all();
    }
}

/// Make the exit code of this process of it.
pub fn code(exit: &Exit) -> Result<()> {
    match exit {
        Exit::Code(0) => Ok(()),
        Exit::Code(code) => Err(Error::Reported(*code)),
        Exit::Signal(signal) => Err(Error::Reported(128u8.wrapping_add(signal & 0x7f))),
        Exit::NotRun(code, why) => {
            output::error(&Error::new(printable(why)));
            Err(Error::Reported(*code))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn input_waits_for_room() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let to = Arc::new(To::new(OwnedFd::from(ours).into()));
        let sender = Arc::clone(&to);
        let input =
            thread::spawn(move || sender.input(&mut io::repeat(b'x').take(3 * WINDOW as u64)));
        let mut from = File::from(OwnedFd::from(theirs));
        let mut got = 0;
        while let Some((kind, payload)) = receive(&mut from).unwrap() {
            if kind == Kind::InputEnd {
                break;
            }
            got += payload.len();
            if got % WINDOW == 0 {
                assert_eq!(*to.room.lock().unwrap(), 0, "all of it is on its way");
                to.taken(&(WINDOW as u32).to_le_bytes());
            }
        }
        input.join().unwrap();
        assert_eq!(got, 3 * WINDOW);
        to.taken(&u32::MAX.to_le_bytes());
        assert_eq!(*to.room.lock().unwrap(), WINDOW);
    }

    #[test]
    fn exit_codes() {
        let of = |exit| code(&exit).map_err(|e| e.exit_code());
        assert_eq!(of(Exit::Code(0)), Ok(()));
        assert_eq!(of(Exit::Code(7)), Err(7));
        assert_eq!(of(Exit::Signal(9)), Err(137));
        assert_eq!(of(Exit::NotRun(127, "x".into())), Err(127));
    }
}
