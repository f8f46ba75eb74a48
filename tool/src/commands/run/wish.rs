//! What the user wants, from the command line and the file.

use std::path::PathBuf;

use super::cpus::Cpus;
use super::rt;
use crate::arch::NATIVE;
use crate::boot::cmdline;
use crate::boot::image;
use crate::cli;
use crate::config::Config;
use crate::devices::served::Served;
use crate::devices::spec::Wanted;
use crate::error::{Error, Result};
use crate::partition::{Info, Kind};
use crate::partition::{OnChange, OnReboot};
use crate::system::resctrl::Share;
use crate::units::budget::Budget;
use crate::units::{cpulist, pci_address, size};

/// A partition as the user wants it.
#[derive(Debug)]
pub struct Wish {
    pub name: String,
    pub kind: Kind,
    pub cpus: Cpus,
    pub max_cpus: Option<u32>,
    pub budget: Option<Budget>,
    pub priority: Option<u32>,
    pub protected: bool,
    pub guarded: bool,
    pub watch: Option<String>,
    pub on_change: OnChange,
    pub memory: u64,
    pub node: Option<u32>,
    pub share: Share,
    pub kernel: PathBuf,
    pub initrd: Option<PathBuf>,
    pub cmdline: String,
    pub on_reboot: OnReboot,
    pub pci: Vec<pci_address::Given>,
    pub with_agent: bool,
    pub wanted: Wanted,
}

impl Wish {
    /// Merge the command line with a file; the error names what is missing or cannot be.
    pub fn from(args: &cli::Run, file: Config) -> Result<Self> {
        let kind = kind(args, &file);
        rt::check_options(kind, args, &file)?;
        let budget = match args.budget {
            Some(budget) => Some(budget),
            None => file.budget()?,
        };
        let priority = match args.priority {
            Some(priority) => Some(priority),
            None => file.priority()?,
        };
        let wanted = wanted(args, &file)?;
        let missing = |what: &str, option: &str| {
            let error = Error::new(format!("{what} is not given"));
            match &args.file {
                Some(path) => error.hint(format!(
                    "give {option}, or write it into {}",
                    path.display()
                )),
                None => error.hint(format!("give {option}")),
            }
        };
        let cpus = match (kind, own_cpus(args, &file)?) {
            (Kind::Rt, _) => Cpus::List(rt::cpus(args, &file)?),
            (Kind::Linux, Some(cpus)) => cpus,
            (Kind::Linux, None) => {
                let options = "--cpus 2 for any two, or --cpuset 2-3 for these";
                return Err(missing("which CPUs to take", options));
            }
        };
        let memory = match (args.memory, &file.memory) {
            (Some(bytes), _) => bytes,
            (None, Some(text)) => size::parse(text).map_err(Error::new)?,
            (None, None) => {
                let example = match kind {
                    Kind::Linux => "--memory 1G",
                    Kind::Rt => "--memory 8M",
                };
                return Err(missing("how much memory to take", example));
            }
        };
        let pci = match args.pci.as_slice() {
            [] => file.pci()?,
            list => list.to_vec(),
        };
        let cmdline = args.cmdline.clone().or(file.cmdline).unwrap_or_default();
        let problems = cmdline::problems(NATIVE, &cmdline);
        if !problems.is_empty() {
            return Err(Error::new(format!(
                "the kernel command line would break containment: {}",
                problems.join("; ")
            ))
            .hint("leave it out: KLoader sets what a partition needs"));
        }
        let kernel = match (args.kernel.clone().or(file.kernel), kind) {
            (Some(path), _) => path,
            (None, Kind::Linux) => image::of_host().map_err(|e| e.or_hint("give --kernel"))?,
            (None, Kind::Rt) => {
                return Err(missing("the real-time program", "--kernel control.elf"));
            }
        };
        Ok(Wish {
            name: args
                .name
                .clone()
                .or(file.name)
                .ok_or_else(|| missing("the name", "NAME"))?,
            kind,
            cpus,
            budget,
            priority,
            protected: args.protected || file.protected == Some(true),
            guarded: args.guarded || file.guarded == Some(true),
            watch: args.watch.clone().or(file.watch),
            on_change: args.on_change.or(file.on_change).unwrap_or(OnChange::Stop),
            memory,
            max_cpus: args.max_cpus.or(file.max_cpus),
            node: args.node.or(file.node),
            share: Share {
                l3: args.l3.or(file.l3),
                // all of it is no limit
                mb: args.mb.or(file.mb).filter(|percent| *percent < 100),
            },
            kernel,
            initrd: args.initrd.clone().or(file.initrd),
            cmdline,
            on_reboot: args.on_reboot.or(file.on_reboot).unwrap_or(OnReboot::Stop),
            pci,
            with_agent: !args.no_agent,
            wanted,
        })
    }
}

