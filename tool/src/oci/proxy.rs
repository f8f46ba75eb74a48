//! What runs in the shadow: it passes input, output, signals and the exit code on.

use std::io::{self, IsTerminal};

use super::guest;
use crate::error::{Error, Result};
use crate::exec::{FAILED, Start, client};
use crate::ui::output;

/// Let a container's program begin in the partition of that address, and stay until it has ended.
pub fn start(cid: u32, id: &str) -> Result<()> {
    be(cid, guest::start(id, terminal()))
}

/// Stay with one more process of it, which a file in the share describes, until it has ended.
pub fn join(cid: u32, file: &str) -> Result<()> {
    be(cid, guest::join(file, terminal()))
}

fn terminal() -> Option<(u16, u16)> {
    io::stdin().is_terminal().then(client::terminal_size)
}

fn be(cid: u32, start: Start) -> Result<()> {
    match client::run(cid, &start) {
        Ok(exit) => client::code(&exit),
        Err(error) => {
            output::error(&error);
            Err(Error::Reported(FAILED))
        }
    }
}
