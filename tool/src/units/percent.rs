//! A share of something: `50%`.

/// Read a whole number of percent, 1 to 100. The error says what is wrong.
pub fn parse(text: &str) -> Result<u32, String> {
    let digits = text.trim().trim_end_matches('%').trim_end();
    match digits.parse() {
        Ok(percent @ 1..=100) => Ok(percent),
        _ => Err(format!("'{text}' is no share: write 1% to 100%")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!(parse("50%"), Ok(50));
        assert_eq!(parse(" 7 "), Ok(7));
        for wrong in ["0%", "101%", "half", "", "2.5%", "-1%"] {
            assert_eq!(
                parse(wrong),
                Err(format!("'{wrong}' is no share: write 1% to 100%"))
            );
        }
    }
}