/// Tell what it shall be. The command line goes first, as everywhere.
pub fn kind(args: &cli::Run, file: &Config) -> Kind {
    let takes = args.cpus.is_some() || args.cpuset.is_some();
    let shares = args.share_cpus.is_some() || (!takes && file.share_cpus.is_some());
    if shares { Kind::Rt } else { Kind::Linux }
}

/// The CPUs to take, from the command line or the file.
fn own_cpus(args: &cli::Run, file: &Config) -> Result<Option<Cpus>> {
    let given = args.cpuset.as_ref().map(|list| Cpus::List(list.0.clone()));
    let count = args.cpus.map(|count| match &args.among {
        Some(list) => Cpus::Among(count, list.0.clone()),
        None => Cpus::Count(count),
    });
    if let Some(cpus) = given.or(count) {
        return Ok(Some(cpus));
    }
    match &file.cpuset {
        Some(text) => Ok(Some(Cpus::List(cpulist::parse(text).map_err(Error::new)?))),
        None => Ok(file.cpus.map(Cpus::Count)),
    }
}

/// The devices to share, from the command line or the file.
fn wanted(args: &cli::Run, file: &Config) -> Result<Wanted> {
    let mut wanted = args.share.wanted();
    if wanted.disks.is_empty() {
        wanted.disks = file.disks()?;
    }
    if wanted.nets.is_empty() {
        wanted.nets = file.nets()?;
    }
    wanted.served = served(args, file)?;
    if args.no_agent && !wanted.is_empty() {
        return Err(Error::new(
            "shared devices need modules in the partition that --no-agent leaves out",
        )
        .hint("leave out --no-agent, or the devices"));
    }
    Ok(wanted)
}

/// Each kind from the command line, or else from the file.
fn served(args: &cli::Run, file: &Config) -> Result<Vec<Served>> {
    let share = &args.share;
    let mut all = match share.fs.as_slice() {
        [] => file.fs()?,
        list => list.to_vec(),
    };
    match &share.vsock {
        Some(vsock) => all.push(vsock.clone()),
        None => all.extend(file.vsock()?),
    }
    match share.vhost_user.as_slice() {
        [] => all.extend(file.vhost_user()?),
        list => all.extend_from_slice(list),
    }
    Ok(all)
}

/// How much memory there can be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub min: u64,
    pub max: u64,
    pub align: u64,
}

impl Limits {
    /// Return the limits of a kind's memory, in bytes.
    pub fn of(info: &Info, kind: Kind) -> Self {
        let (min, max) = match kind {
            Kind::Linux => (info.memory_min, u64::MAX),
            Kind::Rt => (info.rt_memory_min, info.rt_memory_max),
        };
        Limits {
            min,
            max,
            align: info.memory_align,
        }
    }

