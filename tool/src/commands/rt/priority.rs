//! `shimos rt priority`

use serde::Serialize;

use super::{WHO_SHARES, named};
use crate::cli;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::lookup::OrRefuse;
use crate::output;

pub fn run(device: &dyn Device, args: &cli::RtPriority) -> Result<()> {
    let changed = change(device, args)?;
    output::found(&changed, args.json, text)
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Changed {
    name: String,
    priority: u32,
    before: u32,
}

fn change(device: &dyn Device, args: &cli::RtPriority) -> Result<Changed> {
    if args.name.starts_with("host:") {
        return Err(Error::new(format!(
            "'{}' has no priority: the host goes when no real-time program wants to",
            args.name
        ))
        .hint("`shimos rt` lists the programs; budgets say how much they leave the host"));
    }
    let but = "has CPUs of its own, so nobody goes before it";
    let status = named(device, &args.name, but, WHO_SHARES)?;
    device
        .rt_priority(status.id, args.priority)
        .or_refuse(format_args!(
            "cannot change the priority of '{}'",
            status.name
        ))?;
    Ok(Changed {
        name: status.name,
        priority: args.priority,
        before: status.priority,
    })
}

fn text(changed: &Changed) -> String {
    let Changed {
        name,
        priority,
        before,
    } = changed;
    format!("{name}: priority {priority}, before {before}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{self, Fake};

    fn asked(fake: &Fake, name: &str, priority: u32) -> Result<Changed> {
        let args = cli::RtPriority {
            name: name.into(),
            priority,
            json: false,
        };
        change(fake, &args)
    }

    #[test]
    fn it_has_another_one() {
        let fake = Fake::with(&["web"]);
        fake.add(fake::rt_status("ctl"));
        let shown = |changed| text(&changed);
        assert_eq!(
            shown(asked(&fake, "ctl", 90).unwrap()),
            "ctl: priority 90, before 50"
        );
        let changed = asked(&fake, "ctl:0", 1).unwrap();
        let json = serde_json::to_value(&changed).unwrap();
        assert_eq!(
            (&json["name"], &json["priority"], &json["before"]),
            (&"ctl".into(), &1.into(), &90.into())
        );
        assert_eq!(crate::lookup::find(&fake, "ctl").unwrap().priority, 1);
    }

    #[test]
    fn who_has_none() {
        let fake = Fake::with(&["web"]);
        fake.add(fake::rt_status("ctl"));
        for (name, why) in [
            ("host:1", "has no priority: the host goes when"),
            ("web", "has CPUs of its own"),
            ("nobody", "nobody"),
        ] {
            let error = asked(&fake, name, 9).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
