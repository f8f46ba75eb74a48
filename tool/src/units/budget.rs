//! Budgets of real-time partitions, how long one may have its CPU in each period:
//! `40%/10ms`, or `40%` of the default period.

use std::fmt;

use crate::abi;

/// How long a program may have its CPU in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub budget_ns: u64,
    pub period_ns: u64,
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What parse() rounded down: up again.
        let budget = u128::from(self.budget_ns) * u128::from(HUNDRED_PERCENT);
        let percent = budget.div_ceil(u128::from(self.period_ns.max(1)));
        write!(
            f,
            "{}% of {}",
            decimal(u64::try_from(percent).unwrap_or(u64::MAX), DIGITS),
            show_time(self.period_ns)
        )
    }
}

/// Decimals of a percentage.
const DIGITS: u32 = 3;
const HUNDRED_PERCENT: u64 = 100 * 10u64.pow(DIGITS);
const MAX_PERCENT: u64 = abi::RT_MAX_BUDGET_PERCENT * 10u64.pow(DIGITS);

/// Units of a period, and how many decimals of each there can be.
const UNITS: [(&str, u32); 4] = [("s", 9), ("ms", 6), ("us", 3), ("µs", 3)];

/// Read a budget, within the limits. The error says what is wrong.
pub fn parse(text: &str) -> Result<Budget, String> {
    let text = text.trim();
    let wrong = |why: String| format!("budget '{text}': {why}");
    let (share, period) = match text.split_once('/') {
        Some((share, period)) => (share, Some(period)),
        None => (text, None),
    };
    let Some(percent) = share.trim().strip_suffix('%') else {
        return Err(format!(
            "'{text}' is no budget: write 40%/10ms for 40 % of each 10 ms, or 40%"
        ));
    };
    let percent = scaled(percent.trim(), DIGITS).map_err(wrong)?;
    let period_ns = match period {
        Some(period) => parse_period(period.trim()).map_err(wrong)?,
        None => abi::RT_DEFAULT_PERIOD_NS,
    };
    limited(percent, period_ns).map_err(wrong)
}

fn parse_period(text: &str) -> Result<u64, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim();
    match UNITS.iter().find(|(name, _)| *name == unit) {
        _ if number.is_empty() => Err(format!("'{text}' is no period: write 10ms")),
        Some((_, digits)) => scaled(number, *digits),
        None if unit.is_empty() => Err(format!("the period {text} has no unit: us, ms or s")),
        None => Err(format!("'{unit}' is no unit of a period: use us, ms or s")),
    }
}

/// `number`, with or without decimals, times 10 to the `digits`.
fn scaled(number: &str, digits: u32) -> Result<u64, String> {
    let no_number = || format!("'{number}' is no number");
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let all = [whole, decimals].concat();
    if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
        return Err(no_number());
    }
    let missing = u32::try_from(decimals.len())
        .ok()
        .and_then(|there| digits.checked_sub(there))
        .ok_or_else(|| format!("{number} has more than {digits} decimals"))?;
    all.parse()
        .ok()
        .and_then(|value: u64| value.checked_mul(10u64.pow(missing)))
        .ok_or_else(|| format!("{number} is too large"))
}

/// What the limits allow of `percent`, in units of its last decimal.
fn limited(percent: u64, period_ns: u64) -> Result<Budget, String> {
    let period = show_time(period_ns);
    if period_ns < abi::RT_MIN_PERIOD_NS {
        return Err(format!(
            "in a period of {period} the CPU would do little but change hands: at least {}",
            show_time(abi::RT_MIN_PERIOD_NS)
        ));
    }
    if period_ns > abi::RT_MAX_PERIOD_NS {
        return Err(format!(
            "in a period of {period} the host would wait too long for its turn: at most {}",
            show_time(abi::RT_MAX_PERIOD_NS)
        ));
    }
    let shown = decimal(percent, DIGITS);
    if percent > MAX_PERCENT {
        return Err(format!(
            "{shown}% leaves the host too little of its CPU: at most {}%",
            abi::RT_MAX_BUDGET_PERCENT
        ));
    }
    // Rounded down, so that it is never more than the limit.
    let budget_ns = period_ns * percent / HUNDRED_PERCENT;
    if budget_ns < abi::RT_MIN_BUDGET_NS {
        return Err(format!(
            "{shown}% of {period} is {}, too short to do anything in: give at least {}, by a larger share or a longer period",
            show_time(budget_ns),
            show_time(abi::RT_MIN_BUDGET_NS)
        ));
    }
    Ok(Budget {
        budget_ns,
        period_ns,
    })
}

/// A whole number of nanoseconds, exactly: `10 ms`, `2.5 ms`.
fn show_time(ns: u64) -> String {
    let (unit, digits) = match ns {
        0..1_000 => ("ns", 0),
        1_000..1_000_000 => ("µs", 3),
        1_000_000..1_000_000_000 => ("ms", 6),
        _ => ("s", 9),
    };
    format!("{} {unit}", decimal(ns, digits))
}

