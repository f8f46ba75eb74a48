//! The map of the machine: CPUs by node and core, memory, kernels, devices.

use std::collections::{BTreeMap, VecDeque};

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::letters::Letters;
use super::look::Look;
use crate::machine::model::{Cpu, Machine, Node, Owner, Shared};
use crate::ui::output::printable;
use crate::units::{cpulist, size};

/// What stands before each part.
const MARGIN: usize = 9;
/// Looks that a curve goes back.
const PAST: usize = 60;
const WIDEST_BAR: usize = 100;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The same where there are no blocks.
const STEPS: [char; 8] = ['.', ':', '-', '=', '+', '*', '#', '@'];

/// How busy each kernel was, the newest last.
#[derive(Default)]
pub struct History(BTreeMap<String, VecDeque<f64>>);

impl History {
    /// Remember how busy each kernel is, and forget those that are gone.
    pub fn add(&mut self, machine: &Machine) {
        self.0
            .retain(|name, _| machine.kernels.iter().any(|k| k.name == *name));
        for kernel in &machine.kernels {
            let Some(load) = kernel.load else { continue };
            let past = self.0.entry(kernel.name.clone()).or_default();
            past.push_back(load);
            if past.len() > PAST {
                past.pop_front();
            }
        }
    }

    fn curve(&self, name: &str, look: Look, room: usize) -> String {
        let past = self.0.get(name);
        let skip = past.map_or(0, |past| past.len().saturating_sub(room));
        let shown = past.into_iter().flatten().skip(skip);
        shown.map(|load| level(*load, look)).collect()
    }
}

/// A map for a terminal of this width.
pub struct Map<'a> {
    machine: &'a Machine,
    letters: Letters,
    look: Look,
    width: usize,
}

impl<'a> Map<'a> {
    /// Draw a machine within so many columns.
    pub fn new(machine: &'a Machine, look: Look, width: usize) -> Self {
        let names = machine.kernels.iter().map(|kernel| kernel.name.as_str());
        Map {
            machine,
            letters: Letters::of(names),
            look,
            width,
        }
    }

