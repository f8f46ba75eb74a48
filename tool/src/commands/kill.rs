//! `shimos kill`

use super::each;
use crate::cli;
use crate::error::{Error, Result};
use crate::partition::lookup;
use crate::partition::{Device, Status};
use crate::ui::output;
use crate::ui::refusal::OrRefuse;

/// End partitions at once; an error at one does not keep the others from their turn.
pub fn run(device: &dyn Device, args: &cli::Names) -> Result<()> {
    each(&args.names, |name| {
        let status = lookup::find(device, name)?;
        if !status.state.killable() {
            return Err(Error::new(format!(
                "cannot kill '{name}': it does not run, it is {}",
                status.state
            )));
        }
        kill(device, &status)?;
        output::line(format_args!("{name}: killed"))
    })
}

/// Kill it; that it has ended by itself in the meantime is just as well.
pub fn kill(device: &dyn Device, status: &Status) -> Result<()> {
    match device.kill(status.id) {
        Ok(()) => Ok(()),
        Err(refusal) => match device.status(status.id) {
            Ok(now) if !now.state.killable() => Ok(()),
            _ => Err(refusal).or_refuse(format_args!("cannot kill '{}'", status.name)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::State;
    use crate::partition::fake::Fake;

    fn names(names: &[&str]) -> cli::Names {
        cli::Names {
            names: names.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn several_and_unknown_ones() {
        let fake = Fake::with(&["a", "b"]);
        let error = run(&fake, &names(&["a", "x", "b"])).unwrap_err();
        assert_eq!(error.to_string(), "there is no partition 'x'");
        assert_eq!(fake.state("a"), State::Stopped);
        assert_eq!(fake.state("b"), State::Stopped);
        let error = run(&fake, &names(&["a"])).unwrap_err();
        assert!(error.to_string().contains("does not run"));
    }
}
