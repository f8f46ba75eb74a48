//! Whether a partition starts again by itself.

use serde::{Deserialize, Serialize};

/// What becomes of a partition that reboots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum OnReboot {
    /// Start it again
    Restart,
    /// Leave it stopped
    Stop,
}

/// What becomes of a program whose memory was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum OnChange {
    /// Start it again from its image
    Restart,
    /// Leave it ended
    Stop,
}
