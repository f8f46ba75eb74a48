//! How long to spin before going to sleep.

use std::hint;
use std::time::{Duration, Instant};

const DEFAULT_MAX: Duration = Duration::from_micros(50);
const MIN: Duration = Duration::from_micros(1);
/// Looks between two looks at the clock.
const TURNS: u32 = 32;

/// Spins as long as allowed if what is waited for tends to come soon, and shorter
/// and shorter if it does not.
pub struct Spin {
    max: Duration,
    now: Duration,
}

impl Default for Spin {
    fn default() -> Self {
        Self::up_to(DEFAULT_MAX)
    }
}

impl Spin {
    /// Spin for up to `max`. Zero: never spin. `Duration::MAX`: never sleep.
    pub fn up_to(max: Duration) -> Self {
        Self { max, now: max }
    }

    /// Tell whether whoever waits shall spin for ever.
    pub fn never_sleeps(&self) -> bool {
        self.max == Duration::MAX
    }

    /// Spin until `ready`, but not beyond the deadline.
    pub fn spin(&self, start: Instant, deadline: Option<Instant>, mut ready: impl FnMut() -> bool) {
        let own = start.checked_add(self.now);
        let end = [own, deadline].into_iter().flatten().min();
        loop {
            for _ in 0..TURNS {
                if ready() {
                    return;
                }
                hint::spin_loop();
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                return;
            }
        }
    }

    /// Learn that what was waited for came after `waited`.
    pub fn adapt(&mut self, waited: Duration) {
        self.now = match waited <= self.max {
            true => self.max,
            false => (self.now / 2).max(MIN.min(self.max)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_adapts() {
        let mut spin = Spin::up_to(Duration::from_micros(40));
        spin.adapt(Duration::from_millis(1));
        assert_eq!(spin.now, Duration::from_micros(20));
        for _ in 0..10 {
            spin.adapt(Duration::from_millis(1));
        }
        assert_eq!(spin.now, MIN);
        spin.adapt(Duration::from_micros(30));
        assert_eq!(spin.now, Duration::from_micros(40));
        let mut never = Spin::up_to(Duration::ZERO);
        never.adapt(Duration::from_secs(1));
        assert_eq!(never.now, Duration::ZERO);
    }

    #[test]
    fn deadlines_end_it() {
        let start = Instant::now();
        let deadline = Some(start + Duration::from_millis(2));
        Spin::up_to(Duration::MAX).spin(start, deadline, || false);
        assert!(start.elapsed() >= Duration::from_millis(2));
    }
}
