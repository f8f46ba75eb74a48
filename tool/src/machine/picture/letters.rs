//! A letter and a colour for each kernel.

use ratatui::style::{Color, Style};

use super::look::Look;

/// This kernel's is the terminal's own.
const COLOURS: [Color; 6] = [
    Color::Cyan,
    Color::Green,
    Color::Yellow,
    Color::Magenta,
    Color::Blue,
    Color::Red,
];

/// Of the kernels of a map, in its order.
pub struct Letters(Vec<(String, char)>);

impl Letters {
    /// Give each name a letter that it has, if another kernel has not got it yet.
    pub fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut given: Vec<(String, char)> = Vec::new();
        for name in names {
            let own = name.chars().filter(char::is_ascii_alphanumeric);
            let mut wanted = own
                .map(|c| c.to_ascii_lowercase())
                .chain('a'..='z')
                .chain('0'..='9');
            let letter = wanted.find(|c| given.iter().all(|(_, other)| other != c));
            given.push((name.to_owned(), letter.unwrap_or('*')));
        }
        Letters(given)
    }

    /// Return a kernel's letter; `?` for one that is not known.
    pub fn letter(&self, name: &str) -> char {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map_or('?', |(_, letter)| *letter)
    }

    /// Return a kernel's colour, if the terminal has colours; the first kernel has none.
    pub fn style(&self, name: &str, look: Look) -> Style {
        let at = self.0.iter().position(|(other, _)| other == name);
        let place = at.and_then(|at| at.checked_sub(1));
        match place.and_then(|place| COLOURS.get(place % COLOURS.len())) {
            Some(colour) if look.colour => Style::new().fg(*colour),
            _ => Style::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own() {
        let names = ["host", "web", "web2", "Hub", "w"];
        let letters = Letters::of(names.into_iter());
        let given: String = names.iter().map(|name| letters.letter(name)).collect();
        assert_eq!(given, "hweua");
        let many: Vec<String> = (0..50).map(|n| format!("p{n}")).collect();
        let letters = Letters::of(many.iter().map(String::as_str));
        assert_eq!(letters.letter("p49"), '*');
        assert_eq!(letters.letter("x"), '?');
    }
}