    /// Draw all of it.
    pub fn whole(&self, history: &History) -> Vec<Line<'static>> {
        let mut lines = self.cpus();
        lines.push(self.memory());
        lines.push(Line::default());
        lines.extend(self.kernels(history));
        let devices = self.devices();
        if !devices.is_empty() {
            lines.push(Line::default());
            lines.extend(devices);
        }
        lines
    }

    /// Draw a row for each node, more if it is long: cores in brackets, with whose each CPU
    /// is.
    pub fn cpus(&self) -> Vec<Line<'static>> {
        let several = self.machine.nodes.len() > 1;
        let title = |node: &Node| match several {
            true => format!("node {}", node.number),
            false => "CPUs".into(),
        };
        let nodes = self.machine.nodes.iter();
        nodes
            .flat_map(|node| self.node(title(node), node))
            .collect()
    }

    fn node(&self, title: String, node: &Node) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        let mut line = vec![margin(&title)];
        let mut used = MARGIN;
        for core in &node.cores {
            let cells: Vec<(Style, String)> = core.iter().map(|cpu| self.cpu(cpu)).collect();
            let wide = cells.iter().map(|(_, text)| text.chars().count() + 1);
            let wide = wide.sum::<usize>() + 2;
            if used > MARGIN && used + wide > self.width {
                lines.push(Line::from(std::mem::replace(&mut line, vec![margin("")])));
                used = MARGIN;
            }
            used += wide;
            line.push("[".into());
            for (number, (style, text)) in cells.into_iter().enumerate() {
                line.push(if number > 0 { " " } else { "" }.into());
                line.push(Span::styled(text, style));
            }
            line.push("] ".into());
        }
        lines.push(Line::from(line));
        lines
    }

    /// `h1+c▂`: CPU 1, the host's and shared with ctl, not very busy.
    fn cpu(&self, cpu: &Cpu) -> (Style, String) {
        let whose = cpu.kernel.as_deref();
        let mut text = whose
            .map_or('-', |name| self.letters.letter(name))
            .to_string();
        text.push_str(&cpu.number.to_string());
        for name in &cpu.shared_with {
            text.push('+');
            text.push(self.letters.letter(name));
        }
        text.push(cpu.load.map_or(' ', |load| level(load, self.look)));
        (whose.map_or_else(Style::new, |name| self.style(name)), text)
    }

    fn style(&self, name: &str) -> Style {
        self.letters.style(name, self.look)
    }

    /// Draw a bar of all memory: letters are whose it is, dots are free.
    pub fn memory(&self) -> Line<'static> {
        let memory = &self.machine.memory;
        let tail = format!(
            "] {}, {} free",
            size::show(memory.total),
            size::show(memory.free)
        );
        let room = self.width.saturating_sub(MARGIN + 1 + tail.len());
        let room = room.clamp(10, WIDEST_BAR);
        let mut line = vec![margin("memory"), "[".into()];
        let mut left = room;
        for kernel in &self.machine.kernels {
            let part = kernel.memory.unwrap_or(0) as f64 / memory.total.max(1) as f64;
            // Whoever has some is seen.
            let least = usize::from(part > 0.0);
            let cells = ((part * room as f64).round() as usize).max(least).min(left);
            left -= cells;
            let letter = self.letters.letter(&kernel.name).to_string();
            line.push(Span::styled(letter.repeat(cells), self.style(&kernel.name)));
        }
        line.push(".".repeat(left).into());
        line.push(tail.into());
        Line::from(line)
    }

    /// Write whose the letters are, how busy each is, and how busy it was.
    pub fn kernels(&self, history: &History) -> Vec<Line<'static>> {
        let rows = self.machine.kernels.iter().map(Self::row);
        let rows: Vec<[String; 5]> = rows.collect();
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: [usize; 5] = std::array::from_fn(width);
        let used = widths.iter().map(|width| width + 2).sum::<usize>() + 3;
        let room = self.width.saturating_sub(used).min(PAST);
        let line = |(kernel, row): (&Owner, &[String; 5])| {
            let style = self.style(&kernel.name);
            let letter = self.letters.letter(&kernel.name);
            let bold = style.add_modifier(Modifier::BOLD);
            let mut line = vec![Span::styled(format!("{letter}  "), bold)];
            for (cell, width) in row.iter().zip(widths) {
                line.push(format!("{cell:<width$}  ").into());
            }
            let curve = history.curve(&kernel.name, self.look, room);
            line.push(Span::styled(curve, style));
            Line::from(line)
        };
        self.machine.kernels.iter().zip(&rows).map(line).collect()
    }

    /// Name, state, CPUs, memory, load.
    fn row(kernel: &Owner) -> [String; 5] {
        let cpus = kernel.cpus.as_deref();
        [
            printable(&kernel.name),
            kernel.state.clone(),
            cpus.map_or_else(String::new, cpulist::named),
            kernel.memory.map_or_else(String::new, size::show),
            kernel
                .load
                .map_or_else(String::new, |load| format!("{load:3.0}%")),
        ]
    }

    /// Write what this kernel gives to others.
    pub fn devices(&self) -> Vec<Line<'static>> {
        let devices = self.machine.devices.iter();
        let longest = devices
            .clone()
            .map(|device| printable(&device.name).chars().count());
        let longest = longest.max().unwrap_or(0);
        devices.map(|device| self.device(device, longest)).collect()
    }

    fn device(&self, device: &Shared, longest: usize) -> Line<'static> {
        let arrow = if self.look.unicode { "→" } else { "->" };
        let name = printable(&device.name);
        let start = format!("{:<4}  {name:<longest$}  {arrow} ", device.kind);
        let rate = |rate: f64| size::show(rate as u64);
        let rates = match (device.read, device.written) {
            (Some(read), Some(written)) => {
                format!(", reads {}/s, writes {}/s", rate(read), rate(written))
            }
            _ => String::new(),
        };
        Line::from(vec![
            start.into(),
            Span::styled(printable(&device.user), self.style(&device.user)),
            format!("  {}{rates}", device.state).into(),
        ])
    }
}

fn margin(title: &str) -> Span<'static> {
    format!("{title:<MARGIN$}").into()
}

