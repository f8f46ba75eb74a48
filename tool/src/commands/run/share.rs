//! Its share of caches and memory bandwidth.

use crate::error::Result;
use crate::partition::{self, Device, lookup};
use crate::system::System;
use crate::system::resctrl::{Group, Groups, Share};
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

/// Keep the group as long as the partition, which may be there although it did not come up.
pub fn keep_with(device: &dyn Device, group: Option<Group<'_>>, name: &str) {
    match group {
        Some(group) if lookup::find(device, name).is_ok() => group.keep(),
        _ => {}
    }
}
