//! How late interrupts were: the buckets that the layer counts in, and what they say.

use serde::Serialize;

use crate::abi;
use crate::partition::RtLatency;

/// What a second has.
const NS: u128 = 1_000_000_000;

/// A bucket that is not empty, its limits in cycles and both in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub from: u64,
    pub to: u64,
    pub count: u64,
}

/// In cycles, or in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Figures {
    pub min: u64,
    pub mean: u64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    #[serde(rename = "p99.9")]
    pub p999: u64,
    pub max: u64,
}

impl Figures {
    /// Change all of them alike, as from cycles to nanoseconds.
    pub fn map(self, change: impl Fn(u64) -> u64) -> Self {
        Figures {
            min: change(self.min),
            mean: change(self.mean),
            p50: change(self.p50),
            p90: change(self.p90),
            p99: change(self.p99),
            p999: change(self.p999),
            max: change(self.max),
        }
    }

    /// Return them in the order of the table.
    pub fn all(self) -> [u64; 7] {
        [
            self.min, self.mean, self.p50, self.p90, self.p99, self.p999, self.max,
        ]
    }
}

/// The least number that a bucket is for.
fn least(bucket: usize) -> u64 {
    let steps = abi::RT_LATENCY_STEPS;
    match bucket / steps {
        0 => bucket as u64,
        octave => ((steps + bucket % steps) as u64) << (octave - 1),
    }
}

/// Return those that are not empty, the least first.
pub fn buckets(late: &RtLatency) -> Vec<Bucket> {
    let last = late.buckets.len().saturating_sub(1);
    let limits = |i: usize| match i {
        // for all that is greater
        i if i == last => (least(i), late.max.max(least(i))),
        i => (least(i), least(i + 1) - 1),
    };
    let counts = late.buckets.iter().enumerate();
    counts
        .filter(|(_, count)| **count != 0)
        .map(|(i, &count)| {
            let (from, to) = limits(i);
            Bucket {
                from,
                to,
                count: count.into(),
            }
        })
        .collect()
}

/// What `thousandths` of all are at most: the upper end of its bucket, for nobody knows better.
fn percentile(late: &RtLatency, buckets: &[Bucket], thousandths: u64) -> u64 {
    let all: u64 = buckets.iter().map(|b| b.count).sum();
    let mut left = (u128::from(all) * u128::from(thousandths)).div_ceil(1000);
    for bucket in buckets {
        match left.checked_sub(u128::from(bucket.count)) {
            None | Some(0) => return bucket.to.min(late.max).max(late.min),
            Some(still) => left = still,
        }
    }
    late.max
}

/// Compute the figures, in cycles, of a program that had interrupts.
pub fn figures(late: &RtLatency) -> Figures {
    let buckets = buckets(late);
    let at = |thousandths| percentile(late, &buckets, thousandths);
    Figures {
        min: late.min,
        mean: late.sum / late.count.max(1),
        p50: at(500),
        p90: at(900),
        p99: at(990),
        p999: at(999),
        max: late.max,
    }
}

/// Convert cycles to nanoseconds.
pub fn ns(late: &RtLatency, cycles: u64) -> u64 {
    let per_second = u128::from(late.cycles_per_second.max(1));
    u64::try_from(u128::from(cycles) * NS / per_second).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// So many of each number of cycles, as the layer counts them.
    pub fn late(values: &[(u64, u32)]) -> RtLatency {
        let mut late = RtLatency {
            cycles_per_second: 2_000_000_000,
            min: u64::MAX,
            buckets: vec![0; abi::RT_LATENCY_BUCKETS],
            ..RtLatency::default()
        };
        for &(cycles, count) in values {
            let bucket = late
                .buckets
                .iter()
                .enumerate()
                .rposition(|(i, _)| least(i) <= cycles);
            late.buckets[bucket.unwrap()] += count;
            late.count += u64::from(count);
            late.sum += cycles * u64::from(count);
            late.min = late.min.min(cycles);
            late.max = late.max.max(cycles);
        }
        late
    }

    #[test]
    fn widths() {
        // As in uapi/shimos_rt_interrupts.h: exact below two octaves' steps, then 32 steps an octave.
        for (bucket, cycles) in [
            (0, 0),
            (31, 31),
            (32, 32),
            (63, 63),
            (64, 64),
            (65, 66),
            (95, 126),
            (96, 128),
            (97, 132),
            (543, (1 << 21) - (1 << 15)),
            (544, 1 << 21),
        ] {
            assert_eq!(least(bucket), cycles, "bucket {bucket}");
        }
    }

    #[test]
    fn only_what_is_there() {
        assert_eq!(buckets(&late(&[])), []);
        let found = buckets(&late(&[(5, 1), (133, 2), (4_000_000, 3)]));
        let bucket = |from, to, count| Bucket { from, to, count };
        assert_eq!(
            found,
            [
                bucket(5, 5, 1),
                bucket(132, 135, 2),
                bucket(1 << 21, 4_000_000, 3)
            ]
        );
    }

    #[test]
    fn nearest_rank() {
        // 1000 of them: 1 to 500 once each, and 500 of 600
        let mut values: Vec<(u64, u32)> = (1..=500).map(|cycles| (cycles, 1)).collect();
        values.push((600, 498));
        values.push((601, 1));
        values.push((9000, 1));
        let found = figures(&late(&values));
        assert_eq!((found.min, found.max), (1, 9000));
        assert_eq!(found.mean, (125_250 + 600 * 498 + 601 + 9000) / 1000);
        assert_eq!(found.p50, 503, "500 is in a bucket from 496 to 503");
        assert_eq!((found.p90, found.p99, found.p999), (607, 607, 607));
        let found = figures(&late(&[(100, 998), (1000, 2)]));
        assert_eq!(
            (found.p99, found.p999),
            (101, 1000),
            "no more than the greatest"
        );
        let found = figures(&late(&[(70, 1)]));
        assert_eq!(found.all(), [70; 7]);
    }

    #[test]
    fn what_nobody_sent_harms_nothing() {
        let mut odd = late(&[(70, 1)]);
        odd.cycles_per_second = 0;
        odd.sum = u64::MAX;
        odd.max = u64::MAX;
        assert_eq!(ns(&odd, u64::MAX), u64::MAX);
        odd.buckets.fill(u32::MAX);
        assert!(figures(&odd).p999 > 0);
        odd.buckets.clear();
        assert_eq!(buckets(&odd), []);
        assert_eq!(figures(&odd).p50, u64::MAX);
    }

    #[test]
    fn nanoseconds() {
        let late = late(&[(1, 1)]);
        assert_eq!(
            (ns(&late, 301), ns(&late, 2_000_000_000)),
            (150, 1_000_000_000)
        );
    }
}
