//! What it takes on x86-64: no broadcasts, xAPIC mode, a TSC that can be relied on.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::system::host::Host;
use crate::system::kernel_log;
use crate::ui::check::Check;

/// Check what the architecture wants of the machine.
pub fn checks(host: &Host) -> Vec<Check> {
    let mut checks = vec![broadcast(host), apic(host), clock(host)];
    checks.extend(virtual_machine(host));
    checks
}

fn broadcast(host: &Host) -> Check {
    const NAME: &str = "no_ipi_broadcast";
    if host.has_parameter("no_ipi_broadcast=1") {
        return Check::ok(NAME, "set");
    }
    Check::fail(
        NAME,
        "not set: the host's interrupts to all CPUs would hit the partitions'",
        "add no_ipi_broadcast=1 to GRUB_CMDLINE_LINUX in /etc/default/grub, then: update-grub && reboot",
    )
}

fn apic(host: &Host) -> Check {
    const NAME: &str = "APIC";
    let fix = "add nox2apic intremap=off to GRUB_CMDLINE_LINUX in /etc/default/grub, then: update-grub && reboot";
    let possible = host.has_flag("x2apic") && !host.has_parameter("nox2apic");
    match x2apic_on(host) {
        Some(true) => Check::warn(
            NAME,
            "x2APIC mode, in which partitions have not been tried",
            fix,
        ),
        None if possible => Check::warn(
            NAME,
            "the CPUs can do x2APIC, in which partitions have not been tried; cannot find out whether it is on",
            fix,
        ),
        _ => Check::ok(NAME, "xAPIC mode"),
    }
}

/// Bit 10 of IA32_APIC_BASE, if the msr module is there; else what the
/// kernel said when it booted.
fn x2apic_on(host: &Host) -> Option<bool> {
    let mut value = [0; 8];
    let msr = File::open(host.root.join("dev/cpu/0/msr"));
    if msr.is_ok_and(|msr| msr.read_exact_at(&mut value, 0x1b).is_ok()) {
        return Some(u64::from_le_bytes(value) & (1 << 10) != 0);
    }
    let log = kernel_log::read(&host.root)?;
    let on = [
        "x2apic enabled",
        "Enabled x2apic",
        "x2apic: enabled by BIOS",
    ];
    if on.iter().any(|text| log.contains(text)) {
        return Some(true);
    }
    // Only a log that begins at the beginning proves that it did not say so.
    log.contains("Linux version ").then_some(false)
}

fn clock(host: &Host) -> Check {
    const NAME: &str = "TSC";
    let missing: Vec<&str> = ["constant_tsc", "nonstop_tsc"]
        .into_iter()
        .filter(|flag| !host.has_flag(flag))
        .collect();
    if missing.is_empty() {
        return Check::ok(NAME, "constant and nonstop");
    }
    Check::warn(
        NAME,
        format!("the CPU does not say {}", missing.join(" and ")),
        "clocks may drift if the clock rate changes; fine in an emulator",
    )
}

fn virtual_machine(host: &Host) -> Option<Check> {
    if !host.has_flag("hypervisor") {
        return None;
    }
    let product = host
        .read("sys/class/dmi/id/product_name")
        .unwrap_or_default();
    Some(Check::ok(
        "virtual machine",
        format!("yes {product}; fine, no nested virtualization is needed").replace("yes ;", "yes;"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::tests::host;
    use crate::ui::check::Verdict;

    #[test]
    fn the_mode_of_the_apic() {
        let (work, host) = host(&[
            ("proc/cpuinfo", "flags : x2apic"),
            ("dev/kmsg", "6,0,0,-;Linux version 6.12\n"),
        ]);
        assert_eq!(apic(&host).verdict, Verdict::Ok);
        std::fs::write(work.path().join("dev/kmsg"), "6,9,9,-;x2apic enabled\n").unwrap();
        assert_eq!(apic(&host).verdict, Verdict::Warn);
        let msr = work.path().join("dev/cpu/0/msr");
        std::fs::create_dir_all(msr.parent().unwrap()).unwrap();
        let mut registers = vec![0; 0x1b];
        registers.extend_from_slice(&0xfee0_0900u64.to_le_bytes());
        std::fs::write(&msr, registers).unwrap();
        assert_eq!(apic(&host).verdict, Verdict::Ok);
    }
}
