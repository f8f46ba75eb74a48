//! `shimos doctor --fix`: what can be mended from here.

use std::io::{self, IsTerminal};
use std::path::Path;

use crate::error::{Error, IoContext, Result};
use crate::system::grub::Grub;
use crate::ui::output;

/// Give the host's kernel these parameters from its next start on; `yes`: without a question.
///
/// Returns whether they are given now; not if there are none, or if somebody does not want it.
pub fn add_parameters(root: &Path, parameters: &[&str], yes: bool) -> Result<bool> {
    output::line("")?;
    if parameters.is_empty() {
        output::line("There is nothing that a parameter of the host's kernel would mend.")?;
        return Ok(false);
    }
    let grub = Grub::with(root, parameters)?;
    let path = grub.path();
    if grub.is_written() {
        output::line(format!(
            "{} has all that is missing: restart the machine.",
            path.display()
        ))?;
        return Ok(false);
    }
    output::line(format!(
        "{} shall say, and update-grub be run:\n\n    {}\n",
        path.display(),
        grub.line()
    ))?;
    if !yes && !agreed()? {
        output::line("Nothing has been changed.")?;
        return Ok(false);
    }
    grub.write()?;
    output::line("Done: restart the machine.")?;
    Ok(true)
}

/// Ask on the terminal.
fn agreed() -> Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(
            Error::new("there is nobody to ask: standard input is no terminal")
                .hint("shimos doctor --fix --yes"),
        );
    }
    output::line("Go on? (yes or no)")?;
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .or_fail("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "yes"))
}
