//! `shimos wait`

use std::time::Duration;

use crate::cli;
use crate::error::{Error, Result};
use crate::partition::lookup;
use crate::partition::waiting;
use crate::partition::{Cause, Device, State, Status};
use crate::ui::output::{self, printable};
use crate::ui::progress::Progress;
use crate::ui::refusal::OrRefuse;
use crate::units::duration;

/// It rebooted, halted or was killed.
const OTHERWISE: u8 = 3;
/// It crashed, or is stuck.
const CRASHED: u8 = 4;

/// As good as no limit.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// How long one that starts again by itself may lie still before that has failed: its memory
/// may be held by another kernel's disk for a while.
const START_AGAIN: Duration = Duration::from_secs(30);

/// Wait until a partition ends; an error if it ends badly, or not in time.
pub fn run(device: &dyn Device, args: &cli::Wait) -> Result<()> {
    let status = lookup::find(device, &args.name)?;
    if matches!(status.state, State::Created | State::Loaded) {
        return Err(Error::new(format!(
            "cannot wait for '{}': it has not been started",
            args.name
        ))
        .hint(format!("try: shimos start {}", args.name)));
    }
    let end = end(device, status.id, &args.name, args.timeout, START_AGAIN)?;
    output::line(said(&end))?;
    match exit_code(&end) {
        0 => Ok(()),
        code => Err(Error::Reported(code)),
    }
}

fn end(
    device: &dyn Device,
    id: u32,
    name: &str,
    timeout: Option<Duration>,
    start_again: Duration,
) -> Result<Status> {
    let mut progress = Progress::spinner(format!("{name}: waiting for its end"));
    loop {
        let limit = timeout.unwrap_or(FOREVER);
        let ended = waiting::until(device, id, limit, &mut progress, |s| !s.active())?;
        let Some(status) = ended else {
            let after = duration::seconds(limit);
            return Err(Error::new(format!("'{name}' has not ended after {after}")));
        };
        if !starts_again(&status)
            || waiting::until(device, id, start_again, &mut progress, State::active)?.is_none()
        {
            return device.status(id).or_refuse("cannot watch the partition");
        }
    }
}

/// Will KLoader start it again by itself?
fn starts_again(status: &Status) -> bool {
    match (status.state, status.cause) {
        (State::Stopped, Cause::Reboot) => status.restart_on_reboot,
        (State::Crashed, Cause::Changed) => status.renew,
        _ => false,
    }
}

fn said(status: &Status) -> String {
    let mut text = format!(
        "{}: {}, it {}",
        status.name,
        status.state,
        status.cause.verb()
    );
    if !status.message.is_empty() {
        text.push_str(": ");
        text.push_str(&printable(&status.message));
    }
    text
}

fn exit_code(status: &Status) -> u8 {
    match (status.state, status.cause) {
        (State::Stopped, Cause::Poweroff) => 0,
        (State::Stopped, _) => OTHERWISE,
        _ => CRASHED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake::{self, Fake};

    fn ended(state: State, cause: Cause) -> Status {
        Status {
            state,
            cause,
            ..fake::status("a")
        }
    }

    fn wait(status: Status, timeout: Option<Duration>) -> Result<()> {
        let fake = Fake::default();
        fake.add(status);
        let name = "a".into();
        run(&fake, &cli::Wait { name, timeout })
    }

    #[test]
    fn how_it_ended_is_the_exit_code() {
        for (state, cause, code) in [
            (State::Stopped, Cause::Reboot, 3),
            (State::Stopped, Cause::Halt, 3),
            (State::Stopped, Cause::Killed, 3),
            (State::Crashed, Cause::Panic, 4),
            (State::Crashed, Cause::Failed, 4),
            (State::Stuck, Cause::Poweroff, 4),
        ] {
            let result = wait(ended(state, cause), None);
            assert_eq!(result, Err(Error::Reported(code)), "{state} {cause:?}");
        }
        assert_eq!(wait(ended(State::Stopped, Cause::Poweroff), None), Ok(()));
        let panic = Status {
            message: "Fatal\x1b".into(),
            ..ended(State::Crashed, Cause::Panic)
        };
        assert_eq!(said(&panic), "a: crashed, it panicked: Fatal\\x1b");
        let off = ended(State::Stopped, Cause::Poweroff);
        assert_eq!(said(&off), "a: stopped, it powered off");
    }

    #[test]
    fn one_that_runs_or_never_has() {
        let short = Some(Duration::from_millis(20));
        let error = wait(fake::status("a"), short).unwrap_err();
        assert!(
            error.to_string().starts_with("'a' has not ended after"),
            "{error}"
        );
        let Err(Error::Failed { hint, .. }) = wait(ended(State::Loaded, Cause::None), short) else {
            panic!()
        };
        assert_eq!(hint.unwrap(), "try: shimos start a");
    }

    #[test]
    fn one_that_starts_again_or_should() {
        let fake = Fake::default();
        fake.add(Status {
            restart_on_reboot: true,
            ..ended(State::Stopped, Cause::Reboot)
        });
        let status = end(&fake, 1, "a", None, Duration::from_millis(20)).unwrap();
        assert_eq!(exit_code(&status), 3);
        assert!(starts_again(&status));
        fake.will_be(State::Running);
        let short = Some(Duration::from_millis(20));
        let error = end(&fake, 1, "a", short, Duration::from_secs(30)).unwrap_err();
        assert!(error.to_string().contains("has not ended"), "{error}");
        assert!(!starts_again(&ended(State::Stopped, Cause::Reboot)));
        assert!(!starts_again(&ended(State::Crashed, Cause::Changed)));
    }
}
