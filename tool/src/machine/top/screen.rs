//! The live view on a full screen.

use std::io::{self, Stdout};
use std::time::{Duration, Instant};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::terminal;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::draw::{Then, View};
use crate::error::{IoContext, Result};
use crate::machine::model;
use crate::machine::picture::look;
use crate::machine::rates::rows;
use crate::machine::snapshot::Snapshot;
use crate::ui::interrupt;
use crate::ui::output::written;
use crate::ui::terminal::FullScreen;

/// The longest that a signal goes unseen.
const SLICE: Duration = Duration::from_millis(200);

struct Screen {
    /// Goes first.
    _full: FullScreen,
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    fn enter() -> Result<Self> {
        let full = FullScreen::enter()?;
        let terminal = terminal().or_fail("cannot set up the terminal")?;
        Ok(Screen {
            _full: full,
            terminal,
        })
    }
}

/// One that does not know its size, on a serial line for example, has the usual one.
fn terminal() -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    let backend = CrosstermBackend::new(io::stdout());
    match terminal::size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => Terminal::new(backend),
        _ => {
            let (columns, rows) = look::size();
            let area = Rect::new(0, 0, columns, rows);
            let viewport = Viewport::Fixed(area);
            Terminal::with_options(backend, TerminalOptions { viewport })
        }
    }
}

/// Show the screen until a key or a signal ends it.
pub fn run(
    read: &mut dyn FnMut() -> Result<Snapshot>,
    mut view: View,
    interval: Duration,
) -> Result<()> {
    let mut before = read()?;
    let mut screen = Screen::enter()?;
    // Something to look at before the first interval is over.
    view.update(rows(&before, &before), model::map(&before, &before));
    loop {
        let next = before.at + interval;
        if show_until(&mut screen, &mut view, next)? == Then::Quit {
            return Ok(());
        }
        let now = read()?;
        view.update(rows(&before, &now), model::map(&before, &now));
        before = now;
    }
}

fn show_until(screen: &mut Screen, view: &mut View, end: Instant) -> Result<Then> {
    loop {
        written(screen.terminal.draw(|frame| view.draw(frame)).map(drop))?;
        loop {
            interrupt::check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Then::Stay);
            }
            match next_event(left.min(SLICE))? {
                None => {}
                Some(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    if view.key(key) == Then::Quit {
                        return Ok(Then::Quit);
                    }
                    break;
                }
                // The size has changed, for example.
                Some(_) => break,
            }
        }
    }
}

fn next_event(patience: Duration) -> Result<Option<Event>> {
    const WHAT: &str = "cannot read from the terminal";
    match event::poll(patience) {
        Ok(true) => event::read().or_fail(WHAT).map(Some),
        Ok(false) => Ok(None),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(e) => Err(e).or_fail(WHAT),
    }
}
