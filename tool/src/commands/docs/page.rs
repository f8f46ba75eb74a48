//! A man page from a document of docs/, so that both say the same.
//!
//! Knows the Markdown that these documents have: headings, paragraphs, fenced examples, tables,
//! `code` and links.

use roff::{Inline, Roff, bold, roman};

/// What a page says of itself.
pub struct Page {
    pub name: &'static str,
    pub section: &'static str,
    pub about: &'static str,
    pub see_also: &'static str,
}

/// The last column of a table that names what the others describe.
const NAMED_BY: &str = "key";

impl Page {
    /// Make the whole page, in roff.
    pub fn of_markdown(&self, text: &str) -> String {
        let mut roff = Roff::new();
        let version = format!("shimos {}", env!("CARGO_PKG_VERSION"));
        roff.control("TH", [self.name, self.section, "", version.as_str()]);
        roff.control("SH", ["NAME"]);
        roff.text([roman(format!("{} - {}", self.name, self.about))]);
        roff.control("SH", ["DESCRIPTION"]);
        let mut lines = text.lines().peekable();
        let mut paragraph = false;
        while let Some(line) = lines.next() {
            if line.starts_with("# ") {
                // The page's own head says it.
            } else if let Some(title) = line.strip_prefix("## ") {
                roff.control("SH", [title.to_uppercase().as_str()]);
                paragraph = false;
            } else if line.starts_with("```") {
                let example = lines.by_ref().take_while(|line| !line.starts_with("```"));
                show_example(&mut roff, example);
                paragraph = true;
            } else if line.starts_with('|') {
                let mut table = vec![cells(line)];
                while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                    table.push(cells(row));
                }
                show_table(&mut roff, &table);
                paragraph = true;
            } else if line.is_empty() {
                paragraph = true;
            } else {
                if std::mem::take(&mut paragraph) {
                    roff.control("PP", []);
                }
                roff.text(inline(line));
            }
        }
        roff.control("SH", ["SEE ALSO"]);
        roff.text([roman(self.see_also)]);
        roff.to_roff()
    }
}

fn show_example<'a>(roff: &mut Roff, lines: impl Iterator<Item = &'a str>) {
    roff.control("PP", [])
        .control("RS", ["4"])
        .control("nf", []);
    for line in lines {
        roff.text([roman(line)]);
    }
    roff.control("fi", []).control("RE", []);
}

fn cells(row: &str) -> Vec<String> {
    let inner = row.trim().trim_matches('|');
    inner
        .split('|')
        .map(|cell| cell.trim().to_string())
        .collect()
}

/// An entry for each row. A cell of the name that is empty means the one above.
fn show_table(roff: &mut Roff, table: &[Vec<String>]) {
    let Some((head, rows)) = table.split_first() else {
        return;
    };
    let named_by = head.iter().position(|title| title == NAMED_BY);
    let names = named_by.unwrap_or(0) + 1;
    let mut name: Vec<String> = vec![String::new(); names];
    // The second line of a table only draws it.
    for row in rows.iter().skip(1) {
        for (part, cell) in name.iter_mut().zip(row) {
            if !cell.is_empty() {
                part.clone_from(cell);
            }
        }
        roff.control("TP", []);
        roff.text(inline(&name.join(" ")));
        let mut rest = head.iter().zip(row).skip(names);
        if let Some((_, value)) = rest.next() {
            roff.text(inline(value));
        }
        for (title, cell) in rest.filter(|(_, cell)| !cell.is_empty()) {
            roff.control("br", []);
            roff.text(inline(&format!("{title}: {cell}")));
        }
    }
}

/// A line with `code` in bold and links as their text.
fn inline(line: &str) -> Vec<Inline> {
    let parts = line.split('`').enumerate();
    let shown = parts.map(|(number, part)| match number % 2 {
        0 => roman(without_links(part)),
        _ => bold(part),
    });
    shown.collect()
}

/// `[text](target)` becomes `text`.
fn without_links(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (start, label) = before.rsplit_once('[').unwrap_or((before, ""));
        shown.push_str(start);
        shown.push_str(label);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Page = Page {
        name: "a.toml",
        section: "5",
        about: "an example",
        see_also: "a(1)",
    };

    #[test]
    fn all_forms() {
        let text = "# Title\n\nOne.\n`two` of [three](x.md).\n\n```toml\n.a = 1\n```\n\n\
            | table | key | value | option |\n| --- | --- | --- | --- |\n\
            | `[[disk]]` | `path` | a file | `--disk` |\n| | `ro` | `true` | |\n\n## More\n\nend\n";
        let page = PAGE.of_markdown(text);
        let (_, body) = page.split_once(".SH DESCRIPTION\n").unwrap();
        assert_eq!(
            body.lines().collect::<Vec<_>>(),
            [
                ".PP",
                "One.",
                "\\fBtwo\\fR of three.",
                ".PP",
                ".RS 4",
                ".nf",
                "\\&.a = 1",
                ".fi",
                ".RE",
                ".TP",
                "\\fB[[disk]]\\fR \\fBpath\\fR",
                "a file",
                ".br",
                "option: \\fB\\-\\-disk\\fR",
                ".TP",
                "\\fB[[disk]]\\fR \\fBro\\fR",
                "\\fBtrue\\fR",
                ".SH MORE",
                ".PP",
                "end",
                ".SH \"SEE ALSO\"",
                "a(1)",
            ]
        );
    }

    #[test]
    fn links() {
        assert_eq!(without_links("see [a](b), [c](d#e)."), "see a, c.");
        assert_eq!(without_links("[[disk]] (x)"), "[[disk]] (x)");
        assert_eq!(without_links("](x"), "");
    }
}
