//! Times in great number: percentiles, and how to show them.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::error::{Error, Result};

/// Nothing takes longer.
const MAX_NS: u64 = 3_600_000_000_000;
/// Values are kept to a thousandth, in memory that does not grow.
const DIGITS: u8 = 3;

/// Times, collected.
pub struct Latency {
    histogram: Histogram<u64>,
    min: u64,
    max: u64,
}

/// What there is to say of many times, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub count: u64,
    pub min_ns: u64,
    pub median_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    #[serde(rename = "p99.9_ns")]
    pub p999_ns: u64,
    pub max_ns: u64,
}

impl Latency {
    /// Begin with none.
    pub fn new() -> Result<Self> {
        let histogram = Histogram::new_with_bounds(1, MAX_NS, DIGITS)
            .map_err(|e| Error::new(format!("cannot set up the statistics: {e}")))?;
        Ok(Self {
            histogram,
            min: u64::MAX,
            max: 0,
        })
    }

    /// Add one; what is too long counts as the longest.
    pub fn add(&mut self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.histogram.saturating_record(ns);
    }

    /// Sum them up; `None`: there were no values.
    pub fn summary(&self) -> Option<Summary> {
        if self.histogram.is_empty() {
            return None;
        }
        // The value at a rank is known to three digits only, its limits exactly.
        let at = |q: f64| {
            self.histogram
                .value_at_quantile(q)
                .clamp(self.min, self.max)
        };
        Some(Summary {
            count: self.histogram.len(),
            min_ns: self.min,
            median_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: self.max,
        })
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, ns) in [
            ("min", self.min_ns),
            (", median", self.median_ns),
            (", p90", self.p90_ns),
            (", p99", self.p99_ns),
            (", p99.9", self.p999_ns),
            (", max", self.max_ns),
        ] {
            write!(f, "{name} {}", short(Duration::from_nanos(ns)))?;
        }
        Ok(())
    }
}

/// Write a time: `850 ns`, `12.3 µs`, `4.56 ms`, `7.89 s`.
pub fn short(time: Duration) -> String {
    let ns = time.as_nanos();
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} µs", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} ms", ns as f64 / 1e6),
        _ => format!("{:.2} s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank() {
        let mut latency = Latency::new().unwrap();
        assert_eq!(latency.summary(), None);
        for us in (1..=1000).rev() {
            latency.add(Duration::from_micros(us));
        }
        let summary = latency.summary().unwrap();
        assert_eq!(summary.count, 1000);
        assert_eq!((summary.min_ns, summary.max_ns), (1_000, 1_000_000));
        let near = |ns: u64, wanted: u64| ns.abs_diff(wanted) <= wanted / 1000;
        assert!(near(summary.median_ns, 500_000), "{summary}");
        assert!(near(summary.p90_ns, 900_000), "{summary}");
        assert!(near(summary.p99_ns, 990_000), "{summary}");
        assert!(near(summary.p999_ns, 999_000), "{summary}");
    }

    #[test]
    fn one_value_is_all_of_them() {
        let mut latency = Latency::new().unwrap();
        latency.add(Duration::from_nanos(123_457));
        let shown = latency.summary().unwrap().to_string();
        assert_eq!(
            shown,
            "min 123.5 µs, median 123.5 µs, p90 123.5 µs, p99 123.5 µs, p99.9 123.5 µs, max 123.5 µs"
        );
    }

    #[test]
    fn times() {
        for (ns, shown) in [
            (0, "0 ns"),
            (850, "850 ns"),
            (12_340, "12.3 µs"),
            (4_560_000, "4.56 ms"),
            (7_890_000_000, "7.89 s"),
        ] {
            assert_eq!(short(Duration::from_nanos(ns)), shown);
        }
    }
}
