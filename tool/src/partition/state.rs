//! What a partition is, what it does and why it ended: KLoader's numbers, and our words.

use serde::Serialize;
use strum::{Display, FromRepr, IntoStaticStr};

use crate::abi;

/// What a partition does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Display, FromRepr, IntoStaticStr)]
#[repr(u32)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum State {
    Created = 1,
    Loaded,
    Starting,
    Running,
    Stopping,
    Stopped,
    Crashed,
    Stuck,
    Unknown,
}

impl State {
    /// Read KLoader's number.
    pub fn from_raw(raw: u32) -> Self {
        Self::from_repr(raw).unwrap_or(State::Unknown)
    }

    /// Do its CPUs run?
    pub fn active(self) -> bool {
        matches!(self, State::Starting | State::Running | State::Stopping)
    }

    /// Tell whether it can be killed. A stuck one is tried again.
    pub fn killable(self) -> bool {
        self.active() || self == State::Stuck
    }

    /// Return its word, for tables and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why a partition last stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, FromRepr, IntoStaticStr)]
#[repr(u32)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Cause {
    None = 0,
    Poweroff,
    Reboot,
    Halt,
    Panic,
    Reset,
    Killed,
    Fault,
    Failed,
    Changed,
    Unknown,
}

impl Cause {
    /// Read KLoader's number.
    pub fn from_raw(raw: u32) -> Self {
        Self::from_repr(raw).unwrap_or(Cause::Unknown)
    }

    /// Return one word, for tables.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Return what the partition did: "it …".
    pub fn verb(self) -> &'static str {
        match self {
            Cause::None | Cause::Unknown => "stopped",
            Cause::Poweroff => "powered off",
            Cause::Reboot => "rebooted",
            Cause::Halt => "halted",
            Cause::Panic => "panicked",
            Cause::Reset => "reset itself",
            Cause::Killed => "was killed",
            Cause::Fault => "did what it may not",
            Cause::Failed => "failed",
            Cause::Changed => "was changed from outside",
        }
    }
}

/// What runs in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A stock kernel, on CPUs of its own.
    Linux,
    /// A real-time program that shares a CPU with the host.
    Rt,
}

impl Kind {
    /// Read KLoader's number. This version of the interface has no others.
    pub fn from_raw(raw: u32) -> Self {
        match raw {
            abi::KIND_RT => Kind::Rt,
            _ => Kind::Linux,
        }
    }

    /// Return KLoader's number.
    pub fn to_raw(self) -> u32 {
        match self {
            Kind::Linux => abi::KIND_LINUX,
            Kind::Rt => abi::KIND_RT,
        }
    }

    /// Return what a user calls it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Linux => "Linux",
            Kind::Rt => "real-time program",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_words() {
        for (raw, state, word) in [
            (1, State::Created, "created"),
            (8, State::Stuck, "stuck"),
            (0, State::Unknown, "unknown"),
            (99, State::Unknown, "unknown"),
        ] {
            assert_eq!(State::from_raw(raw), state);
            assert_eq!((state.name(), state.to_string().as_str()), (word, word));
        }
        assert_eq!(format!("{:8}|", State::Stuck), "stuck   |");
        assert_eq!(Cause::from_raw(0).name(), "none");
        assert_eq!(Cause::from_raw(9).name(), "changed");
        assert_eq!(Cause::from_raw(99), Cause::Unknown);
    }
}
