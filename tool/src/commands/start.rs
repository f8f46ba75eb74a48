//! `shimos start`

use std::path::Path;

use super::{each, restart, run};
use crate::cli;
use crate::error::{Error, Result};
use crate::partition::{self, Device, State};
use crate::ui::refusal::OrRefuse;
use crate::ui::{interrupt, output};
use crate::units::name;

/// Where the settings of partitions are: NAME.toml.
const SETTINGS: &str = "/etc/shimos";

/// Start partitions, made from their files if they are not there, and wait until they are
/// up.
pub fn run(device: &dyn Device, args: &cli::Start, verbose: bool) -> Result<()> {
    each(&args.names, |name| {
        start(device, args, name, Path::new(SETTINGS), verbose)
    })
}

fn start(
    device: &dyn Device,
    args: &cli::Start,
    name: &str,
    settings: &Path,
    verbose: bool,
) -> Result<()> {
    interrupt::check()?;
    let list = partition::all(device).or_refuse("cannot list the partitions")?;
    let Some(status) = list.iter().find(|s| s.name == name) else {
        return make(device, args, name, settings, verbose);
    };
    if status.state.active() {
        return output::line(format_args!("{name}: runs already, it is {}", status.state));
    }
    if status.state == State::Stuck {
        return Err(
            Error::new(format!("cannot start '{name}': it is {}", status.state))
                .hint(format!("try: shimos kill {name}")),
        );
    }
    restart::start_again(device, status, "start", args.timeout)
}

fn make(
    device: &dyn Device,
    args: &cli::Start,
    name: &str,
    settings: &Path,
    verbose: bool,
) -> Result<()> {
    name::check(name).map_err(|why| Error::new(format!("cannot start '{name}': {why}")))?;
    let file = settings.join(format!("{name}.toml"));
    if !file.exists() {
        return Err(Error::new(format!(
            "there is no partition '{name}' and no {}",
            file.display()
        ))
        .hint(format!("write the file, or try: shimos run {name}")));
    }
    let wish = cli::Run {
        name: Some(name.into()),
        file: Some(file),
        timeout: args.timeout,
        ..cli::Run::default()
    };
    run::run(device, &wish, verbose)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake::{Fake, Manner};
    use std::time::Duration;

    fn start_it(fake: &Fake, name: &str, settings: &Path) -> Result<()> {
        let args = cli::Start {
            names: Vec::new(),
            timeout: Duration::from_millis(50),
        };
        start(fake, &args, name, settings, false)
    }

    fn refusal(result: Result<()>) -> (String, String) {
        let Err(Error::Failed { message, hint }) = result else {
            panic!("{result:?}")
        };
        (message, hint.unwrap_or_default())
    }

    #[test]
    fn one_that_exists_starts_as_it_is() {
        let fake = Fake::with(&["a"]);
        let nowhere = Path::new("/nonexistent");
        assert_eq!(start_it(&fake, "a", nowhere), Ok(()), "it runs already");
        assert_eq!(fake.status(1).unwrap().starts, 1);
        fake.kill(1).unwrap();
        assert_eq!(start_it(&fake, "a", nowhere), Ok(()));
        let status = fake.status(1).unwrap();
        assert_eq!((status.starts, status.state), (2, State::Running));
        fake.kill(1).unwrap();
        fake.manner(Manner::PanicsAtStart);
        let (message, hint) = refusal(start_it(&fake, "a", nowhere));
        assert!(message.contains("Fatal exception"), "{message}");
        assert!(hint.contains("shimos logs a"), "{hint}");
        assert!(start_it(&fake, "a", nowhere).is_err(), "crashed ones, too");
        assert_eq!(fake.status(1).unwrap().starts, 4);
    }

    #[test]
    fn one_that_cannot() {
        let fake = Fake::default();
        for (id, state) in (1..).zip([State::Created, State::Stuck]) {
            fake.add(partition::Status {
                state,
                ..crate::partition::fake::status(state.name())
            });
            assert_eq!(fake.state(state.name()), state, "{id}");
        }
        let nowhere = Path::new("/nonexistent");
        let (message, _) = refusal(start_it(&fake, "created", nowhere));
        assert_eq!(message, "cannot start 'created': no kernel has been loaded");
        let (_, hint) = refusal(start_it(&fake, "stuck", nowhere));
        assert_eq!(hint, "try: shimos kill stuck");
    }

    #[test]
    fn one_that_does_not_exist_is_made_from_its_file() {
        let fake = Fake::default();
        let settings = tempfile::tempdir().unwrap();
        let (message, hint) = refusal(start_it(&fake, "web", settings.path()));
        assert!(
            message.starts_with("there is no partition 'web' and no /"),
            "{message}"
        );
        assert!(message.ends_with("/web.toml"), "{message}");
        assert_eq!(hint, "write the file, or try: shimos run web");
        let file = settings.path().join("web.toml");
        std::fs::write(&file, "name = 'db'\nmemory = '1G'\n").unwrap();
        let (message, hint) = refusal(start_it(&fake, "web", settings.path()));
        assert_eq!(message, "which CPUs to take is not given");
        assert!(hint.contains(&file.display().to_string()), "{hint}");
        let (message, _) = refusal(start_it(&fake, "../web", settings.path()));
        assert!(message.contains("a name consists of"), "{message}");
        let (message, _) = refusal(start_it(&fake, "host", settings.path()));
        assert!(message.contains("cannot be called 'host'"), "{message}");
        assert!(fake.is_empty());
    }
}
