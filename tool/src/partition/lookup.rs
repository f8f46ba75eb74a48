//! From a name to a partition.

use crate::error::{Error, Result};
use crate::partition::{self, Device, Status};
use crate::ui::refusal::OrRefuse;

/// Find the partition called `name`, or fail with an error that lists those there are.
pub fn find(device: &dyn Device, name: &str) -> Result<Status> {
    let list = partition::all(device).or_refuse("cannot list the partitions")?;
    if let Some(status) = list.iter().find(|s| s.name == name) {
        return Ok(status.clone());
    }
    let names: Vec<&str> = list.iter().map(|s| s.name.as_str()).collect();
    let error = Error::new(format!("there is no partition '{name}'"));
    Err(match names.as_slice() {
        [] => error.hint("there are none at all; `shimos run` makes one"),
        names => error.hint(format!("there are: {}", names.join(", "))),
    })
}
