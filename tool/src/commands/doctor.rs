//! `shimos doctor`: what this machine can do and what is missing.

mod host;
mod mend;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::abi::ABI_VERSION;
use crate::arch::{Architecture, NATIVE};
use crate::boot::{image, initrd, module_file, modules};
use crate::cli;
use crate::devices;
use crate::error::{Error, Result, io_text};
use crate::kml::{report, support};
use crate::partition::kloader::{self, KLoader};
use crate::partition::{Device, Info};
use crate::system::System;
use crate::system::host::Host;
use crate::ui::check::{self, Check, Verdict};
use crate::ui::output;
use crate::units::{count, size};

#[derive(Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
    kernel_mode: report::Report,
}

/// Check everything, and fail if something that is needed is missing.
pub fn run(args: &cli::Doctor) -> Result<()> {
    let host = Host::new("/");
    let mut checks = vec![root()];
    checks.extend(host.checks(NATIVE));
    checks.extend(device(&host));
    checks.push(shared_devices(&host));
    checks.extend(partition_parts(Path::new("/boot")));
    let ok = checks.iter().all(|c| c.verdict != Verdict::Fail);
    let parameters: Vec<_> = checks.iter().filter_map(|c| c.parameter).collect();
    let kernel_mode = support::report(NATIVE, &System::real());
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
    if args.fix && mend::add_parameters(&host.root, &parameters, args.yes)? {
        return Ok(());
    }
    if ok { Ok(()) } else { Err(Error::Reported(1)) }
}

fn text(checks: &[Check]) -> String {
    let mut lines = check::lines(checks);
    lines.push(String::new());
    let number = |v| check::count(checks, v);
    lines.push(match (number(Verdict::Fail), number(Verdict::Warn)) {
        (0, 0) => "This machine is ready.".into(),
        (0, n) => format!(
            "This machine is ready; {} to know.",
            count::of(n, "thing", "things")
        ),
        (n, _) => format!(
            "Not ready: {} missing.",
            count::of(n, "thing is", "things are")
        ),
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

/// Is KLoader there, does it speak our language, and what does it say?
fn device(host: &Host) -> Vec<Check> {
    match ask(host) {
        Ok(info) if info.version == ABI_VERSION => {
            let mut checks = vec![
                judge(&info),
                sharing(NATIVE, &info),
                guarding(NATIVE, &info),
            ];
            checks.extend(forced_stop(&info));
            checks
        }
        Ok(info) => vec![judge(&info)],
        Err(check) => vec![check],
    }
}

fn ask(host: &Host) -> Result<Info, Check> {
    const NAME: &str = "KLoader";
    let loader = match KLoader::try_open() {
        Ok(loader) => loader,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(match module_file::find(&host.release(), "shimos_kloader") {
                Some(path) => Check::fail(
                    NAME,
                    format!("not loaded; the module is {}", path.display()),
                    "modprobe shimos_kloader",
                ),
                None => no_module(NAME, host),
            });
        }
        Err(e) => {
            return Err(Check::fail(
                NAME,
                format!("cannot open {}: {}", kloader::PATH, io_text(&e)),
                "use root",
            ));
        }
    };
    loader.info().map_err(|refusal| {
        Check::fail(
            NAME,
            format!("it does not answer: {refusal}"),
            "install tool and modules of the same version",
        )
    })
}

fn no_module(name: &'static str, host: &Host) -> Check {
    Check::fail(
        name,
        format!(
            "there is no module for the running kernel {}",
            host.release()
        ),
        module_file::advice(host),
    )
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
            "ABI version {}, {}, at least {} each",
            info.version,
            count::of(info.partitions, "partition", "partitions"),
            size::show(info.memory_min)
        ),
    )
}

/// What `shimos kill` can do with a kernel that does not listen. Said only where it is less
/// than stopping its CPUs.
fn forced_stop(info: &Info) -> Option<Check> {
    (!info.stops_cpus).then(|| {
        Check::ok(
            "forced stop",
            "by overwriting the partition's kernel: no CPU can be stopped from outside here, and a partition whose CPU goes on is stuck and keeps what it has",
        )
    })
}

/// Can a partition's kernel be kept from what is not its own? None needs it.
fn guarding(architecture: &Architecture, info: &Info) -> Check {
    const NAME: &str = "guarded partitions";
    if let Some(why) = architecture.without.guard {
        return Check::ok(NAME, format!("none, so no --guarded: {why}"));
    }
    if info.guard_ok {
        return Check::ok(NAME, "possible");
    }
    Check::warn(
        NAME,
        format!("none, so no --guarded: {}", info.guard_problem),
        "do what it says, if you want partitions that cannot touch others; all else works",
    )
}

