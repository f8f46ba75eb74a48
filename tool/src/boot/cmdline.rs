//! The partition's kernel command line: split it as the kernel does, refuse
//! what would override containment, add what the agent needs.

use crate::abi::CMDLINE_LEN;
use crate::arch::Architecture;

/// Without it a kernel tests its ciphers while it boots, and a fifth of its instructions go into
/// that.  It does so regardless with `fips=1`.
const NO_SELF_TESTS: &str = "cryptomgr.notests";

/// The rows of KLoader's own table: `REFUSED("name", "reason")`. It checks too and has
/// the last word; the tool checks before anything is taken from the host.
fn refused(
    architecture: &Architecture,
) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
    architecture.refused_parameters.lines().filter_map(|line| {
        line.strip_prefix("REFUSED(\"")?
            .strip_suffix("\")")?
            .split_once("\", \"")
    })
}

/// One parameter as the kernel takes it apart.
#[derive(Debug, PartialEq, Eq)]
struct Parameter<'a> {
    /// As written, quotes included.
    text: &'a str,
    name: String,
    value: Option<&'a str>,
}

/// Split like `next_arg()` in the kernel's lib/cmdline.c.
fn split(cmdline: &str) -> Vec<Parameter<'_>> {
    let mut list = Vec::new();
    let mut rest = cmdline.trim_matches(' ');
    while !rest.is_empty() {
        let mut in_quote = false;
        let end = rest
            .find(|c| {
                in_quote ^= c == '"';
                c == ' ' && !in_quote
            })
            .unwrap_or(rest.len());
        let (text, tail) = rest.split_at(end);
        list.push(parameter(text));
        rest = tail.trim_start_matches(' ');
    }
    list
}

fn parameter(text: &str) -> Parameter<'_> {
    let bare = match text.strip_prefix('"') {
        Some(bare) => bare.strip_suffix('"').unwrap_or(bare),
        None => text,
    };
    let (name, value) = match bare.split_once('=') {
        // The kernel does not take a leading '=' for a separator.
        Some(("", _)) | None => (bare, None),
        Some((name, value)) => (name, Some(value)),
    };
    let value = value.map(|v| match v.strip_prefix('"') {
        Some(v) => v.strip_suffix('"').unwrap_or(v),
        None => v,
    });
    Parameter {
        text,
        name: name.replace('-', "_"),
        value,
    }
}

/// Tell why a user may not pass this command line, if so: one reason per parameter.
pub fn problems(architecture: &Architecture, cmdline: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(odd) = cmdline.chars().find(|c| !matches!(c, ' '..='~')) {
        return vec![format!(
            "the command line contains {odd:?}; only printable ASCII is allowed"
        )];
    }
    if cmdline.matches('"').count() % 2 != 0 {
        return vec![
            "the command line has an odd number of double quotes; the parameters behind it would be swallowed"
                .into(),
        ];
    }
    for parameter in split(cmdline) {
        if parameter.text == "--" {
            problems.push(
                "'--' is not allowed: what comes behind it goes to init, also what KLoader adds"
                    .into(),
            );
        }
        if let Some((_, why)) = refused(architecture).find(|(name, _)| *name == parameter.name) {
            problems.push(format!("'{}' is not allowed: {why}", parameter.text));
        }
        if parameter.name == "SHIMOS_INIT" {
            problems.push(format!(
                "'{}' is not allowed: shimos sets it, use rdinit= instead",
                parameter.text
            ));
        }
    }
    problems
}

/// Make the command line to hand to KLoader: the user's, and what the agent needs before
/// it.
pub fn compose(user: &str, with_agent: bool) -> Result<String, String> {
    let parameters = split(user);
    let mut words: Vec<String> = Vec::new();
    if with_agent {
        words.push("rdinit=/shimos/init".into());
        let own_init = parameters.iter().rev().find(|p| p.name == "rdinit");
        if let Some(init) = own_init.and_then(|p| p.value).filter(|v| !v.is_empty()) {
            words.push(quoted("SHIMOS_INIT", init));
        }
    }
    if !parameters.iter().any(|p| p.name == "console") {
        words.push("console=ttyIKC0".into());
    }
    if !parameters.iter().any(|p| p.name == NO_SELF_TESTS) {
        words.push(NO_SELF_TESTS.into());
    }
    for parameter in &parameters {
        if with_agent && parameter.name == "rdinit" {
            continue;
        }
        words.push(parameter.text.to_string());
    }
    let line = words.join(" ");
    if line.len() >= CMDLINE_LEN {
        return Err(format!(
            "the kernel command line is too long: {} characters with what shimos adds, {} is the most",
            line.len(),
            CMDLINE_LEN - 1
        ));
    }
    Ok(line)
}

