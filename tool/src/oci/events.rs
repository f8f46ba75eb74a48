//! What a container uses, and that it ran out of memory, in the words of runc's `events`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::life::Runtime;
use crate::error::{Error, Result};
use crate::system::cgroup::Figures;
use crate::ui::interrupt;

/// Tell of a container that runs, once, or each time so long after the last one until it has
/// ended; `say` gets one event after the other.
pub fn follow(
    runtime: &Runtime,
    id: &str,
    every: Option<Duration>,
    mut say: impl FnMut(&Value) -> Result<()>,
) -> Result<()> {
    if every.is_some_and(|every| every.is_zero()) {
        return Err(Error::new("--interval must be more than 0 s"));
    }
    runtime.check_runs(id)?;
    let (mut runs, mut killed) = (true, 0);
    loop {
        let next = Instant::now() + every.unwrap_or_default();
        let figures = runtime.figures(id)?;
        if figures.oom_kills > killed {
            killed = figures.oom_kills;
            say(&json!({"type": "oom", "id": id}))?;
        }
        say(&json!({"type": "stats", "id": id, "data": stats(&figures)}))?;
        if every.is_none() || !runs {
            return Ok(());
        }
        interrupt::pause_until(next)?;
        // Before the figures, so that the last ones are of after its end.
        runs = runtime.check_runs(id).is_ok();
    }
}

/// The fields of runc's `types/events`: nanoseconds and bytes; a limit that is not set is the
/// largest number there, and 0 processes.
fn stats(figures: &Figures) -> Value {
    let nanoseconds = |microseconds: u64| microseconds.saturating_mul(1000);
    json!({
        "cpu": {"usage": {
            "total": nanoseconds(figures.cpu),
            "user": nanoseconds(figures.cpu_user),
            "kernel": nanoseconds(figures.cpu_kernel),
        }},
        "memory": {
            "cache": figures.memory_cache,
            "usage": {
                "usage": figures.memory,
                "max": figures.memory_peak,
                "limit": figures.memory_limit.unwrap_or(u64::MAX),
                "failcnt": figures.memory_limit_met,
            },
        },
        "pids": {
            "current": figures.processes,
            "limit": figures.processes_limit.unwrap_or(0),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_runc_has_it() {
        let figures = Figures {
            cpu: 3,
            cpu_user: 2,
            memory: 4096,
            processes_limit: Some(9),
            ..Figures::default()
        };
        let stats = stats(&figures);
        assert_eq!(
            stats["cpu"]["usage"],
            json!({"total": 3000, "user": 2000, "kernel": 0})
        );
        assert_eq!(stats["memory"]["usage"]["limit"], u64::MAX);
        assert_eq!(stats["pids"], json!({"current": 0, "limit": 9}));
    }
}
