//! Wait for a partition to change its state, with progress and a time limit.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::partition::{Device, State, Status};
use crate::ui::interrupt;
use crate::ui::progress::Progress;
use crate::ui::refusal::OrRefuse;

/// How long one WAIT call may block: the longest a Ctrl-C goes unseen if it
/// arrives just before the call.
const SLICE: Duration = Duration::from_millis(200);

/// Wait until `done` says so about the state; its final status, or `None` if
/// that took longer than `timeout`.
pub fn until(
    device: &dyn Device,
    id: u32,
    timeout: Duration,
    progress: &mut Progress,
    done: impl Fn(State) -> bool,
) -> Result<Option<Status>> {
    const WHAT: &str = "cannot watch the partition";
    let end = Instant::now() + timeout;
    let mut status = device.status(id).or_refuse(WHAT)?;
    loop {
        if done(status.state) {
            return Ok(Some(status));
        }
        interrupt::check()?;
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        progress.tick();
        // At least a millisecond: zero would spin.
        let slice = left.clamp(Duration::from_millis(1), SLICE);
        if device
            .wait(id, status.event, slice)
            .or_refuse(WHAT)?
            .is_some()
        {
            status = device.status(id).or_refuse(WHAT)?;
        }
    }
}
