//! From cycles to `embassy-time`'s ticks and back, and deadlines that come again and again.
//! No CPU and no board, so that unit tests have it, too.

/// Ticks in a second: what `embassy-time` is built with, see `Cargo.toml`.
pub const TICKS: u64 = 1_000_000_000;

/// Return the time after so many cycles, in whole ticks.
///
/// Exact as long as a second has less than 18 thousand million cycles.
pub fn ticks(cycles: u64, rate: u64) -> u64 {
    cycles / rate * TICKS + cycles % rate * TICKS / rate
}

/// Return the first cycle at which [`ticks`] says so, or the last one that there is.
pub fn cycles(ticks: u64, rate: u64) -> u64 {
    let part = (ticks % TICKS * rate).div_ceil(TICKS);
    (ticks / TICKS).saturating_mul(rate).saturating_add(part)
}

/// Return what the timer takes for a deadline in these cycles: it compares by the
/// difference, so one that is further away than half of all cycles would be over.
pub fn within_reach(deadline: u64, now: u64) -> u64 {
    deadline.min(now.saturating_add(i64::MAX as u64))
}

/// Something that is due again and again.
///
/// Deadlines are absolute: however late one is seen, those after it stay where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The next one.
    pub due: u64,
    /// Between two of them.
    pub period: u64,
}

impl Pace {
    /// Return how many have come; then comes the first one that has not.
    ///
    /// It is 0 if it is too early, 1 if all is well, and more if some were missed.
    pub fn pass(&mut self, now: u64) -> u64 {
        if now < self.due {
            return 0;
        }
        let count = (now - self.due) / self.period + 1;
        self.due += count * self.period;
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: [u64; 5] = [
        999_999_937,
        1_000_000_000,
        2_112_000_000,
        3_600_001_234,
        5_900_000_000,
    ];

    #[test]
    fn seconds_are_exact() {
        for rate in RATES {
            for seconds in [0, 1, 86_400, 3_000_000_000] {
                assert_eq!(ticks(seconds * rate, rate), seconds * TICKS);
                assert_eq!(cycles(seconds * TICKS, rate), seconds * rate);
            }
        }
    }

    #[test]
    fn a_deadline_is_the_first_cycle_of_its_tick() {
        for rate in RATES {
            for tick in (0..50)
                .chain(999_999_990..1_000_000_010)
                .map(|at| at * 7_777_777)
            {
                let cycle = cycles(tick, rate);
                assert!(ticks(cycle, rate) >= tick, "{tick} at {rate}");
                assert!(
                    cycle == 0 || ticks(cycle - 1, rate) < tick,
                    "{tick} at {rate}"
                );
            }
        }
    }

    #[test]
    fn what_never_comes_is_far_away() {
        let rate = 3_600_001_234;
        assert_eq!(cycles(u64::MAX - 1, rate), u64::MAX);
        let deadline = within_reach(u64::MAX, 1000);
        assert!((deadline - 1000) as i64 > 0);
        assert_eq!(within_reach(2000, 1000), 2000);
    }

    #[test]
    fn a_pace_does_not_drift() {
        let mut pace = Pace {
            due: 100,
            period: 10,
        };
        assert_eq!(pace.pass(99), 0);
        assert_eq!(pace.pass(100), 1);
        assert_eq!(pace.pass(119), 1);
        assert_eq!(pace.due, 120);
        assert_eq!(pace.pass(155), 4);
        assert_eq!(pace.due, 160);
    }
}
