//! `shimos restart`

use std::time::Duration;

use super::bring_up::{Ready, bring_up};
use super::run::report;
use super::{each, kill, stop};
use crate::boot::cmdline;
use crate::cli;
use crate::error::{Error, Result};
use crate::partition::lookup;
use crate::partition::{Device, Kind, State, Status};
use crate::ui::{interrupt, output};

/// Stop partitions and start them again with what they had.
pub fn run(device: &dyn Device, args: &cli::Restart) -> Result<()> {
    each(&args.names.names, |name| restart(device, args, name))
}

fn restart(device: &dyn Device, args: &cli::Restart, name: &str) -> Result<()> {
    interrupt::check()?;
    let status = lookup::find(device, name)?;
    if status.state.active() {
        if args.force {
            kill::kill(device, &status)?;
        } else {
            let how = stop::stop(device, &status, args.stop_timeout)?;
            if how.starts_with("killed") {
                output::note(format_args!("{name}: {how}"));
            }
        }
    }
    start_again(device, &status, "restart", args.timeout)
}

/// Start one that does not run, with all that it has. `verb`: what is being tried.
pub fn start_again(
    device: &dyn Device,
    status: &Status,
    verb: &str,
    timeout: Duration,
) -> Result<()> {
    let name = &status.name;
    interrupt::check()?;
    if status.state == State::Created {
        return Err(Error::new(format!(
            "cannot {verb} '{name}': no kernel has been loaded"
        )));
    }
    // A real-time program says that it is up by itself.
    let with_agent = status.kind == Kind::Rt || cmdline::has_agent(&status.cmdline);
    match bring_up(device, status.id, name, with_agent, timeout)? {
        Ready::Up(status) => report(&status, &[], false),
        Ready::Failed(failure) => Err(failure.error(name).hint(format!(
            "it stays for a look: `{}`, `shimos rm {name}`",
            failure.logs(name)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake::{self, Fake, Manner};

    fn args(force: bool) -> cli::Restart {
        cli::Restart {
            names: cli::Names {
                names: vec!["a".into()],
            },
            force,
            stop_timeout: Duration::from_millis(20),
            timeout: Duration::from_millis(50),
        }
    }

    #[test]
    fn running_or_not() {
        let fake = Fake::with(&["a"]);
        assert_eq!(run(&fake, &args(false)), Ok(()));
        assert_eq!(fake.state("a"), State::Running);
        fake.kill(1).unwrap();
        assert_eq!(run(&fake, &args(true)), Ok(()));
        assert_eq!(fake.state("a"), State::Running);
        assert_eq!(fake.status(1).unwrap().starts, 3);
    }

    #[test]
    fn a_real_time_program() {
        let fake = Fake::default();
        fake.add(fake::rt_status("a"));
        assert_eq!(run(&fake, &args(false)), Ok(()));
        assert_eq!(fake.state("a"), State::Running);
        assert!(!fake.started_without_agent(), "it is waited for");
        fake.manner(Manner::FaultsAtStart);
        let Err(Error::Failed { message, hint }) = run(&fake, &args(true)) else {
            panic!()
        };
        assert!(message.contains("did what it may not"), "{message}");
        assert!(hint.unwrap().contains("shimos logs --console a"));
    }

    #[test]
    fn it_does_not_come_up() {
        let fake = Fake::with(&["a"]);
        fake.manner(Manner::PanicsAtStart);
        let error = run(&fake, &args(true)).unwrap_err();
        assert!(error.to_string().contains("panicked"), "{error}");
        assert_eq!(fake.state("a"), State::Crashed);
    }
}
