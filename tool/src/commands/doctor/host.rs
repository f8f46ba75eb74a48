//! What the host's kernel says about itself and the machine.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::check::Check;
use crate::kml::caller;
use crate::{cpulist, kernel_log, pci, size};

/// What it says, below a directory that tests can
/// choose.
pub struct Host {
    pub root: PathBuf,
}

impl Host {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Host { root: root.into() }
    }

    fn read(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.root.join(path)).ok()?;
        Some(text.trim().to_string())
    }

    pub fn release(&self) -> String {
        self.read("proc/sys/kernel/osrelease").unwrap_or_default()
    }

    fn has_parameter(&self, parameter: &str) -> bool {
        self.read("proc/cmdline")
            .unwrap_or_default()
            .split_whitespace()
            .any(|word| word.replace('-', "_") == parameter)
    }

    /// The flags of the first CPU.
    fn has_flag(&self, flag: &str) -> bool {
        let text = self.read("proc/cpuinfo").unwrap_or_default();
        text.lines()
            .find(|line| line.starts_with("flags"))
            .is_some_and(|line| line.split_whitespace().any(|word| word == flag))
    }

    pub fn checks(&self) -> Vec<Check> {
        let mut checks = vec![
            architecture(),
            self.version(),
            self.broadcast(),
            self.cpus(),
            self.siblings(),
            self.apic(),
            self.clock(),
            self.lockdown(),
            self.memory(),
            self.pci(),
        ];
        checks.extend(self.contiguous());
        checks.extend(self.virtual_machine());
        checks
    }

    fn version(&self) -> Check {
        const NAME: &str = "host kernel";
        let release = self.release();
        let supported = ["6.1.", "6.12."].iter().any(|v| release.starts_with(v));
        if supported {
            Check::ok(NAME, release)
        } else {
            Check::warn(
                NAME,
                format!("{release} has not been tried"),
                "Debian's 6.1 and 6.12 have",
            )
        }
    }

    fn broadcast(&self) -> Check {
        const NAME: &str = "no_ipi_broadcast";
        if self.has_parameter("no_ipi_broadcast=1") {
            return Check::ok(NAME, "set");
        }
        Check::fail(
            NAME,
            "not set: the host's interrupts to all CPUs would hit the partitions'",
            "add no_ipi_broadcast=1 to GRUB_CMDLINE_LINUX in /etc/default/grub, then: update-grub && reboot",
        )
    }

    fn cpus(&self) -> Check {
        const NAME: &str = "CPUs";
        let text = self
            .read("sys/devices/system/cpu/online")
            .unwrap_or_default();
        match cpulist::parse(&text) {
            Ok(list) if list.len() >= 2 => Check::ok(
                NAME,
                format!("{text} online, all but one can go to partitions"),
            ),
            Ok(_) => Check::fail(NAME, "only one is online", "a partition needs one more"),
            Err(_) => Check::warn(NAME, "cannot find out which are online", "is /sys mounted?"),
        }
    }

    pub fn siblings(&self) -> Check {
        const NAME: &str = "SMT";
        let mut pairs: Vec<String> = Vec::new();
        let online = self
            .read("sys/devices/system/cpu/online")
            .unwrap_or_default();
        for cpu in cpulist::parse(&online).unwrap_or_default() {
            let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            let list = self.read(&path).unwrap_or_default();
            let several = cpulist::parse(&list).is_ok_and(|l| l.len() > 1);
            if several && !pairs.contains(&list) {
                pairs.push(list);
            }
        }
        if pairs.is_empty() {
            return Check::ok(NAME, "each CPU is a core of its own");
        }
        Check::warn(
            NAME,
            format!("these share a core: {}", pairs.join(" ")),
            "hand them over together",
        )
    }

    pub fn apic(&self) -> Check {
        const NAME: &str = "APIC";
        let fix = "add nox2apic intremap=off to GRUB_CMDLINE_LINUX in /etc/default/grub, then: update-grub && reboot";
        let possible = self.has_flag("x2apic") && !self.has_parameter("nox2apic");
        match self.x2apic_on() {
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
    fn x2apic_on(&self) -> Option<bool> {
        let mut value = [0; 8];
        let msr = File::open(self.root.join("dev/cpu/0/msr"));
        if msr.is_ok_and(|msr| msr.read_exact_at(&mut value, 0x1b).is_ok()) {
            return Some(u64::from_le_bytes(value) & (1 << 10) != 0);
        }
        let log = kernel_log::read(&self.root)?;
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

    fn clock(&self) -> Check {
        const NAME: &str = "TSC";
        let missing: Vec<&str> = ["constant_tsc", "nonstop_tsc"]
            .into_iter()
            .filter(|flag| !self.has_flag(flag))
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

    fn lockdown(&self) -> Check {
        const NAME: &str = "lockdown";
        let text = self
            .read("sys/kernel/security/lockdown")
            .unwrap_or_default();
        if text.is_empty() || text.contains("[none]") {
            return Check::ok(NAME, "none");
        }
        Check::fail(
            NAME,
            format!("the kernel is locked down: {text}"),
            caller::UNLOCK,
        )
    }

    fn pci(&self) -> Check {
        const NAME: &str = "PCIe devices";
        let list: Vec<String> = pci::candidates(&self.root)
            .iter()
            .map(ToString::to_string)
            .collect();
        if list.is_empty() {
            return Check::ok(NAME, "none can be given whole; `shimos run --pci` says why");
        }
        Check::ok(
            NAME,
            format!("can be given whole by --pci: {}", list.join(" ")),
        )
    }

    fn memory(&self) -> Check {
        const NAME: &str = "memory";
        let text = self.read("proc/meminfo").unwrap_or_default();
        let kib = |key: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(key))
                .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        };
        match kib("MemAvailable:") {
            Some(n) if n >= 512 << 10 => {
                Check::ok(NAME, format!("{} available", size::show(n << 10)))
            }
            Some(n) => Check::warn(
                NAME,
                format!("only {} available", size::show(n << 10)),
                "stop something; a partition of a stock kernel wants 256 MiB and more",
            ),
            None => Check::warn(
                NAME,
                "cannot find out how much is free",
                "is /proc mounted?",
            ),
        }
    }

    /// Can the kernel give large pieces of memory? Only if its configuration
    /// can be read.
    fn contiguous(&self) -> Option<Check> {
        const NAME: &str = "CONFIG_CONTIG_ALLOC";
        let config = self.read(&format!("boot/config-{}", self.release()))?;
        if config.lines().any(|line| line == "CONFIG_CONTIG_ALLOC=y") {
            return Some(Check::ok(NAME, "yes"));
        }
        Some(Check::fail(
            NAME,
            "the kernel cannot give large pieces of memory at run time",
            "use a kernel with CONFIG_CONTIG_ALLOC=y, Debian's have it",
        ))
    }

    fn virtual_machine(&self) -> Option<Check> {
        if !self.has_flag("hypervisor") {
            return None;
        }
        let product = self
            .read("sys/class/dmi/id/product_name")
            .unwrap_or_default();
        Some(Check::ok(
            "virtual machine",
            format!("yes {product}; fine, no nested virtualization is needed")
                .replace("yes ;", "yes;"),
        ))
    }
}

fn architecture() -> Check {
    const NAME: &str = "architecture";
    match std::env::consts::ARCH {
        "x86_64" => Check::ok(NAME, "x86-64"),
        other => Check::fail(NAME, other, "only x86-64 is supported"),
    }
}
