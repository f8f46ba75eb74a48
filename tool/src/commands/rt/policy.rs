//! `shimos rt policy`

use serde::Serialize;

use crate::cli;
use crate::error::Result;
use crate::partition::{Device, HostPolicy};
use crate::ui::output;
use crate::ui::refusal::OrRefuse;

/// Print, or set, where the host's CPUs are while programs share them.
pub fn run(device: &dyn Device, args: &cli::RtPolicy) -> Result<()> {
    let found = ask(device, args.policy)?;
    output::found(&found, args.json, text)
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Found {
    policy: HostPolicy,
}

fn ask(device: &dyn Device, to: Option<HostPolicy>) -> Result<Found> {
    let policy = device
        .host_policy(to)
        .or_refuse("cannot change what becomes of the host's CPUs")?;
    Ok(Found { policy })
}

fn text(found: &Found) -> &'static str {
    match found.policy {
        HostPolicy::Fixed => {
            "fixed: the host's CPUs wait while real-time programs have their cores"
        }
        HostPolicy::Spread => {
            "spread: the host's CPUs are on cores that no real-time program shares"
        }
        HostPolicy::Pack => "pack: the host's CPUs are on the core of the first real-time program",
        HostPolicy::UserOnly => {
            "user-only: the host's kernel runs on no core that a real-time program shares"
        }
        HostPolicy::Lhp => {
            "lhp: the host's CPUs run on other cores while real-time programs have theirs"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake::Fake;

    #[test]
    fn another_one() {
        let fake = Fake::default();
        assert_eq!(ask(&fake, None).unwrap().policy, HostPolicy::Fixed);
        assert!(text(&ask(&fake, Some(HostPolicy::Lhp)).unwrap()).starts_with("lhp:"));
        let json = serde_json::to_value(ask(&fake, None).unwrap()).unwrap();
        assert_eq!(json["policy"], "lhp");
    }
}
