//! `shimos rm`

use std::path::Path;

use super::{each, kill};
use crate::cli;
use crate::device::{Device, Status};
use crate::devices::node::Node;
use crate::devices::sharing::sweep;
use crate::devices::system::System;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::lookup::{self, OrRefuse};
use crate::output;
use crate::pci;
use crate::progress::Progress;

pub fn run(device: &dyn Device, args: &cli::Rm) -> Result<()> {
    each(&args.names.names, |name| {
        interrupt::check()?;
        let status = lookup::find(device, name)?;
        if status.state.killable() {
            if !args.force {
                return Err(
                    Error::new(format!("cannot remove '{name}': it is {}", status.state))
                        .hint(format!("try: shimos stop {name}")),
                );
            }
            kill::kill(device, &status)?;
        }
        let devices = pci::given_to(Path::new("/"), name);
        destroy(device, &status)?;
        output::line(format_args!(
            "{name}: removed, {} and {} are the host's again",
            std::iter::once(crate::cpulist::named(&status.cpus))
                .chain(devices)
                .collect::<Vec<_>>()
                .join(", "),
            crate::size::show(status.memory)
        ))
    })
}

pub fn destroy(device: &dyn Device, status: &Status) -> Result<()> {
    let name = &status.name;
    Progress::spinner(format!("{name}: giving CPUs and memory back"))
        .during(|| device.destroy(status.id))
        .or_refuse(format_args!("cannot remove '{name}'"))?;
    // Its devices went with it; what limits they had is ours to clear away.
    if let Some(devices) = Node::open_if_there() {
        sweep(&System::real(), &devices);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    fn rm(fake: &Fake, force: bool) -> Result<()> {
        let names = cli::Names {
            names: vec!["a".into()],
        };
        run(fake, &cli::Rm { names, force })
    }

    #[test]
    fn refuses_while_it_runs() {
        let fake = Fake::with(&["a"]);
        let Err(Error::Failed { message, hint }) = rm(&fake, false) else {
            panic!()
        };
        assert_eq!(message, "cannot remove 'a': it is running");
        assert_eq!(hint.unwrap(), "try: shimos stop a");
        assert_eq!(rm(&fake, true), Ok(()));
        assert!(fake.is_empty());
        let Err(Error::Failed { hint, .. }) = rm(&fake, false) else {
            panic!()
        };
        assert!(hint.unwrap().contains("none at all"));
    }
}