/// Can a CPU be shared with a real-time program? Partitions with CPUs of their own do
/// not need it, and few machines can.
fn sharing(architecture: &Architecture, info: &Info) -> Check {
    const NAME: &str = "shared CPUs";
    if let Some(why) = architecture.without.shared_cpus {
        return Check::ok(NAME, format!("none, so no --share-cpus: {why}"));
    }
    if !info.rt_ok {
        return Check::warn(
            NAME,
            format!("none, so no --share-cpus: {}", info.rt_problem),
            "do what it says, if you want to run real-time programs; all else works",
        );
    }
    Check::ok(
        NAME,
        format!(
            "possible, with real-time programs of {} to {}",
            size::show(info.rt_memory_min),
            size::show(info.rt_memory_max)
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
    let version = match image::open(path) {
        Ok((_, image)) => image.version,
        Err(e) => return Check::warn(NAME, e.to_string(), "it cannot be used"),
    };
    let missing: Vec<&str> = ["shimos_ikc", "shimos_agent"]
        .into_iter()
        .filter(|module| module_file::find(&version, module).is_none())
        .collect();
    let build = module_file::build_commands(&version);
    if !missing.is_empty() {
        let found = format!("{version} has no {}", missing.join(" and "));
        return Check::warn(NAME, found, build);
    }
    match modules::missing(&version) {
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
    if host.root.join("sys/module").join(devices::MODULE).exists() {
        return Check::ok(NAME, format!("{} is loaded", devices::MODULE));
    }
    match module_file::find(&release, devices::MODULE) {
        Some(path) => Check::ok(
            NAME,
            format!("loaded when they are needed: {}", path.display()),
        ),
        None => Check::warn(
            NAME,
            format!(
                "there is no module {} for the running kernel {release}: no --disk and --net",
                devices::MODULE
            ),
            module_file::advice(host),
        ),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::arch::{AARCH64, ALL, X86_64};

    pub fn host(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
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

    #[test]
    fn a_crash_kernel() {
        let of = |files: &[(&str, &str)]| {
            let (_work, host) = host(files);
            host.crash_kernel().map(|check| check.verdict)
        };
        let size = ("sys/kernel/kexec_crash_size", "268435456\n");
        let settings = |text| ("etc/default/kdump-tools", text);
        assert_eq!(of(&[("sys/kernel/kexec_crash_size", "0\n")]), None);
        assert_eq!(of(&[size]), Some(Verdict::Ok));
        let out = settings("#KDUMP_CMDLINE_APPEND=\"irqpoll\"\n");
        assert_eq!(of(&[size, out]), Some(Verdict::Ok));
        let all = settings("KDUMP_CMDLINE_APPEND=\"irqpoll\"\n");
        assert_eq!(of(&[size, all]), Some(Verdict::Warn));
    }

    fn verdicts(host: &Host) -> Vec<(&'static str, Verdict)> {
        host.checks(&X86_64)
            .iter()
            .map(|c| (c.name, c.verdict))
            .filter(|(_, v)| *v != Verdict::Ok)
            .collect()
    }

    #[test]
    fn a_good_host() {
        let (_work, host) = host(GOOD);
        assert_eq!(verdicts(&host), []);
        assert!(text(&host.checks(&X86_64)).ends_with("This machine is ready."));
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
                ("CPUs", Fail),
                ("lockdown", Fail),
                ("memory", Warn),
                ("CONFIG_CONTIG_ALLOC", Fail),
                ("no_ipi_broadcast", Fail),
                ("TSC", Warn),
            ]
        );
        let shown = text(&host.checks(&X86_64));
        assert!(shown.contains("shimos doctor --fix"));
        assert!(shown.ends_with("Not ready: 4 things are missing."));
    }

    #[test]
    fn nothing_readable() {
        let (_work, host) = host(&[]);
        for architecture in ALL {
            assert!(host.checks(architecture).len() >= 9);
        }
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
        assert!(check.fix.unwrap().contains("boot one of Debian's kernels"));
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
        assert_eq!(sharing(&X86_64, &info).verdict, Verdict::Warn, "no failure");
        info.rt_problem = "no SVM".into();
        assert!(
            sharing(&X86_64, &info)
                .found
                .ends_with("--share-cpus: no SVM")
        );
        info.rt_ok = true;
        info.rt_memory_min = 1 << 20;
        info.rt_memory_max = 1 << 30;
        let check = sharing(&X86_64, &info);
        assert_eq!(check.verdict, Verdict::Ok);
        assert!(check.found.ends_with("of 1 MiB to 1 GiB"));
        assert_eq!(
            guarding(&X86_64, &info).verdict,
            Verdict::Warn,
            "no failure"
        );
        info.guard_problem = "no SVM".into();
        assert!(
            guarding(&X86_64, &info)
                .found
                .ends_with("--guarded: no SVM")
        );
        info.guard_ok = true;
        assert_eq!(guarding(&X86_64, &info).verdict, Verdict::Ok);
        info.guard_ok = false;
        for check in [sharing(&AARCH64, &info), guarding(&AARCH64, &info)] {
            assert_eq!(check.verdict, Verdict::Ok, "nothing can be done about it");
            assert!(check.found.contains("x86-64 only"));
        }
        assert!(forced_stop(&info).unwrap().found.contains("stuck"));
        info.stops_cpus = true;
        assert_eq!(forced_stop(&info), None);
        info.version = ABI_VERSION + 1;
        let theirs = format!("version {}", info.version);
        assert!(judge(&info).found.contains(&theirs));
    }
}
