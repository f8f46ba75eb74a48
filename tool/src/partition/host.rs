//! The host's own CPUs beside real-time programs.

use clap::ValueEnum;
use serde::Serialize;

/// Where the host's CPUs are while real-time programs share some of them; in the order of
/// `SHIMOS_HOST_POLICY_*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum HostPolicy {
    /// Where they were moved to; one whose core a program has waits
    #[default]
    Fixed,
    /// One whose core a program has runs on another one meanwhile, so who waits for its locks need not
    Lhp,
    /// On the cores that no program shares
    Spread,
    /// All on the core that the first program shares
    Pack,
    /// One that shares its core runs programs there, and the kernel elsewhere
    UserOnly,
}

impl HostPolicy {
    /// Return the one of a number. The interface's version says that there are no others.
    pub fn of(number: u32) -> Self {
        let known = Self::value_variants().get(number as usize).copied();
        known.unwrap_or(Self::UserOnly)
    }
}

/// One of the host's own CPUs that can move, and under which the layer is. The fields are those
/// of `struct shimos_host_cpu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCpu {
    pub cpu: u32,
    pub core: u32,
    pub exits: u64,
    pub moves: u64,
    pub moved_ns: u64,
    pub moved_max_ns: u64,
    pub priority: u32,
    pub lost: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_back() {
        for &policy in HostPolicy::value_variants() {
            assert_eq!(HostPolicy::of(policy as u32), policy);
        }
    }
}
