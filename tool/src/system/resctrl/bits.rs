//! Which bits of an L3 cache a group gets. Groups have runs of bits: some processors know no others.

/// What the groups of resctrl have of one L3 cache, as masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// All that there is.
    pub all: u64,
    /// The fewest bits that a group may have.
    pub least: u32,
    /// The host's own group, in which everything is that is in no other.
    pub host: u64,
    /// All other groups together.
    pub others: u64,
}

impl Cache {
    /// Return what is left for the host's own group: the highest run, for the highest bits are
    /// those that devices write to.
    pub fn rest(self) -> u64 {
        highest_run(self.all & !self.others)
    }

    /// Return the lowest run of bits that makes `percent` of the cache and leaves the host some;
    /// or else the most that could be had, in percent.
    pub fn place(self, percent: u32) -> Result<u64, u32> {
        let width = self.all.count_ones();
        let wanted = ((width * percent + 50) / 100).max(self.least);
        let most = (1..=width).rev().find(|size| self.run_of(*size).is_some());
        self.run_of(wanted)
            .ok_or_else(|| most.map_or(0, |size| size * 100 / width.max(1)))
    }

    fn run_of(self, size: u32) -> Option<u64> {
        let run = 1u64.checked_shl(size)?.checked_sub(1)?;
        let free = self.all & !self.others;
        let places = (0..=self.all.count_ones().checked_sub(size)?).map(|shift| run << shift);
        let fits = |run: &u64| {
            let left = highest_run(free & !run);
            free & run == *run && left.count_ones() >= self.least.max(1)
        };
        places.into_iter().find(fits)
    }
}

fn highest_run(mask: u64) -> u64 {
    let Some(high) = mask.checked_shl(mask.leading_zeros()) else {
        return 0;
    };
    let run = u64::MAX << (64 - high.leading_ones());
    run >> mask.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn cache(others: u64) -> Cache {
        Cache {
            all: 0xfff,
            least: 2,
            host: 0xfff,
            others,
        }
    }

    #[test]
    fn the_host_keeps_the_highest() {
        assert_eq!(cache(0).rest(), 0xfff);
        assert_eq!(cache(0x0f).rest(), 0xff0);
        assert_eq!(cache(0x3c).rest(), 0xfc0, "what is below is nobody's");
        assert_eq!(cache(0xfff).rest(), 0);
    }

    #[test]
    fn a_partition_gets_the_lowest() {
        assert_eq!(cache(0).place(50), Ok(0x3f));
        assert_eq!(cache(0x0f).place(25), Ok(0x70));
        assert_eq!(cache(0).place(1), Ok(0x3), "the fewest that there can be");
        assert_eq!(cache(0x38).place(25), Ok(0x7), "in a gap");
        assert_eq!(cache(0x38).place(33), Ok(0x3c0));
    }

    #[test]
    fn too_much() {
        assert_eq!(cache(0).place(100), Err(83), "ten of twelve");
        assert_eq!(cache(0xff).place(50), Err(16));
        assert_eq!(cache(0x3ff).place(10), Err(0));
    }
}
