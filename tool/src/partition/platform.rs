//! What a partition is told of its platform, where the architecture leaves that to us.

use super::range::Range;

/// How the firmware is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conduit {
    Hvc,
    Smc,
}

/// What the description must say. The fields are those of `struct shimos_platform`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    pub conduit: Conduit,
    /// Where it meets its agent.
    pub shared: Range,
    pub initrd: Option<Range>,
    pub distributor: Range,
    pub redistributors: Range,
    /// Private interrupts of the timers: secure, non-secure, virtual, hypervisor; 0: none.
    pub timer: [u32; 4],
    pub timer_flags: u32,
    /// Hardware ids.
    pub cpus: Vec<u64>,
    pub memory: Vec<Range>,
}

/// A description, and what KLoader writes into it at each start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    pub blob: Vec<u8>,
    /// Where 8 random bytes go.
    pub seed: u32,
    /// Where the start's number goes, in 10 decimal digits.
    pub start: u32,
    /// Where 64 more random bytes go.
    pub entropy: u32,
}
