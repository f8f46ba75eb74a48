//! Processes whose parents have gone. A kernel's first process becomes their parent, and must
//! hear of their ends: a container is not over before that of the last of its processes.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::Exit;

/// As many ends are remembered: more than there are containers, and fewer than it takes until a
/// number comes again.
const REMEMBERED: usize = 1000;

/// The latest last.
static ENDED: Mutex<VecDeque<(Pid, Exit)>> = Mutex::new(VecDeque::new());
static MORE: Condvar = Condvar::new();

/// Hold back what says that a child has ended, for `reap`. Threads that begin later have it, too.
pub fn prepare() -> io::Result<()> {
    Ok(child_signal().thread_block()?)
}

/// Hear of their ends for ever. Only the first thread can: they become its children, and those
/// of other threads are not its concern.
pub fn reap() -> io::Result<()> {
    loop {
        while let Some((pid, exit)) = next()? {
            remember(pid, exit);
        }
        child_signal().wait()?;
    }
}

fn child_signal() -> SigSet {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    signals
}

/// One of this thread's that has ended.
fn next() -> io::Result<Option<(Pid, Exit)>> {
    let flags = WaitPidFlag::WNOHANG | WaitPidFlag::__WNOTHREAD | WaitPidFlag::__WALL;
    match waitpid(None, Some(flags)) {
        Ok(WaitStatus::Exited(pid, code)) => Ok(Some((pid, Exit::Code(code as u8)))),
        Ok(WaitStatus::Signaled(pid, signal, _)) => Ok(Some((pid, Exit::Signal(signal as u8)))),
        Ok(_) | Err(nix::errno::Errno::ECHILD) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

fn remember(pid: Pid, exit: Exit) {
    let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    if ended.len() == REMEMBERED {
        ended.pop_front();
    }
    ended.push_back((pid, exit));
    MORE.notify_all();
}

/// Wait until one of them has ended.
pub fn wait(pid: Pid) -> Exit {
    let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(at) = ended.iter().rposition(|(other, _)| *other == pid) {
            if let Some((_, exit)) = ended.remove(at) {
                return exit;
            }
        }
        ended = MORE.wait(ended).unwrap_or_else(PoisonError::into_inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_end_of_one() {
        let begun = |command: &str| {
            let child = Command::new("sh").args(["-c", command]).spawn();
            Pid::from_raw(child.unwrap().id() as i32)
        };
        let (first, second) = (begun("exit 7"), begun("kill -9 $$"));
        // They are children of this thread, as orphans are of the first one.
        let mut left = 2;
        while left > 0 {
            if let Some((pid, exit)) = next().unwrap() {
                remember(pid, exit);
                left -= 1;
            }
        }
        assert_eq!(wait(second), Exit::Signal(9));
        assert_eq!(wait(first), Exit::Code(7));
    }

    #[test]
    fn one_that_ends_later() {
        let pid = Pid::from_raw(i32::MAX);
        let waiter = std::thread::spawn(move || wait(pid));
        remember(pid, Exit::Code(3));
        assert_eq!(waiter.join().unwrap(), Exit::Code(3));
    }
}
