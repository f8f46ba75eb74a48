//! `shimos run`

mod cpus;
mod here;
mod images;
mod load;
mod rt;
mod share;
mod wish;

use std::path::Path;

use serde::Serialize;

use super::bring_up::{Ready, bring_up};
use super::{kill, rm, show};
use crate::arch::{Architecture, NATIVE};
use crate::cli;
use crate::config::{self, Config};
use crate::devices::sharing::{Sharing, User};
use crate::devices::{self, view};
use crate::error::{Error, Result};
use crate::partition::view::Partition;
use crate::partition::{self, CreateRequest, Device, Info, Kind, OnChange, OnReboot, Status};
use crate::pci;
use crate::ui::interrupt;
use crate::ui::output::{self, printable};
use crate::ui::progress::Progress;
use crate::ui::refusal::OrRefuse;
use crate::units::{cpulist, pci_address, size};

use images::Images;
use wish::{Limits, Wish};

/// Make a partition, load and start it, and wait until it is up; nothing is left if that
/// fails.
pub fn run(device: &dyn Device, args: &cli::Run, verbose: bool) -> Result<()> {
    run_on(NATIVE, device, args, verbose)
}

fn run_on(
    architecture: &Architecture,
    device: &dyn Device,
    args: &cli::Run,
    verbose: bool,
) -> Result<()> {
    let info = device.info().or_refuse("cannot ask KLoader")?;
    let file = match &args.file {
        Some(path) => config::read(path)?,
        None => Config::default(),
    };
    let kind = wish::kind(args, &file);
    here::check(
        architecture,
        kind,
        args.guarded || file.guarded == Some(true),
    )?;
    check_host(&info, kind)?;
    let wish = Wish::from(args, file)?;
    let memory = Limits::of(&info, wish.kind).round(wish.memory)?;
    make_room(device, &wish.name, args.replace)?;
    let cpus = cpus::choose(Path::new("/"), device, &wish.cpus, memory, wish.node)?;
    if wish.kind == Kind::Linux {
        cpus::warn_of_split_cores(&cpus);
    }
    let more = cpus::later(Path::new("/"), &cpus, wish.max_cpus)?;
    pci::check(Path::new("/"), &wish.pci)?;
    let images = Images::open(&wish)?;
    if verbose {
        images.describe();
    }
    let sharing = Sharing::open(&wish.wanted)?;
    let groups = share::groups(device, wish.share)?;
    let group = match &groups {
        Some(groups) => Some(groups.make(&wish.name, &cpus, wish.share)?),
        None => None,
    };
    let request = CreateRequest {
        name: wish.name.clone(),
        kind: wish.kind,
        cpus,
        memory,
        node: wish.node,
        restart_on_reboot: wish.on_reboot == OnReboot::Restart,
        budget: wish.budget,
        priority: wish.priority,
        protected: wish.protected,
        guarded: wish.guarded,
        renew: wish.on_change == OnChange::Restart,
        watch: wish.watch.clone(),
        more,
    };
    let (id, shared) = create_and_load(device, &request, &wish.pci, &images, sharing.as_ref())?;
    let up = start(device, id, &wish, args);
    share::keep_with(device, group, &wish.name);
    let up = up?;
    let shared = match &sharing {
        Some(sharing) => sharing.latest(shared),
        None => shared,
    };
    report(&up, &shared, args.json)
}

/// Before anything is taken.
fn check_host(info: &Info, kind: Kind) -> Result<()> {
    let (ok, what, problem) = match kind {
        Kind::Linux => (info.host_ok, "run partitions", &info.host_problem),
        Kind::Rt => (
            info.rt_ok,
            "share a CPU with a real-time program",
            &info.rt_problem,
        ),
    };
    if ok {
        return Ok(());
    }
    Err(Error::new(format!("this host cannot {what}: {problem}"))
        .hint("`shimos doctor` shows everything that is missing"))
}

