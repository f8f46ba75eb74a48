//! The partition's side: a service that runs what the host asks for.

use std::ffi::CString;
use std::io;
use std::thread;

use nix::errno::Errno;
use nix::unistd::{execvp, setsid};

use super::program::not_run;
use super::session;
use super::{Exit, FAILED, HOST_CID, PORT};
use crate::abi::{tty, vsock};
use crate::error::{Error, IoContext, Result};
use crate::ui::{interrupt, output};

/// Run what the host asks for, until a signal ends this. `ready` is called when it can ask.
pub fn run(ready: impl FnOnce() -> Result<()>) -> Result<()> {
    let listener = vsock::listen(PORT)
        .or_fail(format_args!("cannot listen on port {PORT} of AF_VSOCK"))
        .map_err(|e| e.hint("load the driver: modprobe vmw_vsock_virtio_transport"))?;
    ready()?;
    loop {
        interrupt::check()?;
        match vsock::accept(&listener) {
            Ok((connection, HOST_CID, port)) if vsock::RESERVED.contains(&port) => {
                thread::spawn(move || session::run(connection));
            }
            // Whoever may open a socket on the host is not root there.
            Ok((_, HOST_CID, port)) => {
                output::note(format_args!("port {port} of the host is not root's"));
            }
            Ok((_, other, _)) => output::note(format_args!("CID {other} is not the host")),
            Err(Errno::EINTR | Errno::ECONNABORTED) => {}
            Err(e) => return Err(e).or_fail("cannot take a connection"),
        }
    }
}

/// Be a program that has its terminal on standard input for itself; returns if that fails.
pub fn in_its_terminal(command: &[String]) -> Result<()> {
    let (code, message) = match become_it(command) {
        Exit::NotRun(code, message) => (code, message),
        Exit::Code(code) | Exit::Signal(code) => (code, String::new()),
    };
    output::error(&Error::new(message));
    Err(Error::Reported(code))
}

fn become_it(command: &[String]) -> Exit {
    let failed = |e: Errno| Exit::NotRun(FAILED, format!("no terminal: {}", e.desc()));
    let taken = setsid().and_then(|_| tty::take_control(io::stdin()));
    if let Err(e) = taken {
        return failed(e);
    }
    let words: std::result::Result<Vec<CString>, _> = command
        .iter()
        .map(|word| CString::new(word.as_str()))
        .collect();
    match words.as_deref() {
        Ok([program, ..]) => match execvp(program, words.as_deref().unwrap_or_default()) {
            Err(e) => not_run(&program.to_string_lossy(), &e.into()),
            Ok(never) => match never {},
        },
        _ => Exit::NotRun(FAILED, "no command is given".into()),
    }
}
