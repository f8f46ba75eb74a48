//! What runs in the shadow: it passes input, output, signals and the exit code on.

use std::io::{self, IsTerminal};

use super::guest;
use super::last_words::LastWords;
use crate::error::{Error, Result};
use crate::exec::{FAILED, Start, client};
use crate::ui::output;

/// Let a container's program begin in the partition of that address, and stay until it has
/// ended; `partition` is what its last words can be found by.
pub fn start(cid: u32, id: &str, partition: Option<&str>) -> Result<()> {
    be(cid, guest::start(id, terminal()), partition)
}

/// Stay with one more process of it, which a file in the share describes, until it has ended.
pub fn join(cid: u32, file: &str) -> Result<()> {
    be(cid, guest::join(file, terminal()), None)
}

fn terminal() -> Option<(u16, u16)> {
    io::stdin().is_terminal().then(client::terminal_size)
}

fn be(cid: u32, start: Start, partition: Option<&str>) -> Result<()> {
    match client::run(cid, &start) {
        Ok(exit) => client::code(&exit),
        Err(error) => {
            output::error(&error);
            for line in partition.map(LastWords::of).unwrap_or_default() {
                output::note(output::printable(&line));
            }
            Err(Error::Reported(FAILED))
        }
    }
}
