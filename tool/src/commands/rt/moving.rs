//! `shimos rt move`

use std::time::Duration;

use serde::Serialize;

use super::sharing::{WHO_SHARES, host_cpu, named};
use crate::cli;
use crate::error::Result;
use crate::ikc::latency;
use crate::partition::Device;
use crate::ui::output;
use crate::ui::refusal::OrRefuse;

/// Move a program to another CPU, or one of the host's CPUs to another core.
pub fn run(device: &dyn Device, args: &cli::RtMove) -> Result<()> {
    let moved = go(device, args)?;
    output::found(&moved, args.json, text)
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Moved {
    name: String,
    core: u32,
    /// How long it was on no CPU; `None`: it does not run.
    moved_ns: Option<u64>,
}

fn go(device: &dyn Device, args: &cli::RtMove) -> Result<Moved> {
    if let Some(cpu) = host_cpu(&args.name)? {
        return go_host(device, args, cpu);
    }
    let but = "has CPUs of its own, and stays on them";
    let status = named(device, &args.name, but, WHO_SHARES)?;
    let what = format!("cannot move '{}' to CPU {}", status.name, args.cpu);
    device.rt_move(status.id, args.cpu).or_refuse(&what)?;
    let rt = device.rt(status.id).or_refuse(&what)?;
    Ok(Moved {
        moved_ns: status.state.active().then_some(rt.moved_ns),
        name: status.name,
        core: rt.cpu,
    })
}

fn go_host(device: &dyn Device, args: &cli::RtMove, cpu: u32) -> Result<Moved> {
    let what = format!("cannot move '{}' to CPU {}", args.name, args.cpu);
    device.host_move(cpu, args.cpu).or_refuse(&what)?;
    let cpus = device.host_cpus().or_refuse(&what)?;
    // At home it may run natively again, and then nobody counts.
    let known = cpus.iter().find(|host| host.cpu == cpu);
    Ok(Moved {
        name: args.name.clone(),
        core: known.map_or(cpu, |host| host.core),
        moved_ns: known.map(|host| host.moved_ns),
    })
}

fn text(moved: &Moved) -> String {
    let Moved { name, core, .. } = moved;
    match moved.moved_ns {
        Some(ns) => format!(
            "{name}: on CPU {core}, after {} on none",
            latency::short(Duration::from_nanos(ns))
        ),
        None if name.starts_with("host:") => format!("{name}: on CPU {core}"),
        None => format!("{name}: will run on CPU {core}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake::{self, Fake};

    fn asked(fake: &Fake, name: &str, cpu: u32) -> Result<Moved> {
        let args = cli::RtMove {
            name: name.into(),
            cpu,
            json: false,
        };
        go(fake, &args)
    }

    #[test]
    fn it_goes() {
        let fake = Fake::with(&["web"]);
        fake.add(fake::rt_status("ctl"));
        for (name, cpu) in [("ctl", 3), ("ctl:0", 1)] {
            let moved = asked(&fake, name, cpu).unwrap();
            let shown = format!("ctl: on CPU {cpu}, after 9.0 µs on none");
            assert_eq!(text(&moved), shown);
            assert_eq!(serde_json::to_value(&moved).unwrap()["moved_ns"], 9_000);
        }
        let waits = Moved {
            name: "ctl".into(),
            core: 2,
            moved_ns: None,
        };
        assert_eq!(text(&waits), "ctl: will run on CPU 2");
    }

    #[test]
    fn the_hosts_own() {
        let fake = Fake::default();
        fake.layer_under(&[0, 1]);
        let moved = asked(&fake, "host:1", 0).unwrap();
        assert_eq!(text(&moved), "host:1: on CPU 0, after 9.0 µs on none");
        let native = Moved {
            name: "host:1".into(),
            core: 1,
            moved_ns: None,
        };
        assert_eq!(text(&native), "host:1: on CPU 1");
    }

    #[test]
    fn who_stays() {
        let fake = Fake::with(&["web"]);
        fake.add(fake::rt_status("ctl"));
        for (name, cpu, why) in [
            ("host:x", 0, "there is no 'host:x'"),
            (
                "host:7",
                1,
                "cannot move 'host:7' to CPU 1: the layer is not",
            ),
            ("web", 1, "has CPUs of its own"),
            ("nobody", 1, "nobody"),
            (
                "ctl",
                1,
                "cannot move 'ctl' to CPU 1: it shares that CPU already",
            ),
        ] {
            let error = asked(&fake, name, cpu).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
