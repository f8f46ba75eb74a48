//! Giving a partition its kernel, and what that is told of the platform.

use super::images::Images;
use crate::arch::{Architecture, NATIVE};
use crate::error::{Error, Result};
use crate::partition::{Device, Kind};
use crate::ui::refusal::{OrRefuse, Outcome};

/// Load a partition, and describe its platform where the kernel wants that.
pub fn load(device: &dyn Device, id: u32, name: &str, kind: Kind, images: &Images) -> Result<()> {
    let refused = format!("cannot load '{name}'");
    device
        .load(id, &images.kernel, images.initrd.as_ref(), &images.cmdline)
        .or_refuse(&refused)?;
    let info = device.info().or_refuse(&refused)?;
    if kind == Kind::Linux && info.needs_description {
        describe(device, id, name, NATIVE)?;
    }
    Ok(())
}

/// Where everything is KLoader knows, now that the kernel has its place.
fn describe(device: &dyn Device, id: u32, name: &str, architecture: &Architecture) -> Result<()> {
    let Some(write) = architecture.describe else {
        return Err(Error::new(format!(
            "cannot describe the platform to '{name}': KLoader wants that, but this tool is for {}",
            architecture.name
        ))
        .hint("install tool and modules of the same version"));
    };
    let facts = || -> Outcome<_> { Ok((device.platform(id)?, device.status(id)?)) };
    let refused = format!("cannot describe the platform to '{name}'");
    let (platform, status) = facts().or_refuse(&refused)?;
    let description =
        write(&platform, &status.cmdline).map_err(|why| Error::new(format!("{refused}: {why}")))?;
    device.describe(id, &description).or_refuse(&refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{AARCH64, X86_64};
    use crate::partition::fake::Fake;

    #[test]
    fn an_architecture_that_leaves_it_to_us() {
        let fake = Fake::with(&["web"]);
        fake.kill(1).unwrap();
        fake.wants_description();
        assert!(fake.start(1, false).is_err());
        describe(&fake, 1, "web", &AARCH64).unwrap();
        let description = fake.description().unwrap();
        let tree = fdt::Fdt::new(&description.blob).unwrap();
        let cmdline = fake.status(1).unwrap().cmdline;
        let bootargs = tree.chosen().bootargs().unwrap();
        assert!(bootargs.starts_with(&cmdline), "{bootargs}");
        assert_eq!(fake.start(1, false), Ok(()));
    }

    #[test]
    fn one_that_does_not() {
        let fake = Fake::with(&["web"]);
        let images = Images {
            kernel: tempfile::tempfile().unwrap(),
            initrd: None,
            cmdline: "quiet".into(),
            notes: Vec::new(),
        };
        load(&fake, 1, "web", Kind::Linux, &images).unwrap();
        assert_eq!(fake.description(), None);
        fake.wants_description();
        load(&fake, 1, "web", Kind::Rt, &images).unwrap();
        assert_eq!(fake.description(), None);
        let loaded = load(&fake, 1, "web", Kind::Linux, &images);
        assert_eq!(loaded.is_ok(), NATIVE.describe.is_some());
        assert_eq!(fake.description().is_some(), loaded.is_ok());
        let error = describe(&fake, 1, "web", &X86_64).unwrap_err();
        assert!(error.to_string().ends_with("this tool is for x86-64"));
    }
}
