//! One program of the host's in this partition: between the connection and its terminal or
//! pipes, until it has ended.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::program::{Ends, Program};
use super::{
    Container, Exit, FAILED, Kind, MAX_FRAME, Start, WINDOW, kept, pair, receive, send, send_json,
};
use crate::system::System;
use crate::system::cgroup::Figures;

const READY: PollFlags = PollFlags::POLLIN
    .union(PollFlags::POLLHUP)
    .union(PollFlags::POLLERR);

/// Serve one connection until its program has ended, or the host has gone.
pub fn run(mut connection: File) -> io::Result<()> {
    let start = match receive(&mut connection)? {
        Some((Kind::Start, json)) => serde_json::from_slice::<Start>(&json)?,
        _ => return Err(io::Error::other("a session begins with START")),
    };
    let exit = match begin(&start) {
        Ok(Begun::Program(program)) => Session::run(&mut connection, program)?,
        Ok(Begun::Kept) => Exit::Code(0),
        Ok(Begun::Figures(figures)) => {
            send_json(&mut connection, Kind::Output, &figures)?;
            Exit::Code(0)
        }
        Err(exit) => exit,
    };
    send_json(&mut connection, Kind::Exit, &exit)?;
    until_closed(&mut connection)
}

/// The host closes it first. Who closes a vsock first, with data on its way, holds on to its
/// ports for 8 s and then resets whatever has them meanwhile (VSOCK_CLOSE_TIMEOUT,
/// net/vmw_vsock/virtio_transport_common.c): here that is the host's kernel, which gives them
/// to nobody else as long.
fn until_closed(connection: &mut File) -> io::Result<()> {
    io::copy(connection, &mut io::sink()).map(drop)
}

enum Begun {
    Program(Program),
    /// A container is ready; its program has not begun.
    Kept,
    Figures(Figures),
}

fn begin(start: &Start) -> Result<Begun, Exit> {
    match &start.container {
        None => Ends::start(start).map(|(child, ends)| Begun::Program(Program::child(child, ends))),
        Some(Container::Create(id)) => kept::create(id, start).map(|()| Begun::Kept),
        Some(Container::Join(id)) => kept::join(id, start.terminal).map(Begun::Program),
        Some(Container::Figures(group)) => match Figures::of(&System::real(), group) {
            Some(figures) => Ok(Begun::Figures(figures)),
            None => Err(Exit::NotRun(
                FAILED,
                format!("there is no cgroup '{group}'"),
            )),
        },
    }
}

/// What is to be done.
#[derive(Debug, Default)]
struct Ready {
    connection: bool,
    input: bool,
    /// By their places.
    outputs: Vec<usize>,
    ended: bool,
}

struct Session<'a> {
    connection: &'a mut File,
    signals: Pid,
    abandoned: Signal,
    ends: Ends,
    /// Input that it has not taken yet, at most WINDOW.
    pending: VecDeque<u8>,
    input_ends: bool,
}

impl<'a> Session<'a> {
    fn run(connection: &'a mut File, program: Program) -> io::Result<Exit> {
        let (ended, mut tell) = UnixStream::pair()?;
        let waiter = thread::spawn(move || {
            let exit = (program.wait)();
            let _ = tell.write_all(&[0]);
            exit
        });
        let mut session = Session {
            connection,
            signals: program.signals,
            abandoned: program.abandoned,
            ends: program.ends,
            pending: VecDeque::new(),
            input_ends: false,
        };
        let result = session.until_it_ends(&ended);
        if result.is_err() {
            // Nobody listens any more; what it does about that is its own matter.
            let _ = kill(session.signals, session.abandoned);
            session.ends.outputs.clear();
            session.ends.input = None;
        }
        let exit = waiter
            .join()
            .map_err(|_| io::Error::other("nobody waited for it"))??;
        result?;
        // What its children still write after that is not its own.
        for at in (0..session.ends.outputs.len()).rev() {
            while session.pass_on(at)? {}
        }
        Ok(exit)
    }

