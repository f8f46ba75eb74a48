//! What the user's terminal can show.

/// As the environment says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub colour: bool,
    /// Block characters and arrows, else ASCII.
    pub unicode: bool,
    /// The cursor can be moved: a picture can be drawn over the one before.
    pub moves: bool,
}

/// For who reads no terminal.
pub const NONE: Look = Look {
    colour: false,
    unicode: false,
    moves: false,
};

/// What a terminal has whose size nobody knows, as at the other end of a serial line.
const USUAL: (u16, u16) = (80, 24);

/// Return columns and rows of the terminal: as it says, else as the environment does.
pub fn size() -> (u16, u16) {
    let told = ratatui::termion::terminal_size().unwrap_or_default();
    let variable = |name: &str| std::env::var(name).ok()?.parse().ok();
    chosen(told, (variable("COLUMNS"), variable("LINES")))
}

fn chosen(told: (u16, u16), set: (Option<u16>, Option<u16>)) -> (u16, u16) {
    let one = |told: u16, set: Option<u16>, usual| match (told, set) {
        (0, Some(set)) if set > 0 => set,
        (0, _) => usual,
        _ => told,
    };
    (one(told.0, set.0, USUAL.0), one(told.1, set.1, USUAL.1))
}

/// Terminals that have neither colours nor more than ASCII, as those on serial lines.
const PLAIN: [&str; 2] = ["dumb", "vt"];

impl Look {
    /// Find out what this process's terminal can show.
    pub fn here() -> Self {
        Self::of(&|name| std::env::var(name).ok())
    }

    fn of(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let terminal = set("TERM").unwrap_or_else(|| "dumb".into());
        let plain = PLAIN.iter().any(|name| terminal.starts_with(name));
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find_map(|name| set(name));
        let locale = locale.unwrap_or_default().to_lowercase();
        // The console's font has hardly any block characters.
        let utf8 = (locale.contains("utf-8") || locale.contains("utf8")) && terminal != "linux";
        Look {
            colour: !plain && set("NO_COLOR").is_none(),
            unicode: utf8 && !plain,
            moves: terminal != "dumb",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(variables: &[(&str, &str)]) -> Look {
        Look::of(&|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn sizes() {
        assert_eq!(chosen((0, 0), (None, None)), USUAL);
        assert_eq!(chosen((0, 0), (Some(132), Some(0))), (132, 24));
        assert_eq!(chosen((200, 50), (Some(1), Some(1))), (200, 50));
    }

    #[test]
    fn terminals() {
        let all = |colour, unicode, moves| Look {
            colour,
            unicode,
            moves,
        };
        for (variables, expected) in [
            (
                &[("TERM", "xterm-256color"), ("LANG", "en_GB.UTF-8")][..],
                all(true, true, true),
            ),
            (
                &[("TERM", "xterm"), ("LANG", "C.utf8"), ("NO_COLOR", "1")],
                all(false, true, true),
            ),
            (
                &[("TERM", "xterm"), ("LANG", "C.UTF-8"), ("NO_COLOR", "")],
                all(true, true, true),
            ),
            (
                &[("TERM", "xterm"), ("LANG", "C.UTF-8"), ("LC_ALL", "C")],
                all(true, false, true),
            ),
            (
                &[("TERM", "linux"), ("LANG", "C.UTF-8")],
                all(true, false, true),
            ),
            (
                &[("TERM", "vt220"), ("LANG", "C.UTF-8")],
                all(false, false, true),
            ),
            (
                &[("TERM", "dumb"), ("LANG", "C.UTF-8")],
                all(false, false, false),
            ),
            (&[], all(false, false, false)),
        ] {
            assert_eq!(look(variables), expected, "{variables:?}");
        }
    }
}
