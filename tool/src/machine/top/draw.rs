//! What the screen looks like, and what keys change about it.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::termion::event::Key;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row as Cells, Table, TableState};

use super::text::{self, DEVICE_HEAD, HEAD};
use crate::machine::model::Machine;
use crate::machine::picture::look::Look;
use crate::machine::picture::map::{History, Map};
use crate::machine::rates::{self, Row, Sort};
use crate::units::{count, duration};

const KEYS: &str = "q quit   up/down choose   left/right or s sort   r reverse";

/// The fewest rows of a terminal that has room for the map, too.
const WITH_MAP: u16 = 16;

/// What there is to show, and what the user has chosen of it.
pub struct View {
    pub rows: Vec<Row>,
    machine: Option<Machine>,
    history: History,
    look: Look,
    interval: Duration,
    sort: Sort,
    reversed: bool,
    /// By name: rows move.
    selected: Option<String>,
}

/// What a key leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Stay,
    Quit,
}

impl View {
    /// Begin with nothing to show.
    pub fn new(interval: Duration, sort: Sort, look: Look) -> Self {
        View {
            rows: Vec::new(),
            machine: None,
            history: History::default(),
            look,
            interval,
            sort,
            reversed: false,
            selected: None,
        }
    }

    /// Show other rows, the same one chosen if it is still there.
    pub fn update(&mut self, rows: Vec<Row>, machine: Machine) {
        self.rows = rows;
        self.history.add(&machine);
        self.machine = Some(machine);
        rates::sort(&mut self.rows, self.sort, self.reversed);
        if self.position().is_none() {
            self.selected = self.rows.first().map(|row| row.name.clone());
        }
    }

    fn position(&self) -> Option<usize> {
        let name = self.selected.as_ref()?;
        self.rows.iter().position(|row| row.name == *name)
    }

    fn choose(&mut self, at: usize) {
        let at = at.min(self.rows.len().saturating_sub(1));
        self.selected = self.rows.get(at).map(|row| row.name.clone());
    }

    /// Do what a key means.
    pub fn key(&mut self, key: Key) -> Then {
        let at = self.position().unwrap_or(0);
        match key {
            Key::Char('q') | Key::Esc | Key::Ctrl('c') => return Then::Quit,
            Key::Up | Key::Char('k') => self.choose(at.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.choose(at + 1),
            Key::Home => self.choose(0),
            Key::End => self.choose(usize::MAX),
            Key::Char('s') | Key::Right => self.sort = self.sort.moved(true),
            Key::Left => self.sort = self.sort.moved(false),
            Key::Char('r') => self.reversed = !self.reversed,
            _ => {}
        }
        rates::sort(&mut self.rows, self.sort, self.reversed);
        Then::Stay
    }

    /// Draw the whole screen.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let devices = self.position().and_then(|at| self.rows.get(at));
        let count = devices.map_or(0, |row| row.devices.len());
        // The devices may take up to a half, with a title and a head.
        let room = frame.area().height / 2;
        let below = match count {
            0 => 1,
            n => u16::try_from(n + 3).unwrap_or(u16::MAX).min(room),
        };
        let map = self.map(frame.area());
        let above = u16::try_from(map.len()).unwrap_or(u16::MAX).min(room);
        let [top, picture, middle, bottom, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(above),
            Constraint::Min(2),
            Constraint::Length(below),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        frame.render_widget(Line::from(self.title()), top);
        frame.render_widget(Paragraph::new(map), picture);
        self.draw_kernels(frame, middle);
        if let Some(row) = devices {
            draw_devices(frame, bottom, row);
        }
        frame.render_widget(Paragraph::new(KEYS).style(dim()), keys);
    }

    /// Whose CPUs and memory are, and how busy each kernel was.
    fn map(&self, area: Rect) -> Vec<Line<'static>> {
        let Some(machine) = self.machine.as_ref().filter(|_| area.height >= WITH_MAP) else {
            return Vec::new();
        };
        let map = Map::new(machine, self.look, area.width.into());
        let mut lines = map.cpus();
        lines.push(map.memory());
        lines.extend(map.kernels(&self.history));
        // Those of the chosen kernel are below in any case.
        let devices = map.devices();
        if lines.len() + devices.len() < usize::from(area.height / 2) {
            lines.extend(devices);
        }
        lines.push(Line::default());
        lines
    }

    fn title(&self) -> String {
        let kernels = match self.rows.len() {
            0 => "no other kernels".into(),
            n => count::of(n, "kernel", "kernels"),
        };
        format!(
            "shimos top: {kernels}, every {}",
            duration::seconds(self.interval)
        )
    }

    fn draw_kernels(&self, frame: &mut Frame<'_>, area: Rect) {
        let rows = self.rows.iter().map(|row| Cells::new(text::cells(row)));
        let mut head = HEAD.map(String::from);
        if let Some(title) = head.get_mut(self.sort.column()) {
            title.push(if self.reversed { '^' } else { '*' });
        }
        let mut lines: Vec<Vec<String>> = vec![head.to_vec()];
        lines.extend(self.rows.iter().map(|row| text::cells(row).to_vec()));
        let table = Table::new(rows, widths(&lines))
            .header(Cells::new(head).style(bold()))
            .column_spacing(2)
            .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
        let mut state = TableState::new().with_selected(self.position());
        frame.render_stateful_widget(table, area, &mut state);
    }
}

