//! A terminal's size, and who it controls.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;
use nix::pty::Winsize;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

mod ioctl {
    use super::*;

    nix::ioctl_read_bad!(get_size, libc::TIOCGWINSZ, Winsize);
    nix::ioctl_write_ptr_bad!(set_size, libc::TIOCSWINSZ, Winsize);
    nix::ioctl_write_int_bad!(control, libc::TIOCSCTTY);
}

/// Ask for its rows and columns.
pub fn size(terminal: impl AsFd) -> nix::Result<(u16, u16)> {
    let mut size = winsize(0, 0);
    // SAFETY: the structure is the one the call is defined with, and lives through the
    // call; the same holds for the next one.
    unsafe { ioctl::get_size(terminal.as_fd().as_raw_fd(), &mut size) }?;
    Ok((size.ws_row, size.ws_col))
}

/// Set its rows and columns; its programs hear of it.
pub fn set_size(terminal: impl AsFd, rows: u16, columns: u16) -> nix::Result<()> {
    // SAFETY: see size().
    unsafe { ioctl::set_size(terminal.as_fd().as_raw_fd(), &winsize(rows, columns)) }.map(drop)
}

/// Return rows and columns as the kernel has them.
pub fn winsize(rows: u16, columns: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// Make it control this session, which has none.
pub fn take_control(terminal: impl AsFd) -> nix::Result<()> {
    // SAFETY: the call has a number only.
    unsafe { ioctl::control(terminal.as_fd().as_raw_fd(), 0) }.map(drop)
}

static CHANGED: AtomicBool = AtomicBool::new(false);

extern "C" fn remember(_: i32) {
    CHANGED.store(true, Ordering::Relaxed);
}

/// Remember from now on that the terminal's size changes.
pub fn watch_size() {
    let action = SigAction::new(
        SigHandler::Handler(remember),
        SaFlags::empty(),
        SigSet::empty(),
    );
    // SAFETY: the handler does nothing but an atomic operation, which is
    // async-signal-safe.
    let _ = unsafe { sigaction(Signal::SIGWINCH, &action) };
}

/// Tell whether it has changed since this was asked last.
pub fn size_changed() -> bool {
    CHANGED.swap(false, Ordering::Relaxed)
}
