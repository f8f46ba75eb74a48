//! Times: parsing seconds and showing them.

use std::time::Duration;

/// Read seconds, with or without decimals: `30`, `0.5`.
pub fn parse(text: &str) -> Result<Duration, String> {
    let number = text.trim().trim_end_matches('s');
    let seconds: f64 = number
        .parse()
        .map_err(|_| format!("'{text}' is no time: write seconds, 30 or 0.5"))?;
    if !seconds.is_finite() || !(0.0..=1e6).contains(&seconds) {
        return Err(format!("'{text}' is no time between 0 and 1000000 seconds"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Write seconds: `2.31 s`.
pub fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

/// Write a time as short as a table wants it: `42s`, `5m03s`, `2h05m`, `3d04h`.
pub fn short(time: Duration) -> String {
    let s = time.as_secs();
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        3600..86400 => format!("{}h{:02}m", s / 3600, s / 60 % 60),
        _ => format!("{}d{:02}h", s / 86400, s / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsing() {
        assert_eq!(parse("30"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("0.5s"), Ok(Duration::from_millis(500)));
        for bad in ["", "x", "-1", "inf", "NaN", "1e9"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn showing() {
        assert_eq!(seconds(Duration::from_millis(2314)), "2.31 s");
        assert_eq!(short(Duration::from_secs(42)), "42s");
        assert_eq!(short(Duration::from_secs(303)), "5m03s");
        assert_eq!(short(Duration::from_secs(7500)), "2h05m");
        assert_eq!(short(Duration::from_secs(3 * 86400 + 4 * 3600)), "3d04h");
    }
}
