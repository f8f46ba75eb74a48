//! Catch the signals that end a command, so that it can undo what is half done.
//!
//! The handlers are installed without `SA_RESTART`: a blocking call returns
//! `EINTR`, and whoever made it asks `pending_signal()`.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::Pid;

static PENDING: AtomicI32 = AtomicI32::new(0);

extern "C" fn remember(signal: i32) {
    // The first one counts: it names the exit code.
    let _ = PENDING.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
}

const CAUGHT: [Signal; 4] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];

/// Make SIGINT, SIGTERM, SIGHUP and SIGQUIT be only remembered from now on.
pub fn catch_signals() {
    let action = SigAction::new(
        SigHandler::Handler(remember),
        SaFlags::empty(),
        SigSet::empty(),
    );
    for signal in CAUGHT {
        // SAFETY: the handler does nothing but an atomic operation, which is
        // async-signal-safe.
        let old = unsafe { sigaction(signal, &action) };
        // Started with nohup or in the background of a script: stay ignored.
        if let Ok(old) = old {
            if old.handler() == SigHandler::SigIgn {
                // SAFETY: puts back what was there.
                let _ = unsafe { sigaction(signal, &old) };
            }
        }
    }
}

/// Let them end the process again, at once: for one that leaves nothing half done.
pub fn default_signals() {
    let action = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in CAUGHT {
        // SAFETY: there is no handler any more.
        let _ = unsafe { sigaction(signal, &action) };
    }
}

/// Let a program that is about to start get SIGTERM when this process ends, however it does.
pub fn end_with_us(command: &mut Command) {
    let us = Pid::this();
    let ask = move || {
        set_pdeathsig(Signal::SIGTERM)?;
        // It may have ended meanwhile.
        match Pid::parent() == us {
            true => Ok(()),
            false => Err(io::Error::from(io::ErrorKind::Interrupted)),
        }
    };
    // SAFETY: it makes system calls only.
    unsafe { command.pre_exec(ask) };
}

/// Return the first signal that arrived, if any, and forget it: it was for somebody else.
pub fn take_signal() -> Option<i32> {
    match PENDING.swap(0, Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

/// Return the first signal that arrived, if any.
pub fn pending_signal() -> Option<i32> {
    match PENDING.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}
