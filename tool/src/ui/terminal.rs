//! The user's terminal in raw mode or as a full screen, and back, whatever happens.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::termios::{self, SetArg, Termios};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};

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
pub struct FullScreen(());

impl FullScreen {
    /// Take all of the terminal until this is dropped.
    pub fn enter() -> Result<Self> {
        const WHAT: &str = "cannot set up the terminal";
        enable_raw_mode().or_fail(WHAT)?;
        TAKEN.store(true, Ordering::Relaxed);
        let screen = FullScreen(());
        execute!(io::stdout(), EnterAlternateScreen).or_fail(WHAT)?;
        Ok(screen)
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        leave();
    }
}

/// Give the screen back; nothing if it was not taken.
fn leave() {
    if TAKEN.swap(false, Ordering::Relaxed) {
        let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
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
