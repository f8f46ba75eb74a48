//! Where memory is.

use serde::{Deserialize, Serialize};

/// A piece of physical memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    pub start: u64,
    pub size: u64,
}

impl Range {
    /// Return the first address behind it; ranges that wrap end at the last address.
    pub fn end(self) -> u64 {
        self.start.saturating_add(self.size)
    }
}