/// `value` divided by 10 to the `digits`, without zeros at the end.
fn decimal(value: u64, digits: u32) -> String {
    let one = 10u64.pow(digits);
    let (whole, rest) = (value / one, value % one);
    if rest == 0 {
        return whole.to_string();
    }
    let rest = format!("{rest:0width$}", width = digits as usize);
    format!("{whole}.{}", rest.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::errors;

    #[test]
    fn good_budgets() {
        for (text, budget_ns, period_ns) in [
            ("40%/10ms", 4_000_000, 10_000_000),
            ("40%", 4_000_000, 10_000_000),
            ("12.5%/1ms", 125_000, 1_000_000),
            ("33.333%/1s", 333_330_000, 1_000_000_000),
            (".5%/0.01s", 50_000, 10_000_000),
            ("50%/2.5ms", 1_250_000, 2_500_000),
            ("50.%/250us", 125_000, 250_000),
            ("50%/250µs", 125_000, 250_000),
            (" 40 % / 10 ms ", 4_000_000, 10_000_000),
            ("33.333%/100.001us", 33_333, 100_001),
        ] {
            let budget = Budget {
                budget_ns,
                period_ns,
            };
            assert_eq!(parse(text), Ok(budget), "{text}");
        }
    }

    #[test]
    fn no_budgets() {
        let text = errors(
            &[
                "",
                "40",
                "40/10ms",
                "4ms/10ms",
                "%",
                "-4%",
                "+4%",
                ".%",
                "1.2.3%",
                "1e1%",
                "nan%",
                "40%%",
                "12.3456%",
                "99999999999999999999%",
                "18446744073709551%",
                "18446744073709552%",
                "40%/",
                "40%/ms",
                "40%/-1ms",
                "40%/10",
                "40%/10min",
                "40%/10ms/2",
                "40%/1.0001us",
                "40%/99999999999s",
            ],
            parse,
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn limits() {
        for (text, budget_ns, period_ns) in [
            ("10%/100us", 10_000, 100_000),
            ("0.001%/1s", 10_000, 1_000_000_000),
            ("95%/1s", 950_000_000, 1_000_000_000),
            ("95%/100.001us", 95_000, 100_001),
        ] {
            let budget = Budget {
                budget_ns,
                period_ns,
            };
            assert_eq!(parse(text), Ok(budget), "{text}");
        }
        for (text, why) in [
            (
                "40%/99.999us",
                "in a period of 99.999 µs the CPU would do little but change hands: at least 100 µs",
            ),
            (
                "40%/1.000000001s",
                "in a period of 1.000000001 s the host would wait too long for its turn: at most 1 s",
            ),
            (
                "95.001%/10ms",
                "95.001% leaves the host too little of its CPU: at most 95%",
            ),
            (
                "9.999%/100us",
                "9.999% of 100 µs is 9.999 µs, too short to do anything in: give at least 10 µs, by a larger share or a longer period",
            ),
            (
                "0%",
                "0% of 10 ms is 0 ns, too short to do anything in: give at least 10 µs, by a larger share or a longer period",
            ),
        ] {
            assert_eq!(parse(text), Err(format!("budget '{text}': {why}")));
        }
    }

    #[test]
    fn shown() {
        for (text, shown) in [
            ("40%", "40% of 10 ms"),
            ("12.50%/1ms", "12.5% of 1 ms"),
            ("33.333%/100.007us", "33.333% of 100.007 µs"),
            ("0.001%/1s", "0.001% of 1 s"),
            ("95%/0.0025s", "95% of 2.5 ms"),
        ] {
            assert_eq!(parse(text).unwrap().to_string(), shown);
        }
        // What is shown is what was asked for, however it was rounded.
        for period in [
            "100us",
            "100.001us",
            "123.457us",
            "9.999999ms",
            "0.999999999s",
        ] {
            for percent in (10_000..=MAX_PERCENT).step_by(7) {
                let percent = decimal(percent, DIGITS);
                let budget = parse(&format!("{percent}%/{period}")).unwrap();
                let shown = budget.to_string();
                assert!(shown.starts_with(&format!("{percent}% of ")), "{shown}");
            }
        }
        // Whatever KLoader says.
        for (budget_ns, period_ns, shown) in [
            (1, 3, "33.334% of 3 ns"),
            (0, 0, "0% of 0 ns"),
            (u64::MAX, u64::MAX, "100% of 18446744073.709551615 s"),
            (u64::MAX, 1, "18446744073709551.615% of 1 ns"),
        ] {
            let budget = Budget {
                budget_ns,
                period_ns,
            };
            assert_eq!(budget.to_string(), shown);
        }
    }

    #[test]
    fn times() {
        for (ns, shown) in [
            (999, "999 ns"),
            (100_000, "100 µs"),
            (100_001, "100.001 µs"),
            (2_500_000, "2.5 ms"),
            (10_000_000, "10 ms"),
            (1_000_000_000, "1 s"),
            (u64::MAX, "18446744073.709551615 s"),
        ] {
            assert_eq!(show_time(ns), shown);
        }
    }
}
