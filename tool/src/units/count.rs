//! How many there are of something.

use std::fmt::Display;

/// Write a count with its noun, in the form that goes with it: "1 page", "2 pages".
pub fn of<T: Display + PartialEq + From<u8>>(count: T, one: &str, more: &str) -> String {
    let noun = if count == T::from(1) { one } else { more };
    format!("{count} {noun}")
}

/// Write how often something happened: "once", "2 times".
pub fn times<T: Display + PartialEq + From<u8>>(count: T) -> String {
    match count == T::from(1) {
        true => "once".into(),
        false => format!("{count} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns() {
        for (count, text) in [
            (0, "0 pages"),
            (1, "1 page"),
            (2, "2 pages"),
            (11, "11 pages"),
        ] {
            assert_eq!(of(count, "page", "pages"), text);
        }
    }

    #[test]
    fn how_often() {
        for (count, text) in [(0_u64, "0 times"), (1, "once"), (21, "21 times")] {
            assert_eq!(times(count), text);
        }
    }
}
