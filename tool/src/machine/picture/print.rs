//! A picture for who prints it: as plain text, or with the terminal's colours.

use std::fmt::Write;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

/// Write lines as text; styles are left out.
pub fn plain(lines: &[Line<'_>]) -> String {
    text(lines, |_| String::new())
}

/// Write lines with the sequences that every terminal with colours knows.
pub fn coloured(lines: &[Line<'_>]) -> String {
    text(lines, sequence)
}

fn text(lines: &[Line<'_>], sequence: impl Fn(Style) -> String) -> String {
    let mut text = String::new();
    for line in lines {
        for span in &line.spans {
            let begin = sequence(span.style);
            let end = if begin.is_empty() { "" } else { "\x1b[0m" };
            let _ = write!(text, "{begin}{}{end}", span.content);
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

fn sequence(style: Style) -> String {
    let colour = match style.fg {
        Some(Color::Red) => Some(31),
        Some(Color::Green) => Some(32),
        Some(Color::Yellow) => Some(33),
        Some(Color::Blue) => Some(34),
        Some(Color::Magenta) => Some(35),
        Some(Color::Cyan) => Some(36),
        _ => None,
    };
    let bold = style.add_modifier.contains(Modifier::BOLD).then_some(1);
    let codes = bold.into_iter().chain(colour);
    codes.fold(String::new(), |text, code| format!("{text}\x1b[{code}m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_and_without_colours() {
        let green = Style::new().fg(Color::Green).add_modifier(Modifier::BOLD);
        let line = Line::from(vec!["a ".into(), ratatui::text::Span::styled("b", green)]);
        let lines = [line, Line::from("c  ")];
        assert_eq!(plain(&lines), "a b\nc");
        assert_eq!(coloured(&lines), "a \x1b[1m\x1b[32mb\x1b[0m\nc");
    }
}
