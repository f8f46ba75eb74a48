//! Ctrl-C and its relatives: commands ask here at every step.

use crate::abi;
use crate::error::{Error, Result};

/// Fail if a signal has arrived.
pub fn check() -> Result<()> {
    match abi::pending_signal() {
        Some(signal) => Err(Error::interrupted(signal)),
        None => Ok(()),
    }
}