    /// Round `bytes` up; an error if that is too little or too much.
    pub fn round(self, bytes: u64) -> Result<u64> {
        let shown = size::show(bytes);
        if bytes < self.min {
            return Err(Error::new(format!(
                "{shown} of memory is too little: a partition needs at least {}",
                size::show(self.min)
            )));
        }
        match bytes.checked_next_multiple_of(self.align.max(1)) {
            Some(whole) if whole <= self.max => Ok(whole),
            Some(_) => Err(Error::new(format!(
                "{shown} of memory is too much: a real-time program gets at most {}",
                size::show(self.max)
            ))),
            None => Err(Error::new(format!("{shown} of memory is too much"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::run::tests::{args, hint};
    use crate::config;
    use crate::error::tests::{errors, failures, told};
    use std::path::Path;

    fn wish_of(line: &str) -> Result<Wish> {
        let args = args(line);
        let file = match &args.file {
            Some(path) => config::read(path)?,
            None => Config::default(),
        };
        Wish::from(&args, file)
    }

    fn wish(line: &str) -> Result<Wish> {
        wish_of(&format!("{line} --kernel /k"))
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn file_and_command_line_together() {
        let file = file(
            "name='db'\ncpuset='1'\nmemory='2G'\ncmdline='quiet'\non_reboot='restart'\n[[pci]]\naddress='01:00.0'\n",
        );
        let path = file.path().display();
        let w = wish(&format!("--file {path} --cpuset 3")).unwrap();
        assert_eq!((w.name.as_str(), w.memory), ("db", 2 << 30));
        assert_eq!((w.kind, w.cpus), (Kind::Linux, Cpus::List(vec![3])));
        assert_eq!(w.on_reboot, OnReboot::Restart);
        assert_eq!(w.cmdline, "quiet");
        assert_eq!(w.pci, [pci_address::given("0000:01:00.0").unwrap()]);
        let w = wish(&format!("--file {path} --pci 02:00.0 --pci 02:00.1")).unwrap();
        assert_eq!(w.pci.len(), 2);
        assert_eq!(wish(&format!("web --file {path}")).unwrap().name, "web");
    }

    #[test]
    fn what_is_missing() {
        let text = errors(
            &[
                "web --memory 1G",
                "web --cpuset 1",
                "ctl --share-cpus 1",
                "web --cpuset 1 --memory 1G --cmdline panic=1",
                "web --cpuset 1 --memory 1G --disk a --no-agent",
                "ctl --share-cpus 2-3 --memory 8M",
                "ctl --memory 8M --protected",
                "web --memory 1G --budget 40%",
            ],
            |line| wish(line).map_err(|error| told(&error)),
        );
        insta::assert_snapshot!(text);
        let error = wish_of("ctl --share-cpus 1 --memory 8M").unwrap_err();
        assert_eq!(
            told(&error),
            "the real-time program is not given\n    give --kernel control.elf"
        );
    }

    #[test]
    fn cpus_by_number_or_by_count() {
        let cpus = |line: &str| wish(&format!("web --memory 1G {line}")).map(|w| w.cpus);
        assert_eq!(cpus("--cpus 2"), Ok(Cpus::Count(2)));
        let (count, list) = (file("cpus=3\n"), file("cpuset='1'\n"));
        let (count, list) = (count.path().display(), list.path().display());
        assert_eq!(cpus(&format!("--file {count}")), Ok(Cpus::Count(3)));
        assert_eq!(cpus(&format!("--file {list}")), Ok(Cpus::List(vec![1])));
        let both = cpus(&format!("--file {count} --cpuset 2-3"));
        assert_eq!(both, Ok(Cpus::List(vec![2, 3])));
        assert_eq!(cpus(&format!("--file {list} --cpus 1")), Ok(Cpus::Count(1)));
        let shares = file("share_cpus='1'\n");
        let line = format!("--file {} --cpus 1", shares.path().display());
        assert_eq!(cpus(&line), Ok(Cpus::Count(1)));
    }

    #[test]
    fn devices_from_file_and_command_line() {
        let file =
            file("[[disk]]\npath='/dev/vdb'\n[[disk]]\npath='a'\nro=true\n[[net]]\nbridge='br0'\n");
        let line = format!(
            "web --cpuset 1 --memory 1G --file {}",
            file.path().display()
        );
        let counts = |w: Wish| (w.wanted.disks.len(), w.wanted.nets.len());
        assert_eq!(counts(wish(&line).unwrap()), (2, 1));
        assert_eq!(
            counts(wish(&format!("{line} --disk b")).unwrap()),
            (1, 1),
            "instead of the file's"
        );
        let error = wish(&format!("{line} --no-agent")).unwrap_err();
        assert!(error.to_string().contains("--no-agent"), "{error}");
    }

    #[test]
    fn a_real_time_program() {
        let w = wish("ctl --share-cpus 1 --memory 8M").unwrap();
        assert_eq!((w.kind, w.cpus), (Kind::Rt, Cpus::List(vec![1])));
        assert_eq!((w.kernel.as_path(), w.with_agent), (Path::new("/k"), true));
        let file = file("share_cpus='2'\nmemory='8M'\nkernel='/c'\n");
        let path = file.path().display();
        let w = wish_of(&format!("ctl --file {path}")).unwrap();
        assert_eq!((w.kind, w.cpus), (Kind::Rt, Cpus::List(vec![2])));
        assert_eq!(w.kernel, Path::new("/c"));
        let w = wish_of(&format!("ctl --file {path} --share-cpus 3")).unwrap();
        assert_eq!((w.kind, w.cpus), (Kind::Rt, Cpus::List(vec![3])));
        let w = wish_of(&format!("web --file {path} --cpuset 3")).unwrap();
        assert_eq!((w.kind, w.cpus), (Kind::Linux, Cpus::List(vec![3])));
    }

    #[test]
    fn budgets() {
        let budget = |line: &str| {
            let wish = wish(&format!("ctl --memory 8M {line}")).unwrap();
            wish.budget.map(|b| (b.budget_ns, b.period_ns))
        };
        assert_eq!(budget("--share-cpus 1"), None);
        let given = Some((4_000_000, 10_000_000));
        assert_eq!(budget("--share-cpus 1 --budget 40%"), given);
        let shares = file("share_cpus='1'\nbudget='12.5%/1ms'\n");
        let shares = shares.path().display();
        assert_eq!(
            budget(&format!("--file {shares}")),
            Some((125_000, 1_000_000))
        );
        assert_eq!(budget(&format!("--file {shares} --budget 40%")), given);
        let takes = file("cpuset='1'\nbudget='40%'\n");
        let takes = takes.path().display();
        assert_eq!(budget(&format!("--file {takes} --share-cpus 1")), given);
    }

    #[test]
    fn a_budget_means_nothing_to_a_linux() {
        let refusal = "means nothing to a Linux, which has its CPUs for itself";
        let error = |line: &str| wish(&format!("web --memory 1G {line}")).unwrap_err();
        let shares = file("share_cpus='1'\nbudget='40%'\n");
        let takes = file("cpuset='1'\nbudget='40%'\n");
        let neither = file("cpuset='1'\n");
        for (file, option) in [(&shares, "--cpuset 3"), (&takes, "")] {
            let path = file.path().display();
            let error = error(&format!("--file {path} {option}"));
            assert_eq!(error.to_string(), format!("budget in {path} {refusal}"));
            assert!(hint(error).contains("--share-cpus"));
        }
        let path = neither.path().display();
        for line in [format!("--file {path} --budget 40%"), "--budget 40%".into()] {
            let error = error(&line);
            assert_eq!(error.to_string(), format!("--budget {refusal}"));
        }
    }

    #[test]
    fn guarding() {
        let line = "web --memory 1G";
        let guarded = |more: &str| wish(&format!("{line} {more}")).map(|w| w.guarded);
        assert_eq!(guarded("--cpuset 2"), Ok(false));
        assert_eq!(guarded("--cpuset 2 --guarded"), Ok(true));
        for (text, expected) in [("true", true), ("false", false)] {
            let file = file(&format!("cpuset='2'\nguarded={text}\n"));
            let path = file.path().display();
            assert_eq!(guarded(&format!("--file {path}")), Ok(expected));
            assert_eq!(guarded(&format!("--file {path} --guarded")), Ok(true));
            // false is no wish
            let refused = guarded(&format!("--file {path} --share-cpus 1")).is_err();
            assert_eq!(refused, expected);
        }
    }

    #[test]
    fn protection() {
        let protected = |line: &str| wish(&format!("ctl --memory 8M {line}")).map(|w| w.protected);
        assert_eq!(protected("--share-cpus 1"), Ok(false));
        assert_eq!(protected("--share-cpus 1 --protected"), Ok(true));
        for (text, expected) in [("true", true), ("false", false)] {
            let file = file(&format!("share_cpus='1'\nprotected={text}\n"));
            let path = file.path().display();
            assert_eq!(protected(&format!("--file {path}")), Ok(expected));
            assert_eq!(protected(&format!("--file {path} --protected")), Ok(true));
            // false is no wish
            let refused = protected(&format!("--file {path} --cpuset 2")).is_err();
            assert_eq!(refused, expected);
        }
    }

    #[test]
    fn what_means_nothing_to_a_real_time_program() {
        let with = |text: &str, options: &str| {
            let file = file(&format!("share_cpus='1'\nmemory='8M'\n{text}"));
            let path = file.path().display();
            let error = wish(&format!("ctl --file {path} {options}")).unwrap_err();
            error.to_string().replace(&path.to_string(), "FILE")
        };
        for (text, options, what) in [
            ("", "--initrd /i", "--initrd"),
            ("", "--cmdline quiet", "--cmdline"),
            ("", "--pci 01:00.0", "--pci"),
            ("", "--disk a", "--disk"),
            ("", "--net br0", "--net"),
            ("initrd='/i'", "", "initrd in FILE"),
            ("cmdline='quiet'", "", "cmdline in FILE"),
            ("[[pci]]\naddress='01:00.0'", "", "pci in FILE"),
            ("[[disk]]\npath='a'", "", "disk in FILE"),
            ("[[net]]\nbridge='br0'", "", "net in FILE"),
        ] {
            assert_eq!(
                with(text, options),
                format!("{what} means nothing to a real-time program")
            );
        }
    }

    #[test]
    fn memory_is_rounded_up_and_bounded() {
        let info = Info {
            memory_min: 4,
            memory_align: 4,
            rt_memory_min: 2,
            rt_memory_max: 8,
            ..Info::default()
        };
        let linux = Limits::of(&info, Kind::Linux);
        assert_eq!(linux.round(5), Ok(8));
        let rt = Limits::of(&info, Kind::Rt);
        assert_eq!(rt.round(3), Ok(4));
        assert_eq!(rt.round(8), Ok(8));
        let text = failures([
            ("a program's, too little", rt.round(1)),
            ("a program's, too much", rt.round(9)),
            ("a Linux's, too little", linux.round(3)),
            ("a Linux's, too much", linux.round(u64::MAX)),
        ]);
        insta::assert_snapshot!(text);
        assert_eq!(Limits::of(&Info::default(), Kind::Linux).round(5), Ok(5));
    }
}
