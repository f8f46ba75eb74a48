//! What the host's kernel and the machine must have.

use crate::arch::Architecture;
use crate::kml::caller;
use crate::pci;
use crate::system::host::Host;
use crate::ui::check::Check;
use crate::units::{cpulist, size};

impl Host {
    /// Check all that KLoader has no say in.
    pub fn checks(&self, architecture: &Architecture) -> Vec<Check> {
        let mut checks = vec![
            Check::ok("architecture", architecture.name),
            self.version(),
            self.cpus(),
            self.siblings(),
            self.lockdown(),
            self.memory(),
            self.pci(),
        ];
        checks.extend(self.contiguous());
        checks.extend(self.crash_kernel());
        checks.extend((architecture.doctor)(self));
        checks
    }

    fn version(&self) -> Check {
        const NAME: &str = "host kernel";
        let release = self.release();
        let supported = ["6.1.", "6.12.", "7.2.", "7.3."]
            .iter()
            .any(|v| release.starts_with(v));
        if supported {
            Check::ok(NAME, release)
        } else {
            Check::warn(
                NAME,
                format!("{release} has not been tried"),
                "Debian's 6.1, 6.12, 7.2 and 7.3 have",
            )
        }
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

    /// Warn if CPUs share a core.
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

    /// Warn of a crash kernel that starts all CPUs: it comes up beside partitions.
    pub fn crash_kernel(&self) -> Option<Check> {
        const NAME: &str = "crash kernel";
        let size = self.read("sys/kernel/kexec_crash_size")?;
        if size.parse().unwrap_or(0u64) == 0 {
            return None;
        }
        let settings = self.read("etc/default/kdump-tools").unwrap_or_default();
        let mut lines = settings.lines();
        let own = lines.find(|line| line.starts_with("KDUMP_CMDLINE_APPEND="));
        Some(match own {
            Some(line) if !line.contains("nr_cpus=1") => Check::warn(
                NAME,
                "it may start all CPUs, those of partitions, too, when the host panics",
                "add nr_cpus=1 to KDUMP_CMDLINE_APPEND in /etc/default/kdump-tools",
            ),
            _ => Check::ok(
                NAME,
                "reserved; it is to start with nr_cpus=1, as kdump-tools start it",
            ),
        })
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
}
