//! Whether this CPU and kernel can run programs in kernel mode: for the doctor.
//!
//! One line for each thing that kernel/kml/arch/x86/support.c refuses, found by
//! what user space can see of it. What cannot be seen from here, symbols that are
//! not those the module knows for example, is what it said in the kernel's log.

use super::report::Report;
use super::{MODULE, available, caller, directory, loaded, roots_own};
use crate::arch::Architecture;
use crate::boot::module_file;
use crate::system::System;
use crate::system::host::Host;
use crate::system::kernel_log;
use crate::ui::check::{self, Check, Verdict};
use crate::ui::output::printable;

/// Check CPU, kernel and module.
pub fn report(architecture: &Architecture, system: &System) -> Report {
    if let Err(why) = available(architecture) {
        return Report {
            possible: false,
            loaded: false,
            // Nothing can be done about it, and nothing else needs it.
            checks: vec![Check::ok("architecture", why.to_string())],
        };
    }
    let kernel = Kernel::of(system);
    let loaded = loaded(system);
    let mut checks = Vec::new();
    // The module has looked itself, and better.
    if !loaded {
        checks.extend(kernel.checks());
    }
    checks.push(kernel.lockdown());
    checks.push(kernel.module(loaded));
    checks.push(kernel.directory(loaded));
    Report {
        possible: check::count(&checks, Verdict::Fail) == 0,
        loaded,
        checks,
    }
}

/// What this kernel says about itself, read once.
struct Kernel<'a> {
    system: &'a System,
    release: String,
    flags: Vec<String>,
    config: String,
    log: String,
}

const PARAMETER: &str = "to GRUB_CMDLINE_LINUX in /etc/default/grub, then: update-grub && reboot";

impl<'a> Kernel<'a> {
    fn of(system: &'a System) -> Self {
        let cpuinfo = system.read("proc/cpuinfo").unwrap_or_default();
        let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
        let release = system.read("proc/sys/kernel/osrelease").unwrap_or_default();
        Kernel {
            system,
            flags: flags
                .unwrap_or_default()
                .split_whitespace()
                .map(String::from)
                .collect(),
            config: system
                .read(format!("boot/config-{release}"))
                .unwrap_or_default(),
            log: kernel_log::read(&system.path("")).unwrap_or_default(),
            release,
        }
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }

    /// The CPU may have what this kernel was built without.
    fn built_without(&self, option: &str) -> bool {
        let line = format!("# {option} is not set");
        self.config.lines().any(|l| l == line)
    }

    /// In the order of support.c; before that the build decides, kernel/kml/Kbuild.
    fn checks(&self) -> Vec<Check> {
        vec![
            self.version(),
            self.real_time(),
            self.xen(),
            self.isolation(),
            self.encryption(),
            self.fred(),
            self.lass(),
            self.ibrs(),
            self.branch_tracking(),
            self.shadow_stacks(),
            self.kvm(),
        ]
    }

    /// A release that cannot be read is the module's matter.
    fn version(&self) -> Check {
        const NEWEST: (u32, u32) = (6, 12);
        let mut numbers = self.release.split(['.', '-']).map_while(|n| n.parse().ok());
        let found = numbers.next().zip(numbers.next());
        judge(
            "kernel",
            found.is_some_and(|found| found > NEWEST),
            "one that is known",
            &format!(
                "{} is too new: its entry code is not known yet",
                printable(&self.release)
            ),
            "boot 6.1 or 6.12 for trusted programs; all else works",
        )
    }

    fn real_time(&self) -> Check {
        let version = self.system.read("proc/version").unwrap_or_default();
        let flag = self.system.read("sys/kernel/realtime");
        judge(
            "real-time kernel",
            version.contains("PREEMPT_RT") || flag.as_deref() == Some("1"),
            "no",
            "it is one: there the module could sleep where it must not",
            "boot a kernel without PREEMPT_RT",
        )
    }

    fn xen(&self) -> Check {
        let read = |file| self.system.read(format!("sys/hypervisor/{file}"));
        let pv =
            read("type").as_deref() == Some("xen") && read("guest_type").as_deref() == Some("PV");
        judge(
            "Xen PV",
            pv,
            "no",
            "this is such a guest: its kernel does not run in ring 0",
            "make it a PVH or HVM guest",
        )
    }

