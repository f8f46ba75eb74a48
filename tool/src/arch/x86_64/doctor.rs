//! What it takes on x86-64: no broadcasts, APICs that can be in xAPIC mode, a TSC that can be relied on.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::system::host::Host;
use crate::system::kernel_log;
use crate::ui::check::Check;

/// Check what the architecture wants of the machine.
pub fn checks(host: &Host) -> Vec<Check> {
    let mut checks = vec![broadcast(host), apic(host), clock(host)];
    checks.extend(remapping(host));
    checks.push(shared_registers());
    checks.extend(virtual_machine(host));
    checks
}

/// What nothing keeps apart, said once where people look first.
fn shared_registers() -> Check {
    Check::ok(
        "shared by all kernels",
        "the CMOS clock's ports, power and thermal limits, uncore counters: set them in the host only",
    )
}

fn broadcast(host: &Host) -> Check {
    const NAME: &str = "no_ipi_broadcast";
    if host.has_parameter("no_ipi_broadcast=1") {
        return Check::ok(NAME, "set");
    }
    Check::fail(
        NAME,
        "not set: the host's interrupts to all CPUs would hit the partitions'",
        "shimos doctor --fix && reboot; or, without GRUB, add no_ipi_broadcast=1 to the kernel's command line",
    )
    .parameter("no_ipi_broadcast=1")
}

fn apic(host: &Host) -> Check {
    const NAME: &str = "APIC";
    match x2apic_on(host) {
        Some(true) if x2apic_locked(host) => Check::fail(
            NAME,
            "x2APIC mode, locked by the firmware; a partition begins in xAPIC mode",
            "if the firmware's setup has an x2APIC opt-out, use that",
        ),
        Some(true) => Check::ok(NAME, "x2APIC mode"),
        Some(false) => Check::ok(NAME, "xAPIC mode"),
        None => Check::ok(NAME, "cannot find out the mode; either is fine"),
    }
}

/// Can the host's remapping hardware lead a given device's interrupts to a partition? Said only
/// where a parameter is missing for that.
fn remapping(host: &Host) -> Option<Check> {
    let log = kernel_log::read(&host.root)?;
    let says = |texts: &[&str]| texts.iter().any(|text| log.contains(text));
    let remaps = says(&[
        "Enabled IRQ remapping in x2apic mode",
        "AMD-Vi: X2APIC enabled",
    ]);
    // With a colon since 6.7.
    let physical = says(&["routing to physical x2apic", "routing to: physical x2apic"]);
    (remaps && !physical && !host.has_parameter("x2apic_phys")).then(|| {
        Check::warn(
            "interrupts of given devices",
            "the host remaps interrupts to logical destinations, which a partition's CPUs do not have: no --pci",
            "shimos doctor --fix && reboot; or, without GRUB, add x2apic_phys to the kernel's command line",
        )
        .parameter("x2apic_phys")
    })
}

/// Read a register of CPU 0, if the msr module is there.
fn msr(host: &Host, number: u64) -> Option<u64> {
    let mut value = [0; 8];
    let file = File::open(host.root.join("dev/cpu/0/msr")).ok()?;
    file.read_exact_at(&mut value, number).ok()?;
    Some(u64::from_le_bytes(value))
}

/// The mode by the register, else by what the kernel said when it booted.
fn x2apic_on(host: &Host) -> Option<bool> {
    const APIC_BASE: u64 = 0x1b;
    if let Some(value) = msr(host, APIC_BASE) {
        return Some(value & (1 << 10) != 0);
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

/// As KLoader looks: IA32_ARCH_CAPABILITIES says whether there is IA32_XAPIC_DISABLE_STATUS.
fn x2apic_locked(host: &Host) -> bool {
    let has = |number, bit: u32| msr(host, number).is_some_and(|value| (value >> bit) & 1 != 0);
    host.has_flag("arch_capabilities") && has(0x10a, 21) && has(0xbd, 0)
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
            ("proc/cpuinfo", "flags : x2apic arch_capabilities"),
            ("dev/kmsg", "6,0,0,-;Linux version 6.12\n"),
        ]);
        let mode = || apic(&host).found;
        assert_eq!(mode(), "xAPIC mode");
        std::fs::write(work.path().join("dev/kmsg"), "6,9,9,-;x2apic enabled\n").unwrap();
        assert_eq!(mode(), "x2APIC mode");
        let msr = work.path().join("dev/cpu/0/msr");
        std::fs::create_dir_all(msr.parent().unwrap()).unwrap();
        let mut registers = vec![0; 0x200];
        let mut set = |at: usize, value: u64| {
            registers[at..at + 8].copy_from_slice(&value.to_le_bytes());
            std::fs::write(&msr, &registers).unwrap();
        };
        set(0x1b, 0xfee0_0900);
        assert_eq!(mode(), "xAPIC mode");
        set(0x1b, 0xfee0_0d00);
        set(0x10a, 1 << 21);
        assert_eq!(mode(), "x2APIC mode");
        set(0xbd, 1);
        let locked = apic(&host);
        assert_eq!(locked.verdict, Verdict::Fail);
        assert!(locked.found.contains("locked by the firmware"));
    }

    #[test]
    fn remapping_to_logical_destinations() {
        let said = |log: &str, cmdline: &str| {
            let (_work, host) = host(&[("dev/kmsg", log), ("proc/cmdline", cmdline)]);
            remapping(&host).map(|check| (check.verdict, check.parameter))
        };
        let cluster = "6,1,1,-;DMAR-IR: Enabled IRQ remapping in x2apic mode\n";
        let warned = Some((Verdict::Warn, Some("x2apic_phys")));
        assert_eq!(said(cluster, "quiet"), warned);
        assert_eq!(said(cluster, "quiet x2apic_phys"), None);
        let physical = format!("{cluster}6,2,2,-;Switched APIC routing to physical x2apic.\n");
        assert_eq!(said(&physical, "quiet"), None);
        assert_eq!(said("6,1,1,-;Linux version 6.12\n", "quiet"), None);
    }
}
