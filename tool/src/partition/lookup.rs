//! From a name to a partition, and from a refusal to an error.

use std::fmt;

use nix::errno::Errno;

use crate::error::{Error, Result};
use crate::partition::{self, Device, Outcome, Status};
use crate::ui::interrupt;

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

/// From KLoader's refusals to errors.
pub trait OrRefuse<T> {
    /// Turn a refusal into an error. `what`: the sentence's beginning, "cannot start
    /// 'web'".
    fn or_refuse(self, what: impl fmt::Display) -> Result<T>;
}

impl<T> OrRefuse<T> for Outcome<T> {
    fn or_refuse(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|refusal| {
            if refusal.errno == Errno::EINTR {
                if let Err(interrupted) = interrupt::check() {
                    return interrupted;
                }
            }
            let error = Error::new(format!("{what}: {refusal}"));
            match refusal.errno {
                Errno::EPROTO => error.hint(
                    "install the shimos tool and modules of the same version, then reload shimos_kloader",
                ),
                _ => error,
            }
        })
    }
}
