//! Everything the tool prints goes through here: a closed pipe ends it quietly,
//! and what a partition wrote cannot drive the user's terminal.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::error::{Error, Result, io_text};

/// Map a failed write to standard output.
pub fn written(result: io::Result<()>) -> Result<()> {
    result.map_err(|e| match e.kind() {
        io::ErrorKind::BrokenPipe => Error::OutputClosed,
        _ => Error::new(format!("cannot write the output: {}", io_text(&e))),
    })
}

/// Print one line (or several) to standard output.
pub fn line(text: impl fmt::Display) -> Result<()> {
    let mut out = io::stdout().lock();
    written(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// The version of everything that --json prints: docs/json.md.
const FORMAT: u32 = 2;

#[derive(Serialize)]
struct Formatted<'a, T> {
    format: u32,
    #[serde(flatten)]
    value: &'a T,
}

fn formatted<T: Serialize>(value: &T) -> Formatted<'_, T> {
    Formatted {
        format: FORMAT,
        value,
    }
}

/// Print a structure as JSON.
pub fn json(value: &impl Serialize) -> Result<()> {
    line(serde_json::to_string_pretty(&formatted(value)).or_json()?)
}

/// Return the same as text, for who does not print it.
pub fn json_text(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(&formatted(value)).or_json()
}

/// Print a structure as JSON on one line.
pub fn json_line(value: &impl Serialize) -> Result<()> {
    line(json_text(value)?)
}

/// Print a list as JSON: an object that has it under this name.
pub fn json_list(name: &str, list: &[impl Serialize]) -> Result<()> {
    json(&BTreeMap::from([(name, list)]))
}

trait OrJson<T> {
    fn or_json(self) -> Result<T>;
}

impl<T> OrJson<T> for serde_json::Result<T> {
    fn or_json(self) -> Result<T> {
        self.map_err(|e| Error::new(format!("cannot write JSON: {e}")))
    }
}

/// Print what a command has found: as JSON if it is wanted, else by `text`.
pub fn found<T: Serialize, D: fmt::Display>(
    value: &T,
    as_json: bool,
    text: impl FnOnce(&T) -> D,
) -> Result<()> {
    if as_json {
        return json(value);
    }
    line(text(value))
}

/// Say something on standard error. Nobody may be listening: that is fine.
pub fn note(text: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "shimos: {text}");
}

/// Print a further line to what `note` said.
pub fn detail(text: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Show an error as the last thing a command does.
pub fn error(error: &Error) {
    match error {
        Error::Failed { message, hint } => {
            note(message);
            if let Some(hint) = hint {
                detail(format_args!("  {hint}"));
            }
        }
        Error::Interrupted { undone, .. } => match undone {
            Some(undone) => note(format_args!("{error}; {undone}")),
            None => note(error),
        },
        Error::OutputClosed | Error::Reported(_) => {}
    }
}

/// Make text that came from a partition safe for a terminal: control characters (but for
/// the tab) become `\x1b`, as dmesg shows them.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => safe.push(c),
            c if c.is_control() => {
                let _ = write!(safe, "\\x{:02x}", c as u32);
            }
            c => safe.push(c),
        }
    }
    safe
}

/// Make a path likewise fit for a terminal.
pub fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// Write left-aligned columns, two spaces apart; the last one is not padded.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut lines = Vec::with_capacity(rows.len());
    for row in rows {
        let mut text = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(text, "{cell:<width$}  ");
        }
        lines.push(text.trim_end().to_string());
    }
    lines.join("\n")
}

#[cfg(test)]
pub mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../../docs/json.md");

    /// Each field of what --json prints has to stand in the document, in what it says of today's format.
    pub fn assert_documented(value: &impl Serialize) {
        let (today, _) = DOCUMENT.split_once("## Format 1\n").unwrap();
        let json = serde_json::to_value(value).unwrap();
        for field in json.as_object().unwrap().keys() {
            assert!(today.contains(&format!("`{field}`")), "{field}");
        }
    }

    #[test]
    fn the_document_has_the_format() {
        assert!(DOCUMENT.contains(&format!("`\"format\": {FORMAT}`")));
    }

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(printable("a\x1b[31mb\tc\u{9b}"), "a\\x1b[31mb\tc\\x9b");
        assert_eq!(printable("grün"), "grün");
    }

    #[test]
    fn tables_line_up() {
        let rows = vec![
            vec!["NAME".into(), "STATE".into()],
            vec!["w".into(), "running".into()],
        ];
        assert_eq!(table(&rows), "NAME  STATE\nw     running");
        assert_eq!(table(&[]), "");
    }
}
