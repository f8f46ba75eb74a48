//! Sizes of memory: `512M`, `1G`, `1.5G`; always powers of 1024.

/// Read a number of bytes. The error says what is wrong.
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    if number.is_empty() || number == "." {
        return Err(format!("'{text}' is no size: write 512M or 1G"));
    }
    let shift = match suffix.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        other => {
            return Err(format!(
                "'{other}' is no unit of size: use K, M, G or T (powers of 1024)"
            ));
        }
    };
    let bytes = scaled(number, shift).map_err(|why| format!("size '{text}' {why}"))?;
    if bytes == 0 {
        return Err(format!("size '{text}' is zero"));
    }
    Ok(bytes)
}

/// `number`, with or without decimals, times 2 to the `shift`.
fn scaled(number: &str, shift: u32) -> Result<u64, &'static str> {
    const TOO_LARGE: &str = "is too large";
    const NO_BYTES: &str = "is not a whole number of bytes";
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = match whole {
        "" => 0,
        text => text.parse().map_err(|_| TOO_LARGE)?,
    };
    let mut bytes = whole.checked_mul(1 << shift).ok_or(TOO_LARGE)?;
    if !decimals.is_empty() {
        if decimals.len() > 9 || decimals.contains('.') {
            return Err("is no number");
        }
        let parts: u64 = decimals.parse().map_err(|_| "is no number")?;
        let scale = 10u64.pow(decimals.len() as u32);
        let fraction = u128::from(parts) << shift;
        if shift == 0 && fraction % u128::from(scale) != 0 {
            return Err(NO_BYTES);
        }
        let fraction = u64::try_from(fraction / u128::from(scale)).map_err(|_| TOO_LARGE)?;
        bytes = bytes.checked_add(fraction).ok_or(TOO_LARGE)?;
    }
    Ok(bytes)
}

/// Write `bytes` for people: `1 GiB`, `1.5 GiB`, `700 KiB`.
pub fn show(bytes: u64) -> String {
    if bytes == 1 {
        return "1 byte".into();
    }
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    while unit + 1 < UNITS.len() && bytes >> (10 * (unit + 1)) != 0 {
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    let one = 1u64 << (10 * unit);
    if bytes % one == 0 {
        return format!("{} {name}", bytes / one);
    }
    format!("{:.1} {name}", bytes as f64 / one as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::errors;

    #[test]
    fn good_sizes() {
        for (text, bytes) in [
            ("1", 1),
            ("4096", 4096),
            ("1K", 1024),
            ("512M", 512 << 20),
            ("1G", 1 << 30),
            ("1g", 1 << 30),
            ("1GiB", 1 << 30),
            ("2 GB", 2 << 30),
            ("1.5G", 3 << 29),
            (".5G", 1 << 29),
            ("0.25M", 1 << 18),
            ("2T", 2 << 40),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn bad_sizes() {
        let text = errors(
            &[
                "",
                "G",
                ".",
                "-1G",
                "1X",
                "1GG",
                "0",
                "0.0G",
                "1.5",
                "1.2.3G",
                "18446744073709551616",
                "99999999999T",
                "1.9999999999999G",
            ],
            parse,
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn shown() {
        assert_eq!(show(1 << 30), "1 GiB");
        assert_eq!(show(3 << 29), "1.5 GiB");
        assert_eq!(show(512 << 20), "512 MiB");
        assert_eq!(show(17), "17 bytes");
        assert_eq!(show(1), "1 byte");
        assert_eq!(show(0), "0 bytes");
        assert_eq!(show(u64::MAX), "16777216.0 TiB");
    }
}
