//! `shimos detach`

use nix::errno::Errno;

use crate::cli;
use crate::devices::find::{self, Which};
use crate::devices::node::Node;
use crate::devices::sharing::sweep;
use crate::devices::{self, Devices, Status, view};
use crate::error::{Error, Result};
use crate::system::System;
use crate::ui::output;
use crate::ui::progress::Progress;
use crate::ui::refusal::{OrRefuse, Refusal};

/// Take a device back from the kernel that has it.
pub fn run(args: &cli::Detach) -> Result<()> {
    let status = detach(&Node::open()?, &System::real(), args)?;
    output::line(format_args!(
        "{}: {} is no longer shared",
        args.name,
        view::name(&status)
    ))
}

fn detach(devices: &dyn Devices, system: &System, args: &cli::Detach) -> Result<Status> {
    let list = devices::all(devices).or_refuse("cannot list the shared devices")?;
    let status = find::find(system, &list, &args.name, &which(args)?)?;
    let what = format!(
        "cannot take '{}' away from '{}'",
        output::printable(&status.name),
        args.name
    );
    Progress::spinner(format!("{}: waiting for it to let go", args.name))
        .during(|| devices.remove(status.id, args.force))
        .map_err(|refusal| explain(&what, &refusal))?;
    sweep(system, devices);
    Ok(status)
}

fn which(args: &cli::Detach) -> Result<Which> {
    match args {
        cli::Detach {
            disk: Some(path), ..
        } => Ok(Which::Disk(path.clone())),
        cli::Detach {
            net: Some(name), ..
        } => Ok(Which::Net(name.clone())),
        cli::Detach { fs: Some(tag), .. } => Ok(Which::Fs(tag.clone())),
        cli::Detach { vsock: true, .. } => Ok(Which::Vsock),
        cli::Detach { id: Some(id), .. } => Ok(Which::Id(*id)),
        _ => Err(Error::new("which device is not given")
            .hint("give --disk, --net, --fs, --vsock or --id")),
    }
}

fn explain(what: &str, refusal: &Refusal) -> Error {
    match refusal.errno {
        Errno::EBUSY => {
            let why = match refusal.text.as_str() {
                "" => "it is in use there: mounted, or the root disk",
                text => text,
            };
            Error::new(format!("{what}: {why}")).hint(
                "unmount it there, or --force takes it away all the same, with errors for whoever uses it",
            )
        }
        _ => refusal.error(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::fake::{self, Fake};

    fn args(name: &str, id: u32, force: bool) -> cli::Detach {
        cli::Detach {
            name: name.into(),
            disk: None,
            net: None,
            fs: None,
            vsock: false,
            id: Some(id),
            force,
        }
    }

    #[test]
    fn in_use_or_not() {
        let fake = Fake::with(&[fake::disk(1, "web", "/dev/vdb"), fake::net(2, "web", "w0")]);
        let system = System::at("/nonexistent");
        fake.busy.set(true);
        let Error::Failed { message, hint } =
            detach(&fake, &system, &args("web", 1, false)).unwrap_err()
        else {
            panic!()
        };
        assert_eq!(
            message,
            "cannot take '/dev/vdb' away from 'web': it is in use there: mounted, or the root disk"
        );
        assert!(hint.unwrap().contains("--force"));
        assert_eq!(fake.ids(), [1, 2]);
        let gone = detach(&fake, &system, &args("web", 1, true)).unwrap();
        assert_eq!(gone.name, "/dev/vdb");
        fake.busy.set(false);
        let by_name = cli::Detach {
            id: None,
            net: Some("w0".into()),
            ..args("web", 0, false)
        };
        assert!(detach(&fake, &system, &by_name).is_ok());
        assert!(detach(&fake, &system, &args("web", 1, true)).is_err());
        assert!(fake.ids().is_empty());
    }
}
