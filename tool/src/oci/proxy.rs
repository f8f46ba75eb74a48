//! What runs in the shadow: it passes input, output, signals and the exit code on.

use std::io::{self, IsTerminal};

use super::guest;
use super::last_words::LastWords;
use crate::error::{Error, Result};
use crate::exec::{FAILED, client};
use crate::ui::output;

/// Stay with a process of the partition of that address until it has ended: `key` is the container,
/// or a file in the share; `partition` is what its last words can be found by.
pub fn run(cid: u32, key: &str, partition: Option<&str>) -> Result<()> {
    let terminal = io::stdin().is_terminal().then(client::terminal_size);
    match client::run(cid, &guest::join(key, terminal)) {
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
