//! `shimos completions`, `shimos man`

mod page;

use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use clap_complete::env::{CompleteEnv, Shells};

use crate::cli::{Cli, Oci};
use crate::error::{IoContext, Result};
use crate::ui::output::written;

/// Set by the completion scripts when they call the tool.
const COMPLETE: &str = "SHIMOS_COMPLETE";

/// Answer a shell that completes a command line, and end; nothing otherwise.
pub fn complete() {
    CompleteEnv::with_factory(Cli::command)
        .var(COMPLETE)
        .complete();
}

/// Print what makes a shell complete the tool's words.
pub fn completions(shell: Shell) -> Result<()> {
    let mut text = Vec::new();
    let shells = Shells::builtins();
    if let Some(shell) = shells.completer(&shell.to_string()) {
        written(shell.write_registration(COMPLETE, "shimos", "shimos", "shimos", &mut text))?;
    }
    if shell == Shell::Zsh {
        // In a directory for completions it is read at the first use, as a function of this name.
        text.extend_from_slice(
            b"[ \"$funcstack[1]\" = _shimos ] && _clap_dynamic_completer_shimos \"$@\"\n",
        );
    }
    written(io::stdout().lock().write_all(&text))
}

/// What shimos.toml(5) is made of: its keys are compared with those that the tool knows.
const PARTITION_FILES: &str = include_str!("../../../docs/configuration.md");

/// Write one page for the tool and one for the runtime of containers, one for each command of
/// theirs, and one for partition files.
pub fn man(directory: &Path) -> Result<()> {
    let cannot_write = || format!("cannot write to {}", directory.display());
    std::fs::create_dir_all(directory)
        .or_fail(format_args!("cannot create {}", directory.display()))?;
    for command in [Cli::command(), Oci::command()] {
        clap_mangen::generate_to(command.disable_help_subcommand(true), directory)
            .or_fail(cannot_write())?;
    }
    let page = page::Page {
        name: "shimos.toml",
        section: "5",
        about: "what a partition of shimos(1) is made of",
        see_also: "shimos(1), shimos-run(1), shimos-start(1), systemd(1)",
    };
    std::fs::write(
        directory.join("shimos.toml.5"),
        page.of_markdown(PARTITION_FILES),
    )
    .or_fail(cannot_write())
}
