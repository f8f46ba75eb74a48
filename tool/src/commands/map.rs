//! `shimos show` without a name: the map of the machine.

use std::io::{self, IsTerminal};
use std::time::Duration;

use crate::error::Result;
use crate::machine::model;
use crate::machine::picture::map::{History, Map};
use crate::machine::picture::{look, print};
use crate::machine::snapshot::Source;
use crate::ui::{interrupt, output};

/// For how long loads are counted.
const BETWEEN: Duration = Duration::from_millis(300);

/// Look twice, and draw the machine.
pub fn run(json: bool) -> Result<()> {
    let mut source = Source::open()?;
    let before = source.read()?;
    interrupt::pause_until(before.at + BETWEEN)?;
    let machine = model::map(&before, &source.read()?);
    if json {
        return output::json(&machine);
    }
    let look = match io::stdout().is_terminal() {
        true => look::Look::here(),
        false => look::NONE,
    };
    let (width, _) = look::size();
    let lines = Map::new(&machine, look, width.into()).whole(&History::default());
    output::line(match look.colour {
        true => print::coloured(&lines),
        false => print::plain(&lines),
    })
}