    fn until_it_ends(&mut self, ended: &UnixStream) -> io::Result<()> {
        loop {
            let ready = self.wait(ended)?;
            if ready.connection {
                self.take_frame()?;
            }
            if ready.input {
                self.give_input()?;
            }
            // The last first: one that ends is removed.
            for at in ready.outputs.into_iter().rev() {
                self.pass_on(at)?;
            }
            if ready.ended {
                return Ok(());
            }
        }
    }

    fn wait(&self, ended: &UnixStream) -> io::Result<Ready> {
        let mut polled = vec![
            PollFd::new(self.connection.as_fd(), PollFlags::POLLIN),
            PollFd::new(ended.as_fd(), PollFlags::POLLIN),
        ];
        let outputs = self.ends.outputs.iter();
        polled.extend(outputs.map(|(_, end)| PollFd::new(end.as_fd(), PollFlags::POLLIN)));
        let input = self
            .ends
            .input
            .as_ref()
            .filter(|_| !self.pending.is_empty());
        polled.extend(input.map(|end| PollFd::new(end.as_fd(), PollFlags::POLLOUT)));
        match poll(&mut polled, PollTimeout::NONE) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Ready::default()),
            Err(e) => return Err(e.into()),
        }
        let found: Vec<PollFlags> = polled
            .iter()
            .map(|p| p.revents().unwrap_or(PollFlags::empty()))
            .collect();
        let is = |at: usize, what: PollFlags| found.get(at).is_some_and(|f| f.intersects(what));
        let count = self.ends.outputs.len();
        Ok(Ready {
            connection: is(0, READY),
            ended: is(1, READY),
            outputs: (0..count).filter(|at| is(2 + at, READY)).collect(),
            input: input.is_some() && !found.get(2 + count).is_none_or(|f| f.is_empty()),
        })
    }

    /// What the host says is not believed further than it makes sense.
    fn take_frame(&mut self) -> io::Result<()> {
        let Some((kind, payload)) = receive(self.connection)? else {
            return Err(ErrorKind::ConnectionAborted.into());
        };
        match kind {
            Kind::Input if self.pending.len() + payload.len() <= WINDOW => {
                self.pending.extend(payload);
                self.give_input()?;
            }
            Kind::InputEnd => {
                self.input_ends = true;
                self.give_input()?;
            }
            Kind::Size => {
                if let Some(size) = pair(&payload) {
                    self.ends.resize(size);
                }
            }
            Kind::Signal => {
                let number = payload.first().copied().unwrap_or_default();
                if let Ok(signal) = Signal::try_from(i32::from(number)) {
                    let _ = kill(self.signals, signal);
                }
            }
            _ => return Err(io::Error::other("the host says what it cannot say now")),
        }
        Ok(())
    }

    /// As much as the program takes now; the host hears that there is room again.
    fn give_input(&mut self) -> io::Result<()> {
        let mut taken = 0;
        while let (Some(input), false) = (&mut self.ends.input, self.pending.is_empty()) {
            match input.write(self.pending.as_slices().0) {
                Ok(n) => {
                    self.pending.drain(..n);
                    taken += n;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // It does not read any more: the rest is for nobody.
                Err(_) => {
                    taken += self.pending.len();
                    self.pending.clear();
                    self.ends.input = None;
                }
            }
        }
        if self.ends.input.is_none() {
            taken += self.pending.len();
            self.pending.clear();
        }
        if self.input_ends && self.pending.is_empty() {
            // A terminal has no end; Ctrl-D is what its user types.
            self.ends.input = None;
        }
        match u32::try_from(taken) {
            Ok(n) if n > 0 => send(self.connection, Kind::Taken, &n.to_le_bytes()),
            _ => Ok(()),
        }
    }

    /// Pass on what there is of an output; false: there is nothing now, or never again.
    fn pass_on(&mut self, at: usize) -> io::Result<bool> {
        let Some((kind, end)) = self.ends.outputs.get_mut(at) else {
            return Ok(false);
        };
        let mut piece = vec![0; MAX_FRAME];
        let n = match end.read(&mut piece) {
            Ok(n) => n,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(e) if e.kind() == ErrorKind::Interrupted => return Ok(true),
            // A terminal that nobody has open any more.
            Err(_) => 0,
        };
        if n == 0 {
            let (kind, _) = self.ends.outputs.remove(at);
            // Whoever reads there waits for the end, while the program may go on.
            send(self.connection, kind, &[])?;
            return Ok(false);
        }
        send(self.connection, *kind, piece.get(..n).unwrap_or_default())?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::{NOT_EXECUTABLE, NOT_FOUND};
    use std::os::fd::OwnedFd;

    /// The host's side of a session with this command.
    fn host(command: &[&str]) -> (File, thread::JoinHandle<io::Result<()>>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let session = thread::spawn(move || run(OwnedFd::from(theirs).into()));
        let mut host = File::from(OwnedFd::from(ours));
        let start = Start {
            command: command.iter().map(|word| (*word).into()).collect(),
            env: vec!["GREETING=hello".into()],
            ..Start::default()
        };
        send_json(&mut host, Kind::Start, &start).unwrap();
        (host, session)
    }

    /// All that comes until the end: standard output, standard error, what was taken.
    fn listen(host: &mut File) -> (String, String, usize, Exit) {
        let (mut out, mut errors, mut taken) = (Vec::new(), Vec::new(), 0);
        loop {
            let (kind, payload) = receive(host).unwrap().unwrap();
            match kind {
                Kind::Output => out.extend(payload),
                Kind::Errors => errors.extend(payload),
                Kind::Taken => taken += u32::from_le_bytes(payload.try_into().unwrap()) as usize,
                Kind::Exit => {
                    let text = |bytes| String::from_utf8(bytes).unwrap();
                    let exit = serde_json::from_slice(&payload).unwrap();
                    return (text(out), text(errors), taken, exit);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn output_errors_and_the_code() {
        let (mut host, _) = host(&["sh", "-c", "echo $GREETING; pwd; echo bad >&2; exit 7"]);
        let (out, errors, _, exit) = listen(&mut host);
        assert_eq!((out.as_str(), errors.as_str()), ("hello\n/\n", "bad\n"));
        assert_eq!(exit, Exit::Code(7));
    }

    #[test]
    fn input_to_its_end() {
        let (mut host, _) = host(&["wc", "-c"]);
        for _ in 0..4 {
            send(&mut host, Kind::Input, &[b'x'; MAX_FRAME]).unwrap();
        }
        send(&mut host, Kind::InputEnd, &[]).unwrap();
        let (out, _, taken, exit) = listen(&mut host);
        assert_eq!((out.trim(), taken), ("262144", 4 * MAX_FRAME));
        assert_eq!(exit, Exit::Code(0));
    }

    #[test]
    fn what_does_not_read_can_be_ended() {
        let (mut host, _) = host(&["sleep", "1000"]);
        for _ in 0..4 {
            send(&mut host, Kind::Input, &[b'x'; MAX_FRAME]).unwrap();
        }
        send(&mut host, Kind::Signal, &[15]).unwrap();
        assert_eq!(listen(&mut host).3, Exit::Signal(15));
    }

    #[test]
    fn what_does_not_run() {
        let code = |command: &[&str]| match listen(&mut host(command).0).3 {
            Exit::NotRun(code, text) => (code, text),
            other => panic!("{other:?}"),
        };
        let (not_found, text) = code(&["no-such-program"]);
        assert_eq!(not_found, NOT_FOUND);
        assert_eq!(
            text,
            "cannot run 'no-such-program': No such file or directory"
        );
        assert_eq!(code(&["/etc/passwd"]).0, NOT_EXECUTABLE);
        assert_eq!(code(&[]).0, FAILED);
    }

    #[test]
    fn more_than_there_is_room_for() {
        let (mut host, session) = host(&["sleep", "1000"]);
        for _ in 0..8 {
            let _ = send(&mut host, Kind::Input, &[b'x'; MAX_FRAME]);
        }
        assert!(session.join().unwrap().is_err(), "and it has been ended");
    }

    #[test]
    fn the_host_goes() {
        let (host, session) = host(&["sleep", "1000"]);
        drop(host);
        assert!(session.join().unwrap().is_err(), "and it has been ended");
    }
}
