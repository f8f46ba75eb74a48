//! Names of network interfaces.

use crate::abi::devices::IFNAME_LEN;

const PREFIX: &str = "shm-";
const NUMBER: &str = "%d";

/// Check that `name` is one that the kernel takes.
pub fn check(name: &str) -> Result<(), String> {
    if name.is_empty() || name == "." || name == ".." {
        return Err("that is no name of an interface".into());
    }
    if name.len() >= IFNAME_LEN {
        return Err(format!(
            "an interface's name has {} characters at most",
            IFNAME_LEN - 1
        ));
    }
    let fits = |b: u8| b.is_ascii_graphic() && !b"/:%".contains(&b);
    if !name.bytes().all(fits) {
        return Err("an interface's name has no spaces, '/', ':' or '%'".into());
    }
    Ok(())
}

/// Check the same, where one `%d` stands for the first number that is free.
pub fn check_pattern(name: &str) -> Result<(), String> {
    match name.split_once(NUMBER) {
        Some((before, after)) if !after.contains('%') => {
            check(&format!("{before}0{after}"))?;
            // The kernel's field must hold the pattern itself.
            match name.len() < IFNAME_LEN {
                true => Ok(()),
                false => check(name),
            }
        }
        Some(_) => Err("one %d at most".into()),
        None => check(name),
    }
}

/// Make the name for the device that kernel `user` gets: "shm-web%d".
pub fn default_for(user: &str) -> String {
    let room = IFNAME_LEN - 1 - PREFIX.len() - "999".len();
    // Names of kernels are ASCII; another kernel's table need not be.
    let part: String = user
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_')
        .take(room)
        .collect();
    format!("{PREFIX}{part}{NUMBER}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["br0", "eth0.5", "a", "123456789012345"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "a b", "a/b", "a:b", "a%d", "ä", "1234567890123456"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert_eq!(check_pattern("web%d"), Ok(()));
        assert_eq!(check_pattern("web"), Ok(()));
        for bad in ["web%s", "a%d%d", "%d%", "12345678901234%d"] {
            assert!(check_pattern(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn defaults_are_patterns() {
        assert_eq!(default_for("web"), "shm-web%d");
        assert_eq!(default_for("a-long.name-of-one"), "shm-a-longna%d");
        for user in ["web", "host", "a-long-name-of-one", "ä ö"] {
            assert_eq!(check_pattern(&default_for(user)), Ok(()), "{user}");
        }
    }
}
