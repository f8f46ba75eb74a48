//! Texts in structures.

/// Read a C string out of a fixed field; what is no UTF-8 is replaced.
pub fn text(field: &[u8]) -> String {
    let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
    let bytes = field.get(..end).unwrap_or_default();
    String::from_utf8_lossy(bytes).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_fields() {
        assert_eq!(text(b"web\0junk"), "web");
        assert_eq!(text(b"no end"), "no end");
        assert_eq!(text(b"a\xffb\n\0"), "a\u{fffd}b");
        assert_eq!(text(b""), "");
    }
}
