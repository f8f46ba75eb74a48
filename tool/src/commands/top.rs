//! `shimos top`

use std::io::{self, IsTerminal};
use std::time::Duration;

use crate::cli;
use crate::error::{Error, Result};
use crate::top::draw::View;
use crate::top::snapshot::Source;
use crate::top::{rates, screen, text};
use crate::{interrupt, output};

const SHORTEST: Duration = Duration::from_millis(100);

pub fn run(args: &cli::Top) -> Result<()> {
    let interval = args.interval.max(SHORTEST);
    let once = args.once || args.json;
    let terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    if !once && !terminal {
        return Err(Error::new("this is no terminal to show a live view on")
            .hint("give --once, for one look"));
    }
    let mut source = Source::open()?;
    if !once {
        let view = View::new(interval, args.sort);
        return screen::run(&mut || source.read(), view, interval);
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
