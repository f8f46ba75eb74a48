//! `shimos devices`

use crate::cli;
use crate::devices::node::Node;
use crate::devices::{all, view};
use crate::error::Result;
use crate::ui::output;
use crate::ui::refusal::OrRefuse;

/// Print the devices that this kernel shares.
pub fn run(args: &cli::Json) -> Result<()> {
    let list = all(&Node::open()?).or_refuse("cannot list the shared devices")?;
    match args.json {
        true => output::json_list("devices", &list),
        false => output::line(view::table(&list)),
    }
}
