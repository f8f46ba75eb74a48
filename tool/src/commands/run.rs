//! `shimos run`

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::bring_up::{Ready, bring_up};
use super::{kill, rm};
use crate::cli;
use crate::config::{self, OnReboot};
use crate::device::{self, CreateRequest, Device, Kind, Status};
use crate::devices::sharing::{Sharing, User};
use crate::devices::spec::Wanted;
use crate::devices::{self, view};
use crate::error::{Error, IoContext, Result};
use crate::kernel_image::KernelImage;
use crate::lookup::OrRefuse;
use crate::output::{self, printable};
use crate::partition_modules::{self, Needs};
use crate::progress::Progress;
use crate::{cpulist, duration, initrd, interrupt, kernel_cmdline, kernel_image, pci, size, smt};

pub fn run(device: &dyn Device, args: &cli::Run, verbose: bool) -> Result<()> {
    let info = device.info().or_refuse("cannot ask KLoader")?;
    if !info.host_ok {
        return Err(Error::new(format!(
            "this host cannot run partitions: {}",
            info.host_problem
        ))
        .hint("`shimos doctor` shows everything that is missing"));
    }
    let wish = Wish::from(args)?;
    let memory = whole_memory(wish.memory, info.memory_min, info.memory_align)?;
    for threads in smt::split_cores(Path::new("/"), &wish.cpus) {
        output::note(format_args!(
            "warning: CPUs {threads} are threads of one core, and two kernels would share it: take them together"
        ));
    }
    make_room(device, &wish.name, args.replace)?;
    pci::check(Path::new("/"), &wish.pci)?;
    let images = Images::open(&wish)?;
    if verbose {
        images.describe();
    }
    let sharing = Sharing::open(&wish.wanted)?;
    let request = CreateRequest {
        name: wish.name.clone(),
        kind: Kind::Linux,
        cpus: wish.cpus.clone(),
        memory,
        restart_on_reboot: wish.on_reboot == OnReboot::Restart,
    };
    let (id, shared) = create_and_load(device, &request, &wish.pci, &images, sharing.as_ref())?;
    let up = start(device, id, &wish, args)?;
    let shared = match &sharing {
        Some(sharing) => sharing.latest(shared),
        None => shared,
    };
    report(&up, &shared, args.json)
}

/// What the user wants, from the command line and the file.
#[derive(Debug)]
struct Wish {
    name: String,
    cpus: Vec<u32>,
    memory: u64,
    kernel: PathBuf,
    initrd: Option<PathBuf>,
    cmdline: String,
    on_reboot: OnReboot,
    pci: Vec<pci::Address>,
    with_agent: bool,
    wanted: Wanted,
}

