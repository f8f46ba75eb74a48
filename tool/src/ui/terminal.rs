//! The user's terminal in raw mode, and back, whatever happens.

use std::io;
use std::sync::Mutex;

use nix::sys::termios::{self, SetArg, Termios};

use crate::error::{IoContext, Result};
use crate::machine::top::screen;
use crate::ui::output;

/// The settings to go back to, while the terminal is raw.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Raw mode until it is dropped.
pub struct RawMode(());

impl RawMode {
    /// Make the terminal raw until this is dropped.
    pub fn enter() -> Result<Self> {
        const WHAT: &str = "cannot set up the terminal";
        let before = termios::tcgetattr(io::stdin()).or_fail(WHAT)?;
        let mut raw = before.clone();
        termios::cfmakeraw(&mut raw);
        if let Ok(mut slot) = BEFORE.lock() {
            *slot = Some(before);
        }
        let guard = RawMode(());
        termios::tcsetattr(io::stdin(), SetArg::TCSADRAIN, &raw).or_fail(WHAT)?;
        Ok(guard)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    screen::leave();
    let before = match BEFORE.try_lock() {
        Ok(mut slot) => slot.take(),
        Err(_) => None,
    };
    if let Some(before) = before {
        let _ = termios::tcsetattr(io::stdin(), SetArg::TCSADRAIN, &before);
    }
}

/// Let a bug in the tool not leave the terminal raw.
pub fn restore_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        restore();
        output::note(format_args!("internal error, please report it: {panic}"));
    }));
}
