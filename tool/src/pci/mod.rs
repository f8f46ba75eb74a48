//! PCIe devices for partitions: what can be given.

pub mod given;
mod in_use;
mod preflight;
#[cfg(test)]
mod tree;

use std::path::Path;

use crate::arch::{Architecture, NATIVE};
use crate::error::{Error, Result};
use crate::units::pci_address::{Address, Given};

/// Check that nothing speaks against giving all of these to one partition.
pub fn check(root: &Path, devices: &[Given]) -> Result<()> {
    check_here(NATIVE, devices)?;
    preflight::check(root, devices)
}

fn check_here(architecture: &Architecture, devices: &[Given]) -> Result<()> {
    match architecture.without.pci {
        Some(why) if !devices.is_empty() => Err(Error::new(format!(
            "no PCIe device can be given to a partition on {}: {why}",
            architecture.name
        ))
        .hint("share what it has: --disk, --net")),
        _ => Ok(()),
    }
}

/// Return the devices that could be given now, each by itself.
pub fn candidates(root: &Path) -> Vec<Address> {
    match NATIVE.without.pci {
        Some(_) => Vec::new(),
        None => preflight::candidates(root),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{AARCH64, X86_64};
    use crate::error::tests::failures;
    use crate::units::pci_address;

    #[test]
    fn where_there_are_none() {
        let one = [pci_address::given("01:00.0").unwrap()];
        assert_eq!(check_here(&X86_64, &one), Ok(()));
        assert_eq!(check_here(&AARCH64, &[]), Ok(()));
        insta::assert_snapshot!(failures([("arm64", check_here(&AARCH64, &one))]));
    }
}