impl Wish {
    fn from(args: &cli::Run) -> Result<Self> {
        let file = match &args.file {
            Some(path) => config::read(path)?,
            None => config::Config::default(),
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
        let cpus = match (&args.cpus, &file.cpus) {
            (Some(list), _) => list.0.clone(),
            (None, Some(text)) => cpulist::parse(text).map_err(Error::new)?,
            (None, None) => return Err(missing("which CPUs to take", "--cpus 2-3")),
        };
        let memory = match (args.memory, &file.memory) {
            (Some(bytes), _) => bytes,
            (None, Some(text)) => size::parse(text).map_err(Error::new)?,
            (None, None) => return Err(missing("how much memory to take", "--memory 1G")),
        };
        let pci = match args.pci.as_slice() {
            [] => file.pci()?,
            list => list.to_vec(),
        };
        let cmdline = args.cmdline.clone().or(file.cmdline).unwrap_or_default();
        let problems = kernel_cmdline::problems(&cmdline);
        if !problems.is_empty() {
            return Err(Error::new(format!(
                "the kernel command line would break containment: {}",
                problems.join("; ")
            ))
            .hint("leave it out: KLoader sets what a partition needs"));
        }
        Ok(Wish {
            name: args
                .name
                .clone()
                .or(file.name)
                .ok_or_else(|| missing("the name", "NAME"))?,
            cpus,
            memory,
            kernel: match args.kernel.clone().or(file.kernel) {
                Some(path) => path,
                None => host_kernel()?,
            },
            initrd: args.initrd.clone().or(file.initrd),
            cmdline,
            on_reboot: args.on_reboot.or(file.on_reboot).unwrap_or(OnReboot::Stop),
            pci,
            with_agent: !args.no_agent,
            wanted,
        })
    }
}

/// The devices to share, from the command line or the file.
fn wanted(args: &cli::Run, file: &config::Config) -> Result<Wanted> {
    let mut wanted = args.share.wanted();
    if wanted.disks.is_empty() {
        wanted.disks = file.disks()?;
    }
    if wanted.nets.is_empty() {
        wanted.nets = file.nets()?;
    }
    if args.no_agent && !wanted.is_empty() {
        return Err(Error::new(
            "--disk and --net need modules in the partition that --no-agent leaves out",
        )
        .hint("leave out --no-agent, or the devices"));
    }
    Ok(wanted)
}

fn host_kernel() -> Result<PathBuf> {
    let uname = nix::sys::utsname::uname().or_fail("cannot find out which kernel this is")?;
    let path = format!("/boot/vmlinuz-{}", uname.release().to_string_lossy());
    if !Path::new(&path).exists() {
        return Err(Error::new(format!(
            "the host's own kernel is not where it usually is: there is no {path}"
        ))
        .hint("give --kernel"));
    }
    Ok(path.into())
}

fn whole_memory(bytes: u64, min: u64, align: u64) -> Result<u64> {
    if bytes < min {
        return Err(Error::new(format!(
            "{} of memory is too little: a partition needs at least {}",
            size::show(bytes),
            size::show(min)
        )));
    }
    bytes
        .checked_next_multiple_of(align.max(1))
        .ok_or_else(|| Error::new(format!("{} of memory is too much", size::show(bytes))))
}

/// See to it that the name is free.
fn make_room(device: &dyn Device, name: &str, replace: bool) -> Result<()> {
    let list = device::all(device).or_refuse("cannot list the partitions")?;
    let Some(old) = list.iter().find(|s| s.name == name) else {
        return Ok(());
    };
    if replace && !old.state.active() {
        return rm::destroy(device, old);
    }
    let hint = match (old.state.active(), replace) {
        (true, _) => format!("try: shimos stop {name} && shimos rm {name}"),
        (false, _) => format!("try: shimos restart {name}, or give --replace"),
    };
    Err(Error::new(format!(
        "cannot create '{name}': a partition of that name exists, it is {}",
        old.state
    ))
    .hint(hint))
}

/// The opened and checked files, and the command line that goes with them.
struct Images {
    kernel: File,
    image: KernelImage,
    initrd: Option<File>,
    cmdline: String,
    /// What was left out, for --verbose.
    notes: Vec<String>,
}

impl Images {
    fn open(wish: &Wish) -> Result<Self> {
        let (kernel, image) = kernel_image::open(&wish.kernel)?;
        let user_initrd = match &wish.initrd {
            Some(path) => Some(initrd::open(path)?),
            None => default_initrd(&image.version)?,
        };
        let cmdline =
            kernel_cmdline::compose(&wish.cmdline, wish.with_agent).map_err(Error::new)?;
        let mut notes = Vec::new();
        let initrd = if wish.with_agent {
            let needs = Needs {
                disk: !wish.wanted.disks.is_empty(),
                net: !wish.wanted.nets.is_empty(),
            };
            let modules = partition_modules::read(&image.version, needs)?;
            let agent = initrd::agent_archive(&modules.list)?;
            notes = modules.notes;
            Some(initrd::combine(&agent, user_initrd.as_ref())?)
        } else {
            user_initrd
        };
        Ok(Images {
            kernel,
            image,
            initrd,
            cmdline,
            notes,
        })
    }

