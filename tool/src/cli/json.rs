//! For commands whose only option is `--json`.

use clap::Args;

#[derive(Debug, Args)]
pub struct Json {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