/// See to it that the name is free.
fn make_room(device: &dyn Device, name: &str, replace: bool) -> Result<()> {
    let list = partition::all(device).or_refuse("cannot list the partitions")?;
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

/// Until it is started, the partition belongs to our open /dev/shimos and would
/// end with it; but say so.
fn create_and_load(
    device: &dyn Device,
    request: &CreateRequest,
    pci: &[pci_address::Given],
    images: &Images,
    sharing: Option<&Sharing>,
) -> Result<(u32, Vec<devices::Status>)> {
    let name = &request.name;
    interrupt::check()?;
    let cpus = cpulist::named(&request.cpus);
    let memory = size::show(request.memory);
    let mut progress = Progress::spinner(match request.kind {
        Kind::Linux => format!("{name}: taking {cpus} and {memory}"),
        Kind::Rt => format!("{name}: taking {memory} and a share of {cpus}"),
    });
    let id = progress
        .during(|| device.create(request))
        .or_refuse(format_args!("cannot create '{name}'"))?;
    let loaded = interrupt::check().and_then(|()| {
        for given in pci {
            let address = given.address;
            progress.say(format!("{name}: taking PCI device {address}"));
            progress
                .during(|| device.give_pci(id, *given))
                .or_refuse(format_args!("cannot give PCI device {address} to '{name}'"))?;
            interrupt::check()?;
        }
        progress.say(format!("{name}: loading the kernel"));
        progress.during(|| load::load(device, id, name, request.kind, images))?;
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
            "it is kept for a look: `{}`, `shimos rm --force {name}`",
            failure.logs(name)
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
    partition: Partition<'a>,
    devices: &'a [devices::Status],
}

/// Print the one line that says that it works.
pub fn report(status: &Status, devices: &[devices::Status], json: bool) -> Result<()> {
    if json {
        return output::json(&Json {
            partition: Partition::from(status),
            devices,
        });
    }
    let mut line = summary(status);
    for device in devices {
        line.push_str(", ");
        line.push_str(&view::name(device));
    }
    output::line(line)
}

fn summary(status: &Status) -> String {
    let what = match status.kind {
        Kind::Linux => {
            let version = status.kernel_version.split_whitespace().next();
            format!(
                "Linux {}",
                printable(version.unwrap_or("(unknown version)"))
            )
        }
        Kind::Rt => status.kind.name().into(),
    };
    let shared = match status.kind {
        Kind::Linux => "",
        Kind::Rt => " (shared)",
    };
    let protected = match (status.protected, status.guarded) {
        (true, _) => ", protected",
        (_, true) => ", guarded",
        _ => "",
    };
    let mut line = format!(
        "{}: running, {what} on {}{shared}, {}{protected}",
        status.name,
        cpulist::named(&status.cpus),
        size::show(status.memory)
    );
    if !status.watch.is_empty() {
        line.push_str(", watches ");
        line.push_str(&status.watch);
    }
    if let Some(time) = show::boot_time(status) {
        line.push_str(", ready after ");
        line.push_str(&time);
    }
    line
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::arch::{AARCH64, X86_64};
    use crate::cli::{Cli, Command, WithKLoader};
    use crate::partition::State;
    use crate::partition::fake::{self, Fake, Manner};
    use clap::Parser;

    pub fn args(line: &str) -> cli::Run {
        let words = format!("shimos run {line}");
        let Command::WithKLoader(WithKLoader::Run(run)) =
            Cli::try_parse_from(words.split_whitespace())
                .unwrap()
                .command
        else {
            panic!()
        };
        *run
    }

    pub fn hint(error: Error) -> String {
        let Error::Failed { hint, .. } = error else {
            panic!()
        };
        hint.unwrap()
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

    fn loaded(fake: &Fake, kind: Kind) -> u32 {
        let request = CreateRequest {
            kind,
            ..CreateRequest::linux("web", vec![2, 3], 1 << 30)
        };
        let images = Images {
            kernel: tempfile::tempfile().unwrap(),
            initrd: None,
            cmdline: "rdinit=/shimos/init".into(),
            notes: Vec::new(),
        };
        create_and_load(fake, &request, &[], &images, None)
            .unwrap()
            .0
    }

    fn started(fake: &Fake, extra: &str) -> Result<Status> {
        started_as(fake, Kind::Linux, &format!("--cpuset 2-3 {extra}"))
    }

    fn started_as(fake: &Fake, kind: Kind, options: &str) -> Result<Status> {
        let line = format!("web --memory 1G --kernel /k --timeout 0.05 {options}");
        let args = args(&line);
        let id = loaded(fake, kind);
        let wish = Wish::from(&args, Config::default()).unwrap();
        assert_eq!(wish.kind, kind);
        start(fake, id, &wish, &args)
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
    fn a_real_time_program_comes_up() {
        let fake = Fake::default();
        let status = started_as(&fake, Kind::Rt, "--share-cpus 1").unwrap();
        assert_eq!((status.kind, status.state), (Kind::Rt, State::Running));
        assert_eq!(
            summary(&fake::rt_status("ctl")),
            "ctl: running, real-time program on CPU 1 (shared), 8 MiB, ready after 1.30 ms"
        );
    }

    #[test]
    fn a_real_time_program_from_beginning_to_end() {
        let fake = Fake::default();
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = format!("ctl --share-cpus 3 --kernel {}", file.path().display());
        run_on(&X86_64, &fake, &args(&format!("{line} --memory 5M")), true).unwrap();
        let status = fake.status(1).unwrap();
        assert_eq!((status.kind, status.state), (Kind::Rt, State::Running));
        assert_eq!((status.cpus, status.memory), (vec![3], 8 << 20));
        assert_eq!(status.cmdline, "");
        let budget = |id| fake.status(id).map(|s| (s.budget_ns, s.period_ns));
        assert_eq!(budget(1), Ok((9_500_000, 10_000_000)), "the default");
        assert!(!fake.started_without_agent(), "it is waited for");
        fake.kill(1).unwrap();
        assert!(!status.renew && status.watch.is_empty());
        let again = format!(
            "{line} --on-change restart --watch motor --budget 40%/1ms --memory 8M --replace --no-agent --json"
        );
        run_on(&X86_64, &fake, &args(&again), false).unwrap();
        assert_eq!(budget(2), Ok((400_000, 1_000_000)));
        let status = fake.status(2).unwrap();
        assert!(status.renew && status.watch == "motor");
        assert!(summary(&status).contains(", watches motor"));
        assert!(fake.started_without_agent());
        let error =
            run_on(&X86_64, &fake, &args(&format!("{line} --memory 2G")), false).unwrap_err();
        assert!(error.to_string().contains("at most 1 GiB"), "{error}");
    }

    #[test]
    fn a_bad_budget_takes_nothing() {
        let fake = Fake::default();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, b"share_cpus='1'\nbudget='99%'\n").unwrap();
        let path = file.path().display();
        let line = format!("ctl --file {path} --memory 8M --kernel {path}");
        let error = run_on(&X86_64, &fake, &args(&line), false).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{path}: budget '99%': 99% leaves the host too little of its CPU: at most 95%")
        );
        let line = format!("ctl --share-cpus 1 --memory 8M --kernel {path}");
        let error = run_on(&AARCH64, &fake, &args(&line), false).unwrap_err();
        let reason = "--share-cpus cannot be had on arm64: ";
        assert!(error.to_string().starts_with(reason), "{error}");
        assert!(fake.is_empty());
    }

    #[test]
    fn a_real_time_program_does_what_it_may_not() {
        let fake = Fake::default();
        fake.manner(Manner::FaultsAtStart);
        let error = started_as(&fake, Kind::Rt, "--share-cpus 1 --keep").unwrap_err();
        assert_eq!(
            error.to_string(),
            "'web' did what it may not before it was ready: it used port 0x80"
        );
        let hint = hint(error);
        assert!(hint.contains("`shimos logs --console web`"), "{hint}");
    }

    #[test]
    fn each_kind_asks_for_its_own() {
        let mut info = Info {
            host_ok: true,
            rt_problem: "no SVM".into(),
            ..Info::default()
        };
        assert_eq!(check_host(&info, Kind::Linux), Ok(()));
        let error = check_host(&info, Kind::Rt).unwrap_err();
        assert!(error.to_string().ends_with("program: no SVM"), "{error}");
        assert!(hint(error).contains("shimos doctor"));
        info.host_ok = false;
        info.rt_ok = true;
        assert_eq!(check_host(&info, Kind::Rt), Ok(()));
        assert!(check_host(&info, Kind::Linux).is_err());
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