    fn describe(&self) {
        for note in &self.notes {
            output::note(note);
        }
        output::note(format_args!("kernel version {}", self.image.version));
        if let Some(metadata) = self.initrd.as_ref().and_then(|f| f.metadata().ok()) {
            output::note(format_args!("initrd of {}", size::show(metadata.len())));
        }
        output::note(format_args!("command line: {}", self.cmdline));
    }
}

fn default_initrd(version: &str) -> Result<Option<File>> {
    let path = PathBuf::from(format!("/boot/initrd.img-{version}"));
    if path.exists() {
        return initrd::open(&path).map(Some);
    }
    output::note(format_args!(
        "there is no {}: starting without an initrd of its own",
        path.display()
    ));
    Ok(None)
}

/// Until it is started, the partition belongs to our open /dev/shimos and would
/// end with it; but say so.
fn create_and_load(
    device: &dyn Device,
    request: &CreateRequest,
    pci: &[pci::Address],
    images: &Images,
    sharing: Option<&Sharing>,
) -> Result<(u32, Vec<devices::Status>)> {
    let name = &request.name;
    interrupt::check()?;
    let mut progress = Progress::spinner(format!(
        "{name}: taking {} and {}",
        cpulist::named(&request.cpus),
        size::show(request.memory)
    ));
    let id = progress
        .during(|| device.create(request))
        .or_refuse(format_args!("cannot create '{name}'"))?;
    let loaded = interrupt::check().and_then(|()| {
        for address in pci {
            progress.say(format!("{name}: taking PCI device {address}"));
            progress
                .during(|| device.give_pci(id, *address))
                .or_refuse(format_args!("cannot give PCI device {address} to '{name}'"))?;
            interrupt::check()?;
        }
        progress.say(format!("{name}: loading the kernel"));
        progress
            .during(|| device.load(id, &images.kernel, images.initrd.as_ref(), &images.cmdline))
            .or_refuse(format_args!("cannot load '{name}'"))?;
        interrupt::check()?;
        match sharing {
            Some(sharing) => sharing.add(&User::find(name)?, &mut progress),
            None => Ok(Vec::new()),
        }
    });
    drop(progress);
    match loaded {
        Ok(shared) => Ok((id, shared)),
        Err(Error::Interrupted { signal, .. }) => {
            remove(device, id);
            Err(Error::Interrupted {
                signal,
                undone: Some(format!("'{name}' has been removed again")),
            })
        }
        Err(other) => {
            remove(device, id);
            Err(other)
        }
    }
}

/// Start it and wait; if it does not come up, remove it.
fn start(device: &dyn Device, id: u32, wish: &Wish, args: &cli::Run) -> Result<Status> {
    let name = &wish.name;
    match bring_up(device, id, name, wish.with_agent, args.timeout) {
        Ok(Ready::Up(status)) => Ok(*status),
        Ok(Ready::Failed(failure)) if args.keep => Err(failure.error(name).hint(format!(
            "it is kept for a look: `shimos logs {name}`, `shimos rm --force {name}`"
        ))),
        Ok(Ready::Failed(failure)) => {
            let error = failure.error(name);
            remove(device, id);
            Err(error.hint("it has been removed again; --keep would keep it"))
        }
        Err(Error::Interrupted { signal, .. }) => {
            remove(device, id);
            Err(Error::Interrupted {
                signal,
                undone: Some(format!("'{name}' has been killed and removed again")),
            })
        }
        Err(other) => {
            remove(device, id);
            Err(other)
        }
    }
}

/// Undo a start. Whatever goes wrong here, there is an error to report already.
fn remove(device: &dyn Device, id: u32) {
    if let Ok(status) = device.status(id) {
        if status.state.active() {
            if let Err(e) = kill::kill(device, &status) {
                output::error(&e);
            }
        }
        if let Err(e) = rm::destroy(device, &status) {
            output::error(&e);
        }
    }
}

/// The partition's status, its devices beside it.
#[derive(Serialize)]
struct Json<'a> {
    #[serde(flatten)]
    status: &'a Status,
    devices: &'a [devices::Status],
}

/// The one line that says that it works.
pub fn report(status: &Status, devices: &[devices::Status], json: bool) -> Result<()> {
    if json {
        return output::json(&Json { status, devices });
    }
    let mut line = summary(status);
    for device in devices {
        line.push_str(", ");
        line.push_str(&view::name(device));
    }
    output::line(line)
}

