//! `shimos rt priority`

use serde::Serialize;

use super::sharing::{WHO_SHARES, host_cpu, named};
use crate::cli;
use crate::error::{Error, Result};
use crate::partition::Device;
use crate::ui::output;
use crate::ui::refusal::OrRefuse;

/// Change the priority of a program, or of a CPU's real-time tasks.
pub fn run(device: &dyn Device, args: &cli::RtPriority) -> Result<()> {
    let changed = change(device, args)?;
    output::found(&changed, args.json, text)
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Changed {
    #[serde(skip)]
    of_host: bool,
    name: String,
    priority: u32,
    before: u32,
}

fn change(device: &dyn Device, args: &cli::RtPriority) -> Result<Changed> {
    if let Some(cpu) = host_cpu(&args.name)? {
        return change_host(device, args, cpu);
    }
    if args.priority == 0 {
        let why = format!("'{}' cannot have priority 0: it is 1 to 99", args.name);
        return Err(Error::new(why).hint("0 is for the host: host:1 then goes after all programs"));
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
        of_host: false,
        name: status.name,
        priority: args.priority,
        before: status.priority,
    })
}

/// Up to which one tasks of a CPU of the host's go before programs.
fn change_host(device: &dyn Device, args: &cli::RtPriority, cpu: u32) -> Result<Changed> {
    let what = format!("cannot change the priority of '{}'", args.name);
    let cpus = device.host_cpus().or_refuse(&what)?;
    let before = cpus.iter().find(|host| host.cpu == cpu);
    device.host_priority(cpu, args.priority).or_refuse(&what)?;
    Ok(Changed {
        of_host: true,
        name: args.name.clone(),
        priority: args.priority,
        before: before.map_or(0, |host| host.priority),
    })
}

fn text(changed: &Changed) -> String {
    let Changed {
        of_host,
        name,
        priority,
        before,
    } = changed;
    match (of_host, priority) {
        (true, 0) => format!("{name}: after all real-time programs"),
        (true, _) => {
            format!("{name}: tasks up to priority {priority} go before programs with a lower one")
        }
        (false, _) => format!("{name}: priority {priority}, before {before}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake::{self, Fake};

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
        assert_eq!(
            crate::partition::lookup::find(&fake, "ctl")
                .unwrap()
                .priority,
            1
        );
    }

    #[test]
    fn the_hosts_tasks() {
        let fake = Fake::default();
        fake.layer_under(&[0, 1]);
        let changed = asked(&fake, "host:1", 95).unwrap();
        assert_eq!(
            text(&changed),
            "host:1: tasks up to priority 95 go before programs with a lower one"
        );
        let changed = asked(&fake, "host:1", 0).unwrap();
        assert_eq!((changed.priority, changed.before), (0, 95));
        assert_eq!(text(&changed), "host:1: after all real-time programs");
    }

    #[test]
    fn who_has_none() {
        let fake = Fake::with(&["web"]);
        fake.add(fake::rt_status("ctl"));
        for (name, priority, why) in [
            ("host:1", 9, "no real-time program shares it"),
            ("host:x", 9, "there is no 'host:x'"),
            ("ctl", 0, "it is 1 to 99"),
            ("web", 9, "has CPUs of its own"),
            ("nobody", 9, "nobody"),
        ] {
            let error = asked(&fake, name, priority).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
