//! `shimos doctor`: what this machine can do and what is missing.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::abi::ABI_VERSION;
use crate::check::{self, Check, Verdict};
use crate::cli;
use crate::device::{Device, Info};
use crate::devices::node;
use crate::devices::system::System;
use crate::error::{Error, Result, io_text};
use crate::kloader::{self, KLoader};
use crate::kml::{caller, support};
use crate::{
    cpulist, initrd, kernel_image, kernel_log, modules, output, partition_modules, pci, size,
};

#[derive(Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
    kernel_mode: support::Report,
}

pub fn run(args: &cli::Json) -> Result<()> {
    let host = Host::new("/");
    let mut checks = vec![root()];
    checks.extend(host.checks());
    checks.push(device(&host));
    checks.push(shared_devices(&host));
    checks.extend(partition_parts(Path::new("/boot")));
    let ok = checks.iter().all(|c| c.verdict != Verdict::Fail);
    let kernel_mode = support::report(&System::real());
    if args.json {
        output::json(&Report {
            ok,
            checks,
            kernel_mode,
        })?;
    } else {
        output::line(text(&checks))?;
        output::line(kernel_mode.text())?;
    }
    if ok { Ok(()) } else { Err(Error::Reported(1)) }
}

fn text(checks: &[Check]) -> String {
    let mut lines = check::lines(checks);
    lines.push(String::new());
    let count = |v| check::count(checks, v);
    lines.push(match (count(Verdict::Fail), count(Verdict::Warn)) {
        (0, 0) => "This machine is ready.".into(),
        (0, n) => format!("This machine is ready; {n} things to know."),
        (n, _) => format!("Not ready: {n} things are missing."),
    });
    lines.join("\n")
}

fn root() -> Check {
    if nix::unistd::geteuid().is_root() {
        Check::ok("root", "yes")
    } else {
        Check::fail(
            "root",
            "no; some of what follows may be wrong",
            "sudo shimos doctor",
        )
    }
}

/// Is KLoader there, and does it speak our language?
fn device(host: &Host) -> Check {
    const NAME: &str = "KLoader";
    let loader = match KLoader::try_open() {
        Ok(loader) => loader,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return match modules::find(&host.release(), "shimos_kloader") {
                Some(path) => Check::fail(
                    NAME,
                    format!("not loaded; the module is {}", path.display()),
                    "modprobe shimos_kloader",
                ),
                None => Check::fail(
                    NAME,
                    format!(
                        "there is no module for the running kernel {}",
                        host.release()
                    ),
                    format!(
                        "apt install shimos-dkms linux-headers-{0} && dkms status shimos; {1}",
                        host.release(),
                        modules::build_hint(&host.release())
                    ),
                ),
            };
        }
        Err(e) => {
            return Check::fail(
                NAME,
                format!("cannot open {}: {}", kloader::PATH, io_text(&e)),
                "use root",
            );
        }
    };
    match loader.info() {
        Ok(info) => judge(&info),
        Err(refusal) => Check::fail(
            NAME,
            format!("it does not answer: {refusal}"),
            "install tool and modules of the same version",
        ),
    }
}

fn judge(info: &Info) -> Check {
    const NAME: &str = "KLoader";
    if info.version != ABI_VERSION {
        return Check::fail(
            NAME,
            format!(
                "it speaks ABI version {}, this tool {ABI_VERSION}",
                info.version
            ),
            "install tool and modules of the same version, then: modprobe -r shimos_kloader && modprobe shimos_kloader",
        );
    }
    if !info.host_ok {
        return Check::fail(
            NAME,
            format!("it cannot start partitions: {}", info.host_problem),
            "do what it says, or see the other lines",
        );
    }
    Check::ok(
        NAME,
        format!(
            "ABI version {}, {} partitions, at least {} each",
            info.version,
            info.partitions,
            size::show(info.memory_min)
        ),
    )
}