    fn isolation(&self) -> Check {
        let path = "sys/devices/system/cpu/vulnerabilities/meltdown";
        let meltdown = self.system.read(path).unwrap_or_default();
        judge(
            "PTI",
            self.has("pti") || meltdown.contains("Mitigation: PTI"),
            "off",
            "page table isolation is on: programs' page tables lack the kernel",
            &format!("if every program on this machine is to be trusted, add pti=off {PARAMETER}"),
        )
    }

    fn encryption(&self) -> Check {
        let guest = ["sev", "sev_es", "sev_snp"].iter().any(|f| self.has(f));
        let on = self.has("sme")
            || self.has("tdx_guest")
            || (self.has("hypervisor") && guest)
            || self.log.contains("Memory Encryption Features active:");
        judge(
            "memory encryption",
            on,
            "off",
            "it is on (SME, SEV or TDX)",
            "use a machine without: mem_encrypt=off for SME, another kind of guest for SEV and TDX",
        )
    }

    fn fred(&self) -> Check {
        judge(
            "FRED",
            self.has("fred") && !self.built_without("CONFIG_X86_FRED"),
            "off",
            "it is on: events do not use the interrupt descriptor table",
            &format!("add fred=off {PARAMETER}"),
        )
    }

    fn lass(&self) -> Check {
        judge(
            "LASS",
            self.has("lass"),
            "off",
            "it is on: kernel mode must not use programs' addresses",
            &format!("add clearcpuid=lass {PARAMETER}"),
        )
    }

    fn ibrs(&self) -> Check {
        let path = "sys/devices/system/cpu/vulnerabilities/spectre_v2";
        let spectre = self.system.read(path).unwrap_or_default();
        judge(
            "legacy IBRS",
            // "Enhanced IBRS" is another thing.
            spectre.starts_with("Mitigation: IBRS"),
            "off",
            "it is on, which changes with each system call",
            &format!("add spectre_v2=retpoline {PARAMETER}"),
        )
    }

    fn branch_tracking(&self) -> Check {
        judge(
            "IBT",
            self.has("ibt") && !self.built_without("CONFIG_X86_KERNEL_IBT"),
            "off",
            "indirect branch tracking is on, and programs lack its marks",
            &format!("add ibt=off {PARAMETER}"),
        )
    }

    fn shadow_stacks(&self) -> Check {
        judge(
            "user shadow stacks",
            self.has("user_shstk"),
            "off",
            "programs may have them",
            &format!("add clearcpuid=shstk {PARAMETER}"),
        )
    }

    fn kvm(&self) -> Check {
        judge(
            "KVM of Intel CPUs",
            self.system.path("sys/module/kvm_intel").exists(),
            "not loaded",
            "it is loaded, and would take our entry for the kernel's",
            "rmmod kvm_intel; it cannot be loaded again while shimos_kml is",
        )
    }

    fn lockdown(&self) -> Check {
        const NAME: &str = "lockdown";
        match caller::lockdown(self.system) {
            None => Check::ok(NAME, "none"),
            Some(text) => Check::fail(
                NAME,
                format!("the kernel is locked down: {text}"),
                caller::UNLOCK,
            ),
        }
    }

    fn module(&self, loaded: bool) -> Check {
        const NAME: &str = "module";
        if loaded {
            return Check::ok(
                NAME,
                format!("{MODULE} is loaded: CPU and kernel can do it"),
            );
        }
        if let Some(text) = self.refusal() {
            return Check::fail(
                NAME,
                format!("not loaded, and when it was last tried it said: {text}"),
                "do what it says, or see the other lines",
            );
        }
        match module_file::find(&self.release, MODULE) {
            Some(path) => Check::warn(
                NAME,
                format!("not loaded; it is {}", path.display()),
                format!("modprobe {MODULE}"),
            ),
            None => Check::fail(
                NAME,
                format!("there is none for the running kernel {}", self.release),
                module_file::advice(&Host::new(self.system.path(""))),
            ),
        }
    }

