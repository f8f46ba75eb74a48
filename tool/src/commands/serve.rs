//! `shimos serve`: not for people, see `devices::served::background`.

use crate::devices::served::background;
use crate::error::Result;

/// Serve a device, as standard input says, until it is gone.
pub fn run() -> Result<()> {
    background::run()
}
