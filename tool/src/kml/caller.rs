//! Whether the kernel would let this caller have programs in kernel mode: as
//! `caller_objection()` in kernel/kml/gate.c.

use crate::error::{Error, Result};
use crate::system::System;

const CAP_SYS_RAWIO: u32 = 17;

/// The first user namespace has this number in every kernel.
const INIT_USER_NAMESPACE: &str = "user:[4026531837]";

/// Check that this caller may; the error says what it lacks.
pub fn check(system: &System) -> Result<()> {
    if has_capability(system, CAP_SYS_RAWIO) == Some(false) {
        return Err(
            Error::new("kernel mode needs CAP_SYS_RAWIO, which this caller lacks")
                .hint("be root: sudo shimos trust run …"),
        );
    }
    let namespace = std::fs::read_link(system.path("proc/self/ns/user"));
    if namespace.is_ok_and(|n| n.as_os_str() != INIT_USER_NAMESPACE) {
        return Err(
            Error::new("kernel mode is not for callers in a user namespace of their own")
                .hint("run it outside of the container"),
        );
    }
    match lockdown(system) {
        Some(text) => Err(Error::new(format!("the kernel is locked down: {text}")).hint(UNLOCK)),
        None => Ok(()),
    }
}

/// What to do about a kernel that is locked down.
pub const UNLOCK: &str =
    "turn Secure Boot off in the firmware, or remove lockdown= from the kernel command line";

/// Effective; `None` if that cannot be found out.
fn has_capability(system: &System, number: u32) -> Option<bool> {
    let status = system.read("proc/self/status")?;
    let set = status.lines().find_map(|l| l.strip_prefix("CapEff:"))?;
    let set = u64::from_str_radix(set.trim(), 16).ok()?;
    Some(set & (1 << number) != 0)
}

/// Tell how the kernel is locked down, if it is and says so.
pub fn lockdown(system: &System) -> Option<String> {
    match system.read("sys/kernel/security/lockdown") {
        Some(text) => (!text.is_empty() && !text.contains("[none]")).then_some(text),
        // Where securityfs is not mounted, there still is what it was told.
        None => {
            let line = system.read("proc/cmdline")?;
            let word = line.split_whitespace().find(|w| w.starts_with("lockdown="));
            word.filter(|w| *w != "lockdown=none").map(String::from)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::example;

    fn refusal(files: &[(&str, &str)], namespace: Option<&str>) -> Option<String> {
        let (work, system) = example(files);
        if let Some(name) = namespace {
            std::fs::create_dir_all(work.path().join("proc/self/ns")).unwrap();
            std::os::unix::fs::symlink(name, work.path().join("proc/self/ns/user")).unwrap();
        }
        check(&system).err().map(|e| e.to_string())
    }

    const ROOT: (&str, &str) = ("proc/self/status", "CapEff:\t000001ffffffffff\n");

    #[test]
    fn who_may() {
        assert_eq!(refusal(&[ROOT], Some(INIT_USER_NAMESPACE)), None);
        assert_eq!(refusal(&[], None), None, "the kernel has the last word");
        let nobody = ("proc/self/status", "CapEff:\t0000000000000000\n");
        assert!(refusal(&[nobody], None).unwrap().contains("CAP_SYS_RAWIO"));
        let raw = ("proc/self/status", "CapEff:\t0000000000020000\n");
        assert_eq!(refusal(&[raw], None), None);
        let inside = refusal(&[ROOT], Some("user:[4026532000]")).unwrap();
        assert!(inside.contains("user namespace"));
    }

    #[test]
    fn lockdowns() {
        let file = "sys/kernel/security/lockdown";
        for (files, locked) in [
            (&[(file, "[none] integrity confidentiality\n")][..], false),
            (&[(file, "none [integrity] confidentiality\n")], true),
            (&[("proc/cmdline", "quiet lockdown=integrity\n")], true),
            (&[("proc/cmdline", "lockdown=none\n")], false),
            (&[], false),
        ] {
            let (_work, system) = example(files);
            assert_eq!(lockdown(&system).is_some(), locked, "{files:?}");
            assert_eq!(check(&system).is_err(), locked, "{files:?}");
        }
    }
}
