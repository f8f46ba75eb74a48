//! `shimos completions`, `shimos man`

use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::error::{IoContext, Result};
use crate::output::written;

pub fn completions(shell: clap_complete::Shell) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "shimos", &mut text);
    written(io::stdout().lock().write_all(&text))
}

/// One page for the tool, one for each command.
pub fn man(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory)
        .or_fail(format_args!("cannot create {}", directory.display()))?;
    clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), directory)
        .or_fail(format_args!("cannot write to {}", directory.display()))
}
