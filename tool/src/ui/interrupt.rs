//! Ctrl-C and its relatives: commands ask here at every step.

use std::thread;
use std::time::{Duration, Instant};

use crate::abi;
use crate::error::{Error, Result};

/// Fail if a signal has arrived.
pub fn check() -> Result<()> {
    match abi::pending_signal() {
        Some(signal) => Err(Error::interrupted(signal)),
        None => Ok(()),
    }
}

/// The longest that a signal goes unseen during a pause.
const SLICE: Duration = Duration::from_millis(100);

/// Sleep until then; fail if a signal arrives.
pub fn pause_until(end: Instant) -> Result<()> {
    loop {
        check()?;
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(SLICE));
    }
}