fn level(load: f64, look: Look) -> char {
    let levels = if look.unicode { BARS } else { STEPS };
    let at = (load.clamp(0.0, 100.0) / 100.0 * (levels.len() - 1) as f64).round();
    levels.get(at as usize).copied().unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::model;
    use crate::machine::picture::print::plain;

    const ASCII: Look = Look {
        colour: false,
        unicode: false,
        moves: true,
    };
    const BLOCKS: Look = Look {
        colour: true,
        unicode: true,
        moves: true,
    };

    fn picture(look: Look, width: usize) -> Vec<String> {
        let machine = model::example();
        let mut history = History::default();
        for load in [0.0, 50.0] {
            let mut earlier = machine.clone();
            earlier.kernels[0].load = Some(load);
            history.add(&earlier);
        }
        history.add(&machine);
        let text = plain(&Map::new(&machine, look, width).whole(&history));
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn with_blocks() {
        assert_eq!(
            picture(BLOCKS, 80),
            [
                "node 0   [h0▂ h1+c█] [w2▆ w3▆]",
                "node 1   [d4  d5 ] [-6  -7 ]",
                "memory   [hhhhhhhhhhhhhwwwwwwddddddc.........................] 8 GiB, 4 GiB free",
                "",
                "h  host  this kernel  CPUs 0-1  2.0 GiB   55%  ▁▅▅",
                "w  web   running      CPUs 2-3  1 GiB     75%  ▆▆▆",
                "d  db    running      CPUs 4-5  1 GiB",
                "c  ctl   running      CPU 1     8 MiB",
                "",
                "disk  /dev/vdb      → web  running, reads 1 MiB/s, writes 0 bytes/s",
                "net   shm-web0      → web  offered, reads 1.5 KiB/s, writes 0 bytes/s",
                "pci   0000:01:00.0  → web  given",
            ]
        );
    }

    #[test]
    fn on_a_serial_line() {
        assert_eq!(
            picture(ASCII, 80),
            [
                "node 0   [h0: h1+c@] [w2* w3*]",
                "node 1   [d4  d5 ] [-6  -7 ]",
                "memory   [hhhhhhhhhhhhhwwwwwwddddddc.........................] 8 GiB, 4 GiB free",
                "",
                "h  host  this kernel  CPUs 0-1  2.0 GiB   55%  .++",
                "w  web   running      CPUs 2-3  1 GiB     75%  ***",
                "d  db    running      CPUs 4-5  1 GiB",
                "c  ctl   running      CPU 1     8 MiB",
                "",
                "disk  /dev/vdb      -> web  running, reads 1 MiB/s, writes 0 bytes/s",
                "net   shm-web0      -> web  offered, reads 1.5 KiB/s, writes 0 bytes/s",
                "pci   0000:01:00.0  -> web  given",
            ]
        );
    }

    #[test]
    fn narrow_and_wide() {
        for width in [1, 20, 40, 200] {
            let lines = picture(ASCII, width);
            assert!(lines.iter().all(|line| line.is_ascii()));
            if width >= 80 {
                assert!(lines.iter().all(|line| line.len() <= width));
            }
        }
        assert_eq!(
            picture(ASCII, 20)[..4],
            [
                "node 0   [h0: h1+c@]",
                "         [w2* w3*]",
                "node 1   [d4  d5 ]",
                "         [-6  -7 ]",
            ]
        );
    }

    #[test]
    fn many_cpus_fill_rows() {
        let mut machine = model::example();
        let cpu = machine.nodes[0].cores[1][0].clone();
        let cores = (0..64).map(|number| {
            vec![Cpu {
                number,
                ..cpu.clone()
            }]
        });
        machine.nodes = vec![Node {
            number: 0,
            cores: cores.collect(),
        }];
        let lines = Map::new(&machine, ASCII, 80).cpus();
        let text = plain(&lines);
        assert_eq!(text.matches('w').count(), 64);
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert_eq!(lines.len(), 7, "{text}");
    }

    #[test]
    fn colours_are_extra() {
        let machine = model::example();
        let history = History::default();
        let of = |look| Map::new(&machine, look, 80).whole(&history);
        let colours = |lines: &[Line<'_>]| {
            let mut spans = lines.iter().flat_map(|line| &line.spans);
            spans.any(|span| span.style.fg.is_some())
        };
        assert!(colours(&of(BLOCKS)));
        let without = Look {
            colour: false,
            ..BLOCKS
        };
        assert!(!colours(&of(without)));
        assert_eq!(plain(&of(BLOCKS)), plain(&of(without)));
    }
}