/// The init and the modules for the kernels that could be started.
fn partition_parts(boot: &Path) -> Vec<Check> {
    let init = initrd::init_path();
    let mut checks = vec![if init.is_file() {
        Check::ok("init", init.display().to_string())
    } else {
        Check::fail(
            "init",
            format!("there is no {}", init.display()),
            "apt install --reinstall shimos",
        )
    }];
    let mut kernels: Vec<PathBuf> = std::fs::read_dir(boot)
        .map(|list| list.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    kernels.retain(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"))
    });
    kernels.sort();
    if kernels.is_empty() {
        checks.push(Check::warn(
            "kernels",
            format!("there are none in {}", boot.display()),
            "give `shimos run` one by --kernel",
        ));
    }
    checks.extend(kernels.iter().map(|path| kernel(path)));
    checks
}

fn kernel(path: &Path) -> Check {
    const NAME: &str = "partition kernel";
    let version = match kernel_image::open(path) {
        Ok((_, image)) => image.version,
        Err(e) => return Check::warn(NAME, e.to_string(), "it cannot be used"),
    };
    let missing: Vec<&str> = ["shimos_ikc", "shimos_agent"]
        .into_iter()
        .filter(|module| modules::find(&version, module).is_none())
        .collect();
    let build = modules::build_hint(&version);
    let build = build.trim_start_matches("try: ");
    if !missing.is_empty() {
        let found = format!("{version} has no {}", missing.join(" and "));
        return Check::warn(NAME, found, build);
    }
    match partition_modules::missing(&version) {
        None => Check::ok(NAME, format!("{version}, with modules")),
        Some(why) => Check::warn(
            NAME,
            format!("{version}, with modules, but shared devices cannot be used in it: {why}"),
            format!("apt install linux-image-{version} && depmod {version}; {build}"),
        ),
    }
}

/// Can disks and networks of this kernel be shared?
fn shared_devices(host: &Host) -> Check {
    const NAME: &str = "shared devices";
    let release = host.release();
    if host.root.join("sys/module").join(node::MODULE).exists() {
        return Check::ok(NAME, format!("{} is loaded", node::MODULE));
    }
    match modules::find(&release, node::MODULE) {
        Some(path) => Check::ok(
            NAME,
            format!("loaded when they are needed: {}", path.display()),
        ),
        None => Check::warn(
            NAME,
            format!(
                "there is no module {} for the running kernel {release}: no --disk and --net",
                node::MODULE
            ),
            modules::build_hint(&release).trim_start_matches("try: "),
        ),
    }
}

/// What the host's kernel says about itself, below a directory that tests can
/// choose.
struct Host {
    root: PathBuf,
}

impl Host {
    fn new(root: impl Into<PathBuf>) -> Self {
        Host { root: root.into() }
    }

