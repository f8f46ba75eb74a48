//! `shimos stop`

use std::time::{Duration, Instant};

use super::{each, kill};
use crate::cli;
use crate::error::{Error, Result};
use crate::partition::{Cause, Device, State, Status};
use crate::partition::{lookup, waiting};
use crate::ui::progress::Progress;
use crate::ui::{interrupt, output};
use crate::units::duration;

/// Ask partitions to power off, and kill those that do not in time.
pub fn run(device: &dyn Device, args: &cli::Stop) -> Result<()> {
    each(&args.names.names, |name| {
        let status = lookup::find(device, name)?;
        if !status.state.active() {
            return output::line(format_args!("{name}: not running, it is {}", status.state));
        }
        let how = stop(device, &status, args.timeout)?;
        output::line(format_args!("{name}: {how}"))
    })
}

/// Ask it to power off, wait, then kill. Says which of it was the end.
pub fn stop(device: &dyn Device, status: &Status, timeout: Duration) -> Result<String> {
    let name = &status.name;
    let start = Instant::now();
    if let Err(refusal) = device.stop(status.id) {
        let now = device.status(status.id).map(|s| s.state);
        match now {
            // Somebody has asked already: wait with them.
            Ok(State::Stopping) => {}
            _ => {
                interrupt::check()?;
                kill::kill(device, status)?;
                return Ok(format!("killed, because it could not be asked: {refusal}"));
            }
        }
    }
    let mut progress = Progress::spinner(format!("{name}: powering off"));
    let ended = waiting::until(device, status.id, timeout, &mut progress, |s| !s.active())
        .map_err(|e| match e {
            Error::Interrupted { signal, .. } => Error::Interrupted {
                signal,
                undone: Some(format!(
                    "'{name}' has been asked to power off; nobody waits for it now"
                )),
            },
            other => other,
        })?;
    drop(progress);
    let took = duration::seconds(start.elapsed());
    match ended {
        Some(end) if end.state == State::Stuck => Err(Error::new(format!(
            "'{name}' has ended, but is stuck: a CPU or a device of it did not stop"
        ))
        .hint(format!("try: shimos kill {name}"))),
        Some(end) if end.cause == Cause::Poweroff => Ok(format!("powered off after {took}")),
        Some(end) => Ok(format!("{} after {took}", end.cause.verb())),
        None => {
            kill::kill(device, status)?;
            Ok(format!(
                "killed, because it did not power off within {took}"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake::{Fake, Manner};

    const SHORT: Duration = Duration::from_millis(20);

    fn stop_it(fake: &Fake) -> String {
        stop(fake, &lookup::find(fake, "a").unwrap(), SHORT).unwrap()
    }

    #[test]
    fn obedient() {
        let fake = Fake::with(&["a"]);
        assert!(stop_it(&fake).starts_with("powered off after"));
        assert_eq!(fake.state("a"), State::Stopped);
    }

    #[test]
    fn deaf() {
        let fake = Fake::with(&["a"]);
        fake.manner(Manner::Deaf);
        assert!(stop_it(&fake).starts_with("killed, because it did not power off"));
        assert_eq!(fake.state("a"), State::Stopped);
    }

    #[test]
    fn without_agent() {
        let fake = Fake::with(&["a"]);
        fake.manner(Manner::NoAgent);
        assert!(stop_it(&fake).starts_with("killed, because it could not be asked"));
        assert_eq!(fake.state("a"), State::Stopped);
    }

    #[test]
    fn stopped_already() {
        let fake = Fake::with(&["a"]);
        stop_it(&fake);
        let args = cli::Stop {
            names: cli::Names {
                names: vec!["a".into()],
            },
            timeout: SHORT,
        };
        assert_eq!(run(&fake, &args), Ok(()));
    }
}