fn quoted(name: &str, value: &str) -> String {
    if value.contains(' ') {
        format!("{name}=\"{value}\"")
    } else {
        format!("{name}={value}")
    }
}

/// Tell whether this command line was made for a partition with an agent.
pub fn has_agent(cmdline: &str) -> bool {
    split(cmdline)
        .iter()
        .any(|p| p.name == "rdinit" && p.value == Some("/shimos/init"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{AARCH64, ALL, X86_64};

    fn names(cmdline: &str) -> Vec<String> {
        split(cmdline).into_iter().map(|p| p.name).collect()
    }

    #[test]
    fn splits_as_the_kernel_does() {
        assert_eq!(names("  quiet  a-b=1 "), ["quiet", "a_b"]);
        assert_eq!(names(r#"x="a b" y"#), ["x", "y"]);
        assert_eq!(names(r#""x=a b" y"#), ["x", "y"]);
        assert_eq!(names(r#"dyndbg="file x +p" z=1"#), ["dyndbg", "z"]);
        assert_eq!(split(r#""reboot=t w""#)[0].value, Some("t w"));
        assert_eq!(split("=x")[0].name, "=x");
        assert!(split("   ").is_empty());
    }

    #[test]
    fn harmless_ones_pass() {
        for line in [
            "",
            "quiet loglevel=7 root=/dev/vda1 ro",
            "panic_on_warn=1 rebooting tscx mem_encrypt=off memory=1 console=tty0",
            r#"init="/bin/sh" systemd.unit=rescue.target"#,
        ] {
            assert_eq!(problems(&X86_64, line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn overriding_ones_are_refused_with_a_reason() {
        for line in [
            "no_ipi_broadcast=0",
            "no-ipi-broadcast=0",
            "quiet reboot=t",
            "panic=1",
            "\"panic=1\"",
            "pci=noearly",
            "nosmp",
            "maxcpus=1",
            "mem=512M",
            "memmap=1G$4G",
            "8250.nr-uarts=4",
            "nox2apic",
            "efi=debug",
            "quiet -- single",
            "bootconfig",
            "SHIMOS_INIT=/x",
        ] {
            let found = problems(&X86_64, line);
            assert_eq!(found.len(), 1, "{line}: {found:?}");
            assert!(found[0].contains("not allowed: "), "{line}: {found:?}");
        }
        assert_eq!(problems(&X86_64, "panic=1 reboot=t").len(), 2);
    }

    #[test]
    fn each_architecture_has_its_own() {
        assert_eq!(
            problems(&AARCH64, "apic=debug nolapic"),
            Vec::<String>::new()
        );
        for line in ["acpi=force", "maxcpus=1", "crashkernel=256M"] {
            for architecture in ALL {
                let found = problems(architecture, line);
                assert_eq!(found.len(), 1, "{} {line}", architecture.name);
            }
        }
        let found = problems(&AARCH64, "crash_kexec_post_notifiers=0");
        assert!(found[0].contains("not allowed: "), "{found:?}");
    }

    #[test]
    fn what_would_swallow_the_rest_is_refused() {
        let problems = |line| problems(&AARCH64, line);
        assert!(problems("x=\"abc")[0].contains("double quotes"));
        assert!(problems("a\nb")[0].contains("printable"));
        assert!(problems("a\tb")[0].contains("printable"));
        assert!(problems("a=\u{e0}")[0].contains("printable"));
    }

    #[test]
    fn composing() {
        assert_eq!(
            compose("quiet", true).unwrap(),
            "rdinit=/shimos/init console=ttyIKC0 cryptomgr.notests quiet"
        );
        assert_eq!(
            compose("rdinit=/bin/sh console=ttyS9 cryptomgr.notests=0", true).unwrap(),
            "rdinit=/shimos/init SHIMOS_INIT=/bin/sh console=ttyS9 cryptomgr.notests=0"
        );
        assert_eq!(
            compose("rdinit=/bin/sh", false).unwrap(),
            "console=ttyIKC0 cryptomgr.notests rdinit=/bin/sh"
        );
        assert!(has_agent(&compose("", true).unwrap()));
        assert!(!has_agent(&compose("", false).unwrap()));
        assert!(compose(&"x".repeat(CMDLINE_LEN), true).is_err());
    }
}