fn summary(status: &Status) -> String {
    let version = status.kernel_version.split_whitespace().next();
    let mut line = format!(
        "{}: running, Linux {} on {}, {}",
        status.name,
        printable(version.unwrap_or("(unknown version)")),
        cpulist::named(&status.cpus),
        size::show(status.memory)
    );
    if status.boot_ns != 0 {
        line.push_str(", ready after ");
        line.push_str(&duration::seconds(Duration::from_nanos(status.boot_ns)));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::device::State;
    use crate::fake::{self, Fake, Manner};
    use clap::Parser;

    fn args(line: &str) -> cli::Run {
        let words = format!("shimos run {line}");
        let Command::Run(run) = Cli::try_parse_from(words.split_whitespace())
            .unwrap()
            .command
        else {
            panic!()
        };
        run
    }

    fn wish(line: &str) -> Result<Wish> {
        Wish::from(&args(&format!("{line} --kernel /k")))
    }

    fn hint(error: Error) -> String {
        let Error::Failed { hint, .. } = error else {
            panic!()
        };
        hint.unwrap()
    }

    #[test]
    fn file_and_command_line_together() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(
            &mut file,
            b"name='db'\ncpus='1'\nmemory='2G'\ncmdline='quiet'\non_reboot='restart'\npci=['01:00.0']\n",
        )
        .unwrap();
        let path = file.path().display();
        let w = wish(&format!("-f {path} --cpus 3")).unwrap();
        assert_eq!((w.name.as_str(), w.memory), ("db", 2 << 30));
        assert_eq!(w.cpus, [3]);
        assert_eq!(w.on_reboot, OnReboot::Restart);
        assert_eq!(w.cmdline, "quiet");
        assert_eq!(w.pci, [pci::parse("0000:01:00.0").unwrap()]);
        let w = wish(&format!("-f {path} --pci 02:00.0 --pci 02:00.1")).unwrap();
        assert_eq!(w.pci.len(), 2);
        assert_eq!(wish(&format!("web -f {path}")).unwrap().name, "web");
    }

    #[test]
    fn what_is_missing() {
        assert!(
            wish("web --memory 1G")
                .unwrap_err()
                .to_string()
                .contains("CPUs")
        );
        assert!(hint(wish("web --cpus 1").unwrap_err()).contains("--memory"));
        let e = wish("web --cpus 1 --memory 1G --cmdline panic=1").unwrap_err();
        assert!(e.to_string().contains("'panic=1' is not allowed"));
    }

    #[test]
    fn devices_from_file_and_command_line() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let text = b"disks=['/dev/vdb','a,ro']\nnets=['br0']\n";
        std::io::Write::write_all(&mut file, text).unwrap();
        let line = format!("web --cpus 1 --memory 1G -f {}", file.path().display());
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
    fn memory_is_rounded_up_and_bounded() {
        assert_eq!(whole_memory(5, 4, 4).unwrap(), 8);
        assert!(whole_memory(3, 4, 4).is_err());
        assert!(whole_memory(u64::MAX, 4, 4).is_err());
        assert_eq!(whole_memory(5, 0, 0).unwrap(), 5);
    }

    #[test]
    fn names_in_use() {
        let fake = Fake::with(&["a"]);
        assert!(hint(make_room(&fake, "a", true).unwrap_err()).contains("shimos stop a"));
        assert_eq!(make_room(&fake, "b", false), Ok(()));
        fake.kill(1).unwrap();
        assert!(hint(make_room(&fake, "a", false).unwrap_err()).contains("--replace"));
        assert_eq!(make_room(&fake, "a", true), Ok(()));
        assert!(fake.is_empty());
    }

    fn loaded(fake: &Fake) -> u32 {
        let request = CreateRequest {
            name: "web".into(),
            kind: Kind::Linux,
            cpus: vec![2, 3],
            memory: 1 << 30,
            restart_on_reboot: false,
        };
        let images = Images {
            kernel: tempfile::tempfile().unwrap(),
            image: KernelImage {
                format: kernel_image::Format::BzImage,
                version: "6.1".into(),
            },
            initrd: None,
            cmdline: "rdinit=/shimos/init".into(),
            notes: Vec::new(),
        };
        create_and_load(fake, &request, &[], &images, None)
            .unwrap()
            .0
    }

    fn started(fake: &Fake, extra: &str) -> Result<Status> {
        let line = format!("web --cpus 2-3 --memory 1G --kernel /k --timeout 0.05 {extra}");
        let args = args(&line);
        let id = loaded(fake);
        start(fake, id, &Wish::from(&args).unwrap(), &args)
    }

    #[test]
    fn it_comes_up() {
        let fake = Fake::default();
        let status = started(&fake, "").unwrap();
        assert_eq!(status.state, State::Running);
        assert_eq!(
            summary(&fake::status("web")),
            "web: running, Linux 6.1.0-50 on CPUs 2-3, 1 GiB, ready after 2.31 s"
        );
    }

    #[test]
    fn it_panics() {
        let fake = Fake::default();
        fake.manner(Manner::PanicsAtStart);
        let error = started(&fake, "").unwrap_err();
        assert_eq!(
            error.to_string(),
            "'web' panicked before it was ready: Fatal exception"
        );
        assert!(fake.is_empty(), "removed again");
        let error = started(&fake, "--keep").unwrap_err();
        assert!(hint(error).contains("kept"));
        assert_eq!(fake.state("web"), State::Crashed);
    }

    #[test]
    fn it_hangs() {
        let fake = Fake::default();
        fake.manner(Manner::HangsAtStart);
        let error = started(&fake, "").unwrap_err();
        assert!(error.to_string().contains("is not up after"), "{error}");
        assert!(fake.is_empty(), "killed and removed");
    }

    #[test]
    fn a_refused_start() {
        let fake = Fake::default();
        fake.manner(Manner::RefusesStart);
        let error = started(&fake, "").unwrap_err();
        assert_eq!(error.to_string(), "cannot start 'web': no means no");
        assert!(fake.is_empty());
    }
}
