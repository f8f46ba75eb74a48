//! What a partition is, what it does and why it ended: KLoader's numbers, and our words.

use std::fmt;

use serde::Serialize;

use crate::abi;

/// What a partition does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Created,
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
        match raw {
            1 => State::Created,
            2 => State::Loaded,
            3 => State::Starting,
            4 => State::Running,
            5 => State::Stopping,
            6 => State::Stopped,
            7 => State::Crashed,
            8 => State::Stuck,
            _ => State::Unknown,
        }
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
        match self {
            State::Created => "created",
            State::Loaded => "loaded",
            State::Starting => "starting",
            State::Running => "running",
            State::Stopping => "stopping",
            State::Stopped => "stopped",
            State::Crashed => "crashed",
            State::Stuck => "stuck",
            State::Unknown => "unknown",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why a partition last stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    None,
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
        match raw {
            0 => Cause::None,
            1 => Cause::Poweroff,
            2 => Cause::Reboot,
            3 => Cause::Halt,
            4 => Cause::Panic,
            5 => Cause::Reset,
            6 => Cause::Killed,
            7 => Cause::Fault,
            8 => Cause::Failed,
            9 => Cause::Changed,
            _ => Cause::Unknown,
        }
    }

    /// Return one word, for tables.
    pub fn name(self) -> &'static str {
        match self {
            Cause::None => "none",
            Cause::Poweroff => "poweroff",
            Cause::Reboot => "reboot",
            Cause::Halt => "halt",
            Cause::Panic => "panic",
            Cause::Reset => "reset",
            Cause::Killed => "killed",
            Cause::Fault => "fault",
            Cause::Failed => "failed",
            Cause::Changed => "changed",
            Cause::Unknown => "unknown",
        }
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
