//! What it takes on arm64: GICv3, and firmware that turns CPUs on.

use std::fs;

use crate::system::host::Host;
use crate::system::kernel_log;
use crate::ui::check::Check;

/// Check what the architecture wants of the machine.
pub fn checks(host: &Host) -> Vec<Check> {
    vec![interrupt_controller(host), firmware(host)]
}

/// Each CPU has interrupts of its own, of which the kernel says whose they are.
fn interrupt_controller(host: &Host) -> Check {
    const NAME: &str = "GIC";
    let text = host.read("proc/interrupts").unwrap_or_default();
    let has = |name: &str| text.split_whitespace().any(|word| word == name);
    if has("GICv3") {
        return Check::ok(NAME, "GICv3");
    }
    if has("GICv2") || has("GIC-0") {
        return Check::fail(
            NAME,
            "GICv2, whose CPUs share one set of registers; SHIMOS needs GICv3, where each CPU has its own, \
             to be given away with it and to ring other kernels by: shimos_ikc does not load without",
            "use a machine with GICv3; an emulated one: -M virt,gic-version=3",
        );
    }
    Check::warn(
        NAME,
        "cannot find out which one there is",
        "is /proc mounted? A partition needs GICv3",
    )
}

/// By PSCI CPUs go off and come on again, in a partition.
fn firmware(host: &Host) -> Check {
    const NAME: &str = "PSCI";
    match has_psci(host) {
        Some(true) => Check::ok(NAME, "yes"),
        Some(false) => Check::fail(
            NAME,
            "the firmware has none, and only by that a CPU can be given to a partition",
            "look for a newer firmware; machines that start CPUs by a spin table have none",
        ),
        None => Check::warn(
            NAME,
            "cannot find out whether the firmware has it",
            "use root; KLoader looks, too",
        ),
    }
}

/// As the kernel was told of it: by a device tree, by ACPI; else as it said itself.
fn has_psci(host: &Host) -> Option<bool> {
    let tree = host.root.join("sys/firmware/devicetree/base");
    if tree.join("cpus").exists() {
        return Some(tree.join("psci").exists());
    }
    if let Ok(table) = fs::read(host.root.join("sys/firmware/acpi/tables/FACP")) {
        return Some(fadt_has_psci(&table));
    }
    let log = kernel_log::read(&host.root)?;
    log.contains("psci: PSCIv").then_some(true)
}

/// "ARM Boot Architecture Flags" of the ACPI table.
fn fadt_has_psci(table: &[u8]) -> bool {
    const FLAGS: usize = 129;
    const PSCI_COMPLIANT: u8 = 1;
    table
        .get(FLAGS)
        .is_some_and(|flags| flags & PSCI_COMPLIANT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::tests::host;
    use crate::ui::check::Verdict::{Fail, Ok, Warn};

    #[test]
    fn interrupt_controllers() {
        for (line, verdict) in [
            (" 11:  70  66  GICv3  27 Level  arch_timer\n", Ok),
            (" 11:  70  66  GICv2  27 Level  arch_timer\n", Fail),
            (" 11:  70  66  GIC-0  27 Level  arch_timer\n", Fail),
            ("           CPU0\n", Warn),
        ] {
            let (_work, host) = host(&[("proc/interrupts", line)]);
            assert_eq!(interrupt_controller(&host).verdict, verdict, "{line}");
        }
    }

    #[test]
    fn firmwares() {
        let verdict = |files: &[(&str, &str)]| {
            let (_work, host) = host(files);
            firmware(&host).verdict
        };
        let tree = |node: &str| format!("sys/firmware/devicetree/base/{node}/name");
        assert_eq!(verdict(&[(&tree("cpus"), ""), (&tree("psci"), "")]), Ok);
        assert_eq!(verdict(&[(&tree("cpus"), "")]), Fail);
        // A tree that the firmware left nearly empty, as with ACPI.
        let with = format!("{}\u{1}", "x".repeat(129));
        let table = "sys/firmware/acpi/tables/FACP";
        assert_eq!(verdict(&[(&tree("chosen"), ""), (table, &with)]), Ok);
        assert_eq!(verdict(&[(table, "old")]), Fail);
        let said = "6,1,2,-;psci: PSCIv1.1 detected in firmware.\n";
        assert_eq!(verdict(&[("dev/kmsg", said)]), Ok);
        assert_eq!(verdict(&[("dev/kmsg", "6,1,2,-;quiet\n")]), Warn);
        assert_eq!(verdict(&[]), Warn);
    }
}
