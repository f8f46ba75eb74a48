//! `shimos top`

use std::io::{self, IsTerminal};
use std::time::Duration;

use crate::cli;
use crate::error::Result;
use crate::machine::picture::look::Look;
use crate::machine::rates;
use crate::machine::snapshot::Source;
use crate::machine::top::draw::View;
use crate::machine::top::{plain, screen, text};
use crate::ui::{interrupt, output};

const SHORTEST: Duration = Duration::from_millis(100);

/// Show who does how much, again and again. Whoever reads no terminal gets one table.
pub fn run(args: &cli::Top) -> Result<()> {
    let interval = args.interval.max(SHORTEST);
    let once = args.once || args.json || !io::stdout().is_terminal();
    let look = Look::here();
    let mut source = Source::open()?;
    if !once && look.moves && io::stdin().is_terminal() {
        let view = View::new(interval, args.sort, look);
        return screen::run(&mut || source.read(), view, interval);
    }
    if !once {
        return plain::run(&mut || source.read(), interval, args.sort);
    }
    let before = source.read()?;
    interrupt::pause_until(before.at + interval)?;
    let now = source.read()?;
    let mut rows = rates::rows(&before, &now);
    rates::sort(&mut rows, args.sort, false);
    match args.json {
        true => output::json_list("kernels", &rows),
        false => output::line(text::table(&rows)),
    }
}