fn draw_devices(frame: &mut Frame<'_>, area: Rect, row: &Row) {
    if row.devices.is_empty() {
        return;
    }
    let [_, title, list] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
    ])
    .areas(area);
    let what = format!("devices of {}", text::cells(row).first().map_or("", |n| n));
    frame.render_widget(Line::from(what).style(dim()), title);
    let cells: Vec<Vec<String>> = row
        .devices
        .iter()
        .map(|device| text::device_cells(device).to_vec())
        .collect();
    let mut lines = vec![DEVICE_HEAD.map(String::from).to_vec()];
    lines.extend(cells.iter().cloned());
    let table = Table::new(cells.into_iter().map(Cells::new), widths(&lines))
        .header(Cells::new(DEVICE_HEAD).style(bold()))
        .column_spacing(2);
    frame.render_widget(table, list);
}

/// As wide as the widest in each column.
fn widths(lines: &[Vec<String>]) -> Vec<Constraint> {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    (0..columns)
        .map(|column| Constraint::Length(u16::try_from(width(column)).unwrap_or(u16::MAX)))
        .collect()
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::machine::model;
    use crate::machine::picture::look;

    fn view() -> View {
        let mut view = View::new(Duration::from_secs(1), Sort::Name, look::NONE);
        view.update(rates::example(), model::example());
        view
    }

    fn screen(view: &View, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let lines = buffer.content.chunks(width.into());
        lines
            .map(|line| {
                let text: String = line.iter().map(|cell| cell.symbol()).collect();
                text.trim_end().to_string()
            })
            .collect()
    }

    #[test]
    fn a_screen() {
        let mut view = view();
        view.key(Key::Down);
        assert_eq!(
            screen(&view, 90, 12),
            [
                "shimos top: 2 kernels, every 1.00 s",
                "NAME*  STATE    CPUS  CPU%  MEMORY  READ/S  WRITE/S  RX/S     TX/S  DOORBELLS/S",
                "db     running  2     -     1 GiB   -       -        -        -     0",
                "web    running  2     -     1 GiB   1 MiB   0 B      1.5 KiB  0 B   10",
                "",
                "",
                "",
                "devices of web",
                "ID  KIND  NAME      STATE    READ/S   WRITE/S  OPS/S  DOORBELLS/S  POLL%",
                "1   disk  /dev/vdb  running  1 MiB    0 B      10     5            5",
                "2   net   shm-web0  offered  1.5 KiB  0 B      0      2            0",
                KEYS,
            ]
        );
    }

    #[test]
    fn with_the_map() {
        let small = screen(&view(), 80, 24);
        assert_eq!(
            small[..15],
            [
                "shimos top: 2 kernels, every 1.00 s",
                "node 0   [h0: h1+c@] [w2* w3*]",
                "node 1   [d4  d5 ] [-6  -7 ]",
                "memory   [hhhhhhhhhhhhhwwwwwwddddddc.........................] 8 GiB, 4 GiB free",
                "h  host  this kernel  CPUs 0-1  2.0 GiB   55%  +",
                "w  web   running      CPUs 2-3  1 GiB     75%  *",
                "d  db    running      CPUs 4-5  1 GiB",
                "c  ctl   running      CPU 1     8 MiB",
                "disk  /dev/vdb      -> web  running, reads 1 MiB/s, writes 0 bytes/s",
                "net   shm-web0      -> web  offered, reads 1.5 KiB/s, writes 0 bytes/s",
                "pci   0000:01:00.0  -> web  given",
                "",
                "NAME*  STATE    CPUS  CPU%  MEMORY  READ/S  WRITE/S  RX/S     TX/S  DOORBELLS/S",
                "db     running  2     -     1 GiB   -       -        -        -     0",
                "web    running  2     -     1 GiB   1 MiB   0 B      1.5 KiB  0 B   10",
            ]
        );
        assert_eq!((small.len(), small[23].as_str()), (24, KEYS));
        let large = screen(&view(), 200, 50);
        assert_eq!(large.len(), 50);
        assert!(large[1].starts_with("node 0   [h0"), "{large:?}");
    }

    #[test]
    fn any_size_will_do() {
        for (width, height) in [(1, 1), (10, 3), (40, 5), (300, 100)] {
            screen(&view(), width, height);
        }
        let mut empty = view();
        empty.update(Vec::new(), model::example());
        assert!(screen(&empty, 80, 10)[0].contains("no other kernels"));
        empty.key(Key::Down);
        empty.key(Key::End);
    }

    #[test]
    fn keys() {
        let mut view = view();
        let name = |view: &View| view.selected.clone().unwrap();
        assert_eq!(name(&view), "db");
        view.key(Key::Down);
        view.key(Key::Down);
        assert_eq!(name(&view), "web", "no further");
        for _ in 0..5 {
            view.key(Key::Char('s'));
        }
        assert_eq!(view.sort, Sort::Read);
        assert_eq!(view.rows[0].name, "web");
        assert_eq!(name(&view), "web", "moves with its row");
        view.key(Key::Char('r'));
        assert_eq!(view.rows[0].name, "db");
        view.key(Key::Left);
        assert_eq!(view.sort, Sort::Memory);
        view.key(Key::Home);
        assert_eq!(view.key(Key::Char('x')), Then::Stay);
        assert_eq!(view.key(Key::Char('q')), Then::Quit);
        assert_eq!(view.key(Key::Ctrl('c')), Then::Quit);
    }

    #[test]
    fn the_chosen_one_may_go() {
        let mut view = view();
        let mut rows = rates::example();
        rows.retain(|row| row.name == "web");
        view.update(rows, model::example());
        assert_eq!(view.selected.as_deref(), Some("web"));
    }
}
