//! The user's terminal in raw mode or as a full screen, and back, whatever happens.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::termios::{self, SetArg, Termios};
use ratatui::termion::cursor;
use ratatui::termion::screen::{ToAlternateScreen, ToMainScreen};

use crate::error::{IoContext, Result};
use crate::ui::output;

/// The settings to go back to, while the terminal is raw.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
/// All of it is ours, as a screen.
static TAKEN: AtomicBool = AtomicBool::new(false);

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

/// The whole terminal until it is dropped.
pub struct FullScreen {
    /// Gives the screen back, too.
    _raw: RawMode,
}

impl FullScreen {
    /// Take all of the terminal until this is dropped.
    pub fn enter() -> Result<Self> {
        let screen = FullScreen {
            _raw: RawMode::enter()?,
        };
        TAKEN.store(true, Ordering::Relaxed);
        send(&ToAlternateScreen).or_fail("cannot set up the terminal")?;
        Ok(screen)
    }
}

fn send(what: &dyn std::fmt::Display) -> io::Result<()> {
    let mut out = io::stdout();
    write!(out, "{what}").and_then(|()| out.flush())
}

/// Give the screen back; nothing if it was not taken.
fn leave() {
    if TAKEN.swap(false, Ordering::Relaxed) {
        let _ = send(&format_args!("{ToMainScreen}{}", cursor::Show));
    }
}

fn restore() {
    leave();
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
