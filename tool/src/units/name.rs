//! The names of partitions.

use crate::abi::NAME_LEN;

/// What every kernel of the machine calls the host's.
pub const HOST: &str = "host";

/// Check that `name` is one that KLoader takes: `[A-Za-z0-9][A-Za-z0-9._-]*`, and not the
/// host's.
pub fn check(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the name is empty".into());
    }
    if name.len() >= NAME_LEN {
        return Err(format!(
            "the name is too long: {} characters, {} is the most",
            name.len(),
            NAME_LEN - 1
        ));
    }
    if name == HOST {
        return Err(
            "a partition cannot be called 'host': the host's own kernel is, in attach and ping for example"
                .into(),
        );
    }
    let first = name.bytes().next().unwrap_or(b'.');
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    if !first.is_ascii_alphanumeric() || !name.bytes().all(fits) {
        return Err(
            "a name consists of letters, digits, '.', '_' and '-', and begins with a letter or digit"
                .into(),
        );
    }
    Ok(())
}

/// Read a name, for clap.
pub fn parse(name: &str) -> Result<String, String> {
    check(name)?;
    Ok(name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in [
            "web",
            "host1",
            "Host",
            "0",
            "a.b_c-d",
            "A23456789012345678901234567890x",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "-a",
            ".a",
            "a b",
            "a/b",
            "ä",
            "a\n",
            "host",
            "A234567890123456789012345678901x",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
