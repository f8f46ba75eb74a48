//! The live view on a full screen.

use std::io::{self, Stdout};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd;
use ratatui::backend::TermionBackend;
use ratatui::layout::Rect;
use ratatui::termion::event::Key;
use ratatui::termion::input::TermRead;
use ratatui::termion::terminal_size;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::draw::{Then, View};
use crate::error::{Error, IoContext, Result};
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
    terminal: Terminal<TermionBackend<Stdout>>,
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
fn terminal() -> io::Result<Terminal<TermionBackend<Stdout>>> {
    let backend = TermionBackend::new(io::stdout());
    match terminal_size() {
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
        let size = look::size();
        loop {
            interrupt::check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Then::Stay);
            }
            let keys = typed(left.min(SLICE))?;
            if keys.iter().any(|key| view.key(*key) == Then::Quit) {
                return Ok(Then::Quit);
            }
            if !keys.is_empty() || look::size() != size {
                break;
            }
        }
    }
}

/// Return the keys that are pressed within that time, at the first of them.
fn typed(patience: Duration) -> Result<Vec<Key>> {
    const WHAT: &str = "cannot read from the terminal";
    let input = io::stdin();
    let mut fds = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
    match poll(
        &mut fds,
        PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX),
    ) {
        Ok(0) | Err(Errno::EINTR) => return Ok(Vec::new()),
        Ok(_) => {}
        Err(e) => return Err(e).or_fail(WHAT),
    }
    // Not through the buffer of standard input, which would keep keys that no poll sees.
    let mut bytes = [0; 256];
    match unistd::read(&input, &mut bytes) {
        Ok(0) => Err(Error::new("the terminal is gone")),
        Ok(n) => {
            let bytes = bytes.get(..n).unwrap_or_default();
            Ok(bytes.keys().filter_map(io::Result::ok).collect())
        }
        Err(Errno::EINTR) => Ok(Vec::new()),
        Err(e) => Err(e).or_fail(WHAT),
    }
}
