//! What a partition cannot have on this architecture.

use crate::arch::Architecture;
use crate::error::{Error, Result};
use crate::partition::Kind;

/// Check that the architecture has what is asked for, before anything is taken, and before
/// KLoader is asked for it.
pub fn check(architecture: &Architecture, kind: Kind, guarded: bool) -> Result<()> {
    let without = &architecture.without;
    let asked = [
        ("--share-cpus", kind == Kind::Rt, without.shared_cpus),
        ("--guarded", guarded, without.guard),
    ];
    for (option, given, reason) in asked {
        if let (true, Some(why)) = (given, reason) {
            return Err(Error::new(format!(
                "{option} cannot be had on {}: {why}",
                architecture.name
            ))
            .hint("leave it out, or use an x86-64 machine"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{AARCH64, X86_64};

    #[test]
    fn each_by_itself() {
        for (kind, guarded, option) in [
            (Kind::Linux, true, "--guarded"),
            (Kind::Rt, false, "--share-cpus"),
        ] {
            assert_eq!(check(&X86_64, kind, guarded), Ok(()));
            let error = check(&AARCH64, kind, guarded).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{option} cannot be had on arm64: ")));
        }
        assert_eq!(check(&AARCH64, Kind::Linux, false), Ok(()));
    }
}