    /// What the module last said when it would not be loaded. What it says of the
    /// trusted directory is left out: that is looked at now.
    fn refusal(&self) -> Option<String> {
        let mark = format!(";{MODULE}: ");
        let said = |line: &'_ str| Some(line.split_once(&mark)?.1.to_string());
        let last = self.log.lines().filter_map(said).next_back()?;
        let text = last.strip_prefix("refused: ").unwrap_or(&last);
        let of_directory = text.starts_with("no directory ") || text.contains(" must be root's");
        (!of_directory).then(|| printable(text))
    }

    fn directory(&self, loaded: bool) -> Check {
        const NAME: &str = "trusted directory";
        let path = directory(self.system);
        let shown = path.display();
        let inside = path.strip_prefix("/").unwrap_or(&path);
        match self.system.path(inside).metadata() {
            Ok(found) if found.is_dir() && roots_own(&found) => {
                Check::ok(NAME, format!("programs in {shown} run in kernel mode"))
            }
            Ok(found) if found.is_dir() => Check::warn(
                NAME,
                format!("others than root may write {shown}"),
                format!("chown root {shown} && chmod go-w {shown}"),
            ),
            _ if loaded => Check::warn(
                NAME,
                format!("{shown} is not there any more"),
                format!("mkdir -m 755 {shown} && modprobe -r {MODULE} && modprobe {MODULE}"),
            ),
            _ => Check::warn(
                NAME,
                format!("there is no {shown}"),
                format!("mkdir -m 755 {shown}"),
            ),
        }
    }
}

