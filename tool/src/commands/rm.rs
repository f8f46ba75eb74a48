//! `shimos rm`

use std::path::Path;

use super::{each, kill};
use crate::cli;
use crate::devices::node::Node;
use crate::devices::sharing::sweep;
use crate::error::{Error, Result};
use crate::partition::lookup;
use crate::partition::{Device, Kind, Status};
use crate::pci;
use crate::system::System;
use crate::system::resctrl::Groups;
use crate::ui::progress::Progress;
use crate::ui::refusal::OrRefuse;
use crate::ui::{interrupt, output};
use crate::units::{cpulist, size};

/// Remove partitions; running ones by force only.
pub fn run(device: &dyn Device, args: &cli::Rm) -> Result<()> {
    each(&args.names.names, |name| {
        interrupt::check()?;
        let status = lookup::find(device, name)?;
        if status.state.killable() {
            if !args.force {
                return Err(
                    Error::new(format!("cannot remove '{name}': it is {}", status.state))
                        .hint(format!("try: shimos stop {name}, or give --force")),
                );
            }
            kill::kill(device, &status)?;
        }
        let devices = pci::given::to(Path::new("/"), name);
        destroy(device, &status)?;
        output::line(given_back(&status, devices))
    })
}

fn given_back(status: &Status, devices: Vec<String>) -> String {
    let cpus = cpulist::named(&status.cpus);
    let cpus = match status.kind {
        Kind::Linux => cpus,
        Kind::Rt => format!("its share of {cpus}"),
    };
    format!(
        "{}: removed, {} and {} are the host's again",
        status.name,
        std::iter::once(cpus)
            .chain(devices)
            .collect::<Vec<_>>()
            .join(", "),
        size::show(status.memory)
    )
}

/// Give a partition's CPUs and memory back, and clear away its disks' limits.
pub fn destroy(device: &dyn Device, status: &Status) -> Result<()> {
    let name = &status.name;
    Progress::spinner(format!("{name}: giving CPUs and memory back"))
        .during(|| device.destroy(status.id))
        .or_refuse(format_args!("cannot remove '{name}'"))?;
    // Its devices went with it; what limits they had is ours to clear away, as is its share of caches.
    if let Some(devices) = Node::open_if_there() {
        sweep(&System::real(), &devices);
    }
    if let Some(groups) = Groups::open_if_there(&System::real()) {
        groups.remove(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake::{self, Fake};

    fn rm(fake: &Fake, force: bool) -> Result<()> {
        let names = cli::Names {
            names: vec!["a".into()],
        };
        run(fake, &cli::Rm { names, force })
    }

    #[test]
    fn what_is_given_back() {
        assert_eq!(
            given_back(&fake::status("web"), vec!["0000:01:00.0".into()]),
            "web: removed, CPUs 2-3, 0000:01:00.0 and 1 GiB are the host's again"
        );
        assert_eq!(
            given_back(&fake::rt_status("ctl"), Vec::new()),
            "ctl: removed, its share of CPU 1 and 8 MiB are the host's again"
        );
    }

    #[test]
    fn refuses_while_it_runs() {
        let fake = Fake::with(&["a"]);
        let Err(Error::Failed { message, hint }) = rm(&fake, false) else {
            panic!()
        };
        assert_eq!(message, "cannot remove 'a': it is running");
        assert_eq!(hint.unwrap(), "try: shimos stop a, or give --force");
        assert_eq!(rm(&fake, true), Ok(()));
        assert!(fake.is_empty());
        let Err(Error::Failed { hint, .. }) = rm(&fake, false) else {
            panic!()
        };
        assert!(hint.unwrap().contains("none at all"));
    }
}
