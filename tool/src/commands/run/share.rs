//! Its share of caches and memory bandwidth.

use crate::error::Result;
use crate::partition::{self, Device};
use crate::system::System;
use crate::system::resctrl::{Groups, Share};
use crate::ui::refusal::OrRefuse;

/// Open the machine's groups if a share is asked for, without those of partitions that are gone.
pub fn groups(device: &dyn Device, share: Share) -> Result<Option<Groups>> {
    if share == Share::default() {
        return Ok(None);
    }
    let groups = Groups::open(&System::real(), share)?;
    let list = partition::all(device).or_refuse("cannot list the partitions")?;
    let names: Vec<&str> = list.iter().map(|status| status.name.as_str()).collect();
    groups.sweep(&names);
    Ok(Some(groups))
}
