//! One file per command.

pub mod attach;
pub mod bench;
pub mod bring_up;
pub mod console;
pub mod cp;
pub mod detach;
pub mod devices;
pub mod docs;
pub mod doctor;
pub mod dump;
pub mod exec;
pub mod ikc;
pub mod kill;
pub mod logs;
pub mod ls;
pub mod map;
pub mod oci;
pub mod perf;
pub mod ping;
pub mod pool;
pub mod resize;
pub mod restart;
pub mod rm;
pub mod rt;
pub mod run;
pub mod selftest;
pub mod serve;
pub mod show;
pub mod start;
pub mod stop;
pub mod top;
pub mod trust;
pub mod wait;
pub mod web;

use crate::error::{Error, Result};
use crate::ui::output;

/// Do the same for each name. An error at one does not keep the others from
/// their turn; a signal does.
fn each(names: &[String], mut action: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let mut failed = None;
    for name in names {
        match action(name) {
            Ok(()) => {}
            Err(e @ Error::Failed { .. }) => {
                // The last one is reported by main().
                if let Some(earlier) = failed.replace(e) {
                    output::error(&earlier);
                }
            }
            Err(e) => {
                if let Some(earlier) = failed {
                    output::error(&earlier);
                }
                return Err(e);
            }
        }
    }
    failed.map_or(Ok(()), Err)
}