fn judge(name: &'static str, refused: bool, good: &str, bad: &str, fix: &str) -> Check {
    match refused {
        true => Check::fail(name, bad, fix),
        false => Check::ok(name, good),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{AARCH64, X86_64};
    use crate::system::example;

    /// What is refused on a kernel with these files, as the doctor says it.
    fn refused(files: &[(&str, &str)]) -> Vec<String> {
        let (_work, system) = example(files);
        let kernel = Kernel::of(&system);
        let mut checks = kernel.checks();
        checks.push(kernel.lockdown());
        checks
            .iter()
            .filter(|c| c.verdict == Verdict::Fail)
            .map(|c| format!("{}: {}\n    {}", c.name, c.found, c.fix.as_ref().unwrap()))
            .collect()
    }

    const CPU: &str = "sys/devices/system/cpu/vulnerabilities";

    #[test]
    fn a_good_kernel() {
        let meltdown = format!("{CPU}/meltdown");
        let spectre = format!("{CPU}/spectre_v2");
        let files = [
            ("proc/cpuinfo", "flags\t\t: fpu svm sev smep smap\n"),
            (
                "proc/version",
                "Linux version 6.12 #1 SMP PREEMPT_DYNAMIC\n",
            ),
            ("sys/kernel/security/lockdown", "[none] integrity\n"),
            (meltdown.as_str(), "Not affected\n"),
            (
                spectre.as_str(),
                "Mitigation: Enhanced / Automatic IBRS; IBPB\n",
            ),
            ("dev/kmsg", "6,0,0,-;Linux version 6.12\n"),
        ];
        assert_eq!(refused(&files), [] as [String; 0]);
        assert_eq!(
            refused(&[]),
            [] as [String; 0],
            "the module has the last word"
        );
    }

    #[test]
    fn each_reason_by_itself() {
        let flags = |flags: &'static str| ("proc/cpuinfo", flags);
        let meltdown = format!("{CPU}/meltdown");
        let spectre = format!("{CPU}/spectre_v2");
        let cases = [
            &[("proc/sys/kernel/osrelease", "6.13-rc1\n")][..],
            &[("proc/sys/kernel/osrelease", "7.3.4+deb13-cloud-amd64\n")],
            &[("proc/version", "#1 SMP PREEMPT_RT Debian")],
            &[("sys/kernel/realtime", "1\n")],
            &[
                ("sys/hypervisor/type", "xen\n"),
                ("sys/hypervisor/guest_type", "PV\n"),
            ],
            &[flags("flags : fpu pti")],
            &[(meltdown.as_str(), "Mitigation: PTI\n")],
            &[flags("flags : fpu sme")],
            &[flags("flags : tdx_guest")],
            &[flags("flags : hypervisor sev_es")],
            &[(
                "dev/kmsg",
                "6,1,2,-;Memory Encryption Features active: AMD SEV SEV-ES\n",
            )],
            &[flags("flags : fred")],
            &[flags("flags : lass")],
            &[(spectre.as_str(), "Mitigation: IBRS; IBPB: conditional\n")],
            &[flags("flags : ibt")],
            &[flags("flags : user_shstk")],
            &[("sys/module/kvm_intel/refcnt", "0\n")],
            &[(
                "sys/kernel/security/lockdown",
                "none [integrity] confidentiality\n",
            )],
            &[("proc/cmdline", "quiet lockdown=confidentiality\n")],
        ];
        let said = cases.map(|files| {
            let said = refused(files);
            assert_eq!(said.len(), 1, "{files:?}: {said:?}");
            let given = files
                .iter()
                .map(|(path, text)| format!("{path}: {}", text.trim_end()));
            let given = given.collect::<Vec<_>>().join(", ");
            format!("{given}\n  {}", said.concat().replace('\n', "\n  "))
        });
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn what_the_kernel_does_not_use() {
        let files = [
            ("proc/cpuinfo", "flags : ibt fred\n"),
            ("proc/sys/kernel/osrelease", "6.1.0-1\n"),
            (
                "boot/config-6.1.0-1",
                "# CONFIG_X86_KERNEL_IBT is not set\n# CONFIG_X86_FRED is not set\n",
            ),
            ("sys/hypervisor/type", "xen\n"),
            ("sys/hypervisor/guest_type", "PVH\n"),
        ];
        assert_eq!(refused(&files), [] as [String; 0]);
    }

    fn module(files: &[(&str, &str)]) -> Check {
        let (_work, system) = example(files);
        Kernel::of(&system).module(loaded(&system))
    }

    #[test]
    fn what_the_module_said() {
        let symbols = "the kernel's system call entry is not one that is known (do_syscall_64)";
        let log = format!(
            "6,1,2,-;shimos_kml: refused: FRED\n6,3,4,-;shimos_kml: refused: {symbols}\n SUBSYSTEM=x\n"
        );
        let check = module(&[("dev/kmsg", &log)]);
        assert_eq!(check.verdict, Verdict::Fail);
        assert!(check.found.ends_with(symbols), "{}", check.found);
        // Loaded since then.
        let check = module(&[("dev/kmsg", &log), ("sys/module/shimos_kml/refcnt", "0\n")]);
        assert_eq!(check.verdict, Verdict::Ok);
        let none = ("proc/sys/kernel/osrelease", "0.0-none\n");
        let directory = "6,1,2,-;shimos_kml: refused: no directory /trusted (mkdir …)\n";
        let check = module(&[none, ("dev/kmsg", directory)]);
        assert!(check.found.contains("there is none"), "{}", check.found);
        assert!(check.fix.unwrap().contains("boot one of Debian's kernels"));
    }

    #[test]
    fn the_directory() {
        let check = |files: &[(&str, &str)]| {
            let (_work, system) = example(files);
            Kernel::of(&system).directory(loaded(&system))
        };
        let missing = check(&[]);
        assert_eq!(missing.fix.as_deref(), Some("mkdir -m 755 /trusted"));
        let parameter = ("sys/module/shimos_kml/parameters/directory", "/opt/ring0\n");
        assert!(check(&[parameter]).found.contains("/opt/ring0"));
        if nix::unistd::geteuid().is_root() {
            let there = check(&[parameter, ("opt/ring0/program", "")]);
            assert_eq!(there.verdict, Verdict::Ok);
        }
    }

    #[test]
    fn words() {
        let (_work, system) = example(&[
            ("proc/cpuinfo", "flags : pti ibt\n"),
            (
                "dev/kmsg",
                "6,1,2,-;shimos_kml: refused: page table isolation\n",
            ),
        ]);
        assert!(!report(&AARCH64, &system).possible);
        let report = report(&X86_64, &system);
        assert!(!report.possible && !report.loaded);
        let text = report.text();
        assert!(text.contains("FAIL  PTI"), "{text}");
        assert!(text.contains("pti=off"), "{text}");
        assert!(text.ends_with("3 things are against it."), "{text}");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["possible"], false);
    }
}
