//! Who shares CPUs, for all of `shimos rt`.

use nix::errno::Errno;
use serde::Serialize;

use crate::cli::Json;
use crate::error::{Error, Result};
use crate::partition::lookup;
use crate::partition::{self, Device, Kind, Status};
use crate::ui::output;
use crate::ui::refusal::{OrRefuse, Outcome};

/// Print what a command has found out about the CPUs that are shared; `name` is what it is called in JSON.
pub fn print<R: Serialize>(
    name: &str,
    rows: &[R],
    args: &Json,
    table: impl Fn(&[R]) -> String,
) -> Result<()> {
    if args.json {
        return output::json_list(name, rows);
    }
    output::line(match rows {
        [] => "no CPU is shared".into(),
        rows => table(rows),
    })
}

/// List all that share a CPU, and what `ask` finds out about each.
pub fn sharers<T>(
    device: &dyn Device,
    ask: impl Fn(u32) -> Outcome<T>,
) -> Result<Vec<(Status, T)>> {
    let mut sharers = Vec::new();
    for status in partition::all(device).or_refuse("cannot list the partitions")? {
        if status.kind != Kind::Rt {
            continue;
        }
        match ask(status.id) {
            Ok(found) => sharers.push((status, found)),
            // It has been removed meanwhile.
            Err(refusal) if refusal.errno == Errno::ENOENT => {}
            other => {
                other.or_refuse(format_args!("cannot ask about '{}'", status.name))?;
            }
        }
    }
    Ok(sharers)
}

/// Find the real-time program of this name; `but` and `hint` are for who names another partition.
pub fn named(device: &dyn Device, name: &str, but: &str, hint: &str) -> Result<Status> {
    // `shimos rt` calls it otherwise than `shimos run` did.
    let name = name.strip_suffix(":0").unwrap_or(name);
    let status = lookup::find(device, name)?;
    match status.kind {
        Kind::Rt => Ok(status),
        _ => Err(Error::new(format!("'{name}' {but}")).hint(hint)),
    }
}

/// Return the number of one of the host's own CPUs, as `shimos rt` calls it; `None`: it is not one's name.
pub fn host_cpu(name: &str) -> Result<Option<u32>> {
    let Some(cpu) = name.strip_prefix("host:") else {
        return Ok(None);
    };
    cpu.parse().map(Some).map_err(|_| {
        Error::new(format!("there is no '{name}'"))
            .hint("the host's CPUs are host:0, host:1 and so on")
    })
}

/// The hint for most of them.
pub const WHO_SHARES: &str = "`shimos rt` lists the partitions that share a CPU";
