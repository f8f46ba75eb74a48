//! Where nothing can be drawn over: one picture below the other.

use std::time::Duration;

use super::text;
use crate::error::Result;
use crate::machine::picture::map::{History, Map};
use crate::machine::picture::{look, print};
use crate::machine::rates::{self, Sort};
use crate::machine::{model, snapshot::Snapshot};
use crate::ui::{interrupt, output};

/// Print pictures until a signal ends it.
pub fn run(
    read: &mut dyn FnMut() -> Result<Snapshot>,
    interval: Duration,
    sort: Sort,
) -> Result<()> {
    let mut history = History::default();
    let mut before = read()?;
    loop {
        interrupt::pause_until(before.at + interval)?;
        let now = read()?;
        let machine = model::map(&before, &now);
        history.add(&machine);
        let (width, _) = look::size();
        let map = Map::new(&machine, look::Look::here(), width.into()).whole(&history);
        let mut rows = rates::rows(&before, &now);
        rates::sort(&mut rows, sort, false);
        output::line(format_args!(
            "{}\n\n{}\n",
            print::plain(&map),
            text::table(&rows)
        ))?;
        before = now;
    }
}