    fn read(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.root.join(path)).ok()?;
        Some(text.trim().to_string())
    }

    fn release(&self) -> String {
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

    fn checks(&self) -> Vec<Check> {
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

    fn siblings(&self) -> Check {
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

    fn apic(&self) -> Check {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn host(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
        let work = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = work.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let host = Host::new(work.path());
        (work, host)
    }

    const GOOD: &[(&str, &str)] = &[
        ("proc/cmdline", "root=/dev/vda no_ipi_broadcast=1 quiet\n"),
        ("proc/sys/kernel/osrelease", "6.12.1-amd64\n"),
        (
            "proc/cpuinfo",
            "processor : 0\nflags : fpu constant_tsc nonstop_tsc\n",
        ),
        (
            "proc/meminfo",
            "MemTotal: 9 kB\nMemAvailable:   4194304 kB\n",
        ),
        ("sys/devices/system/cpu/online", "0-3\n"),
        (
            "sys/kernel/security/lockdown",
            "[none] integrity confidentiality\n",
        ),
        ("boot/config-6.12.1-amd64", "CONFIG_CONTIG_ALLOC=y\n"),
    ];

    fn verdicts(host: &Host) -> Vec<(&'static str, Verdict)> {
        host.checks()
            .iter()
            .map(|c| (c.name, c.verdict))
            .filter(|(_, v)| *v != Verdict::Ok)
            .collect()
    }

    #[test]
    fn a_good_host() {
        let (_work, host) = host(GOOD);
        assert_eq!(verdicts(&host), []);
        assert!(text(&host.checks()).ends_with("This machine is ready."));
    }

    #[test]
    fn a_bad_host() {
        let (_work, host) = host(&[
            ("proc/cmdline", "quiet"),
            ("proc/sys/kernel/osrelease", "5.10.0"),
            ("proc/cpuinfo", "flags : x2apic hypervisor"),
            ("proc/meminfo", "MemAvailable: 1000 kB"),
            ("sys/devices/system/cpu/online", "0"),
            (
                "sys/kernel/security/lockdown",
                "none [integrity] confidentiality",
            ),
            ("boot/config-5.10.0", "# CONFIG_CONTIG_ALLOC is not set"),
        ]);
        use Verdict::{Fail, Warn};
        assert_eq!(
            verdicts(&host),
            [
                ("host kernel", Warn),
                ("no_ipi_broadcast", Fail),
                ("CPUs", Fail),
                ("APIC", Warn),
                ("TSC", Warn),
                ("lockdown", Fail),
                ("memory", Warn),
                ("CONFIG_CONTIG_ALLOC", Fail),
            ]
        );
        let shown = text(&host.checks());
        assert!(shown.contains("update-grub"));
        assert!(shown.ends_with("Not ready: 4 things are missing."));
    }

    #[test]
    fn the_mode_of_the_apic() {
        let (work, host) = host(&[
            ("proc/cpuinfo", "flags : x2apic"),
            ("dev/kmsg", "6,0,0,-;Linux version 6.12\n"),
        ]);
        assert_eq!(host.apic().verdict, Verdict::Ok);
        std::fs::write(work.path().join("dev/kmsg"), "6,9,9,-;x2apic enabled\n").unwrap();
        assert_eq!(host.apic().verdict, Verdict::Warn);
        let msr = work.path().join("dev/cpu/0/msr");
        std::fs::create_dir_all(msr.parent().unwrap()).unwrap();
        let mut registers = vec![0; 0x1b];
        registers.extend_from_slice(&0xfee0_0900u64.to_le_bytes());
        std::fs::write(&msr, registers).unwrap();
        assert_eq!(host.apic().verdict, Verdict::Ok);
    }

    #[test]
    fn nothing_readable() {
        let (_work, host) = host(&[]);
        assert!(host.checks().len() >= 9);
    }

    #[test]
    fn siblings_are_named_once() {
        let path = |n| format!("sys/devices/system/cpu/cpu{n}/topology/thread_siblings_list");
        let (_work, host) = host(&[
            ("sys/devices/system/cpu/online", "0-3"),
            (&path(0), "0,2"),
            (&path(1), "1,3"),
            (&path(2), "0,2"),
            (&path(3), "1,3"),
        ]);
        assert_eq!(host.siblings().found, "these share a core: 0,2 1,3");
    }

    #[test]
    fn the_back_end() {
        let (_work, loaded) = host(&[("sys/module/shimos_backend/refcnt", "0")]);
        assert_eq!(shared_devices(&loaded).verdict, Verdict::Ok);
        let (_work, none) = host(&[("proc/sys/kernel/osrelease", "0.0-none")]);
        let check = shared_devices(&none);
        assert_eq!(check.verdict, Verdict::Warn);
        assert!(check.fix.unwrap().contains("linux-headers-0.0-none"));
    }

    #[test]
    fn kloaders_words() {
        let mut info = Info {
            version: ABI_VERSION,
            host_ok: true,
            ..Info::default()
        };
        assert_eq!(judge(&info).verdict, Verdict::Ok);
        info.host_ok = false;
        info.host_problem = "no!".into();
        assert!(judge(&info).found.contains("no!"));
        info.version = 7;
        assert!(judge(&info).found.contains("version 7"));
    }
}
