//! What each rung does. All but the first are undone when they end, whatever happens.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::halt;
use crate::cli::{self, Rung};
use crate::error::{Error, IoContext, Result};
use crate::partition::kloader::KLoader;
use crate::partition::{CreateRequest, Device};
use crate::system::host::Host;
use crate::ui::refusal::OrRefuse;
use crate::units::{cpulist, size};

/// The partition that is tried.
const NAME: &str = "selftest";
const ONLINE: &str = "sys/devices/system/cpu/online";

/// What is tried on.
pub struct Ladder<'a> {
    args: &'a cli::Selftest,
    /// Those that were online before the first rung.
    online: Vec<u32>,
}

/// How a rung was.
pub enum Outcome {
    Passed,
    /// It cannot be climbed here, which is no fault.
    Skipped(String),
}

impl<'a> Ladder<'a> {
    /// See what there is; nothing is changed.
    pub fn new(args: &'a cli::Selftest) -> Result<Self> {
        let online = online(&Host::new("/"))?;
        if online.len() < 2 {
            return Err(
                Error::new("only one CPU is online, and a partition needs one more")
                    .hint("`shimos ls` shows whether partitions have the others"),
            );
        }
        if is_there() {
            return Err(Error::new(format!(
                "there is a partition '{NAME}': an earlier selftest was ended"
            ))
            .hint(format!("shimos rm --force {NAME}")));
        }
        Ok(Ladder { args, online })
    }

    /// The host's last one: what is taken from it first.
    fn cpu(&self) -> u32 {
        self.online.last().copied().unwrap_or_default()
    }

    /// Two if the host keeps two itself.
    fn cpus(&self) -> &[u32] {
        let count = if self.online.len() > 3 { 2 } else { 1 };
        self.online
            .get(self.online.len() - count..)
            .unwrap_or_default()
    }

    /// Say what the rung will do, before it does.
    pub fn told(&self, rung: Rung) -> String {
        let cpu = cpulist::named(&[self.cpu()]);
        let memory = size::show(self.args.memory);
        match rung {
            Rung::Checks => "reads what `shimos doctor` reads; changes nothing".into(),
            Rung::Cpu => format!("switches {cpu} off and on, as Linux does it by itself"),
            Rung::Memory => format!(
                "takes {cpu} and {memory} from the host and gives them back; nothing runs there"
            ),
            Rung::Parking => format!(
                "stops {cpu} by INIT, sends it through KLoader's trampoline into a loop that halts, and parks it again; no kernel runs there"
            ),
            Rung::Kernel => format!("starts a kernel on {cpu} with {memory} and no devices"),
            Rung::Doorbell => {
                "starts it again, sends it a hundred messages and waits for each answer".into()
            }
            Rung::All => format!(
                "starts a kernel on {} with a disk; stops, restarts and kills it",
                cpulist::named(self.cpus())
            ),
        }
    }

    /// Do it, and look whether the host has everything again.
    pub fn climb(&self, rung: Rung) -> Result<Outcome> {
        let outcome = match rung {
            Rung::Checks => shimos(&["doctor"]).map(|_| Outcome::Passed),
            Rung::Cpu => self.off_and_on(),
            Rung::Memory => self.take_and_give_back(),
            Rung::Parking => self.park(),
            Rung::Kernel => self.kernel(),
            Rung::Doorbell => self.doorbell(),
            Rung::All => self.everything(),
        };
        self.undo(outcome)
    }

    fn undo(&self, outcome: Result<Outcome>) -> Result<Outcome> {
        let mut outcome = outcome;
        if is_there() {
            let removed = shimos(&["rm", "--force", NAME]);
            outcome = outcome.and_then(|passed| removed.map(|_| passed));
        }
        let passed = outcome?;
        let now = online(&Host::new("/"))?;
        if now != self.online {
            return Err(Error::new(format!(
                "the host has not got back all of its CPUs: {} are online, {} were before",
                cpulist::show(&now),
                cpulist::show(&self.online)
            ))
            .hint("`shimos ls`, `dmesg`; try `echo 1 >/sys/devices/system/cpu/cpuN/online`"));
        }
        Ok(passed)
    }

    fn off_and_on(&self) -> Result<Outcome> {
        let path = format!("/sys/devices/system/cpu/cpu{}/online", self.cpu());
        for value in ["0", "1"] {
            fs::write(&path, value).or_fail(format_args!("cannot write {value} to {path}"))?;
        }
        Ok(Outcome::Passed)
    }

    fn take_and_give_back(&self) -> Result<Outcome> {
        let device = KLoader::open()?;
        let request = CreateRequest::linux(NAME, vec![self.cpu()], self.args.memory);
        let id = device
            .create(&request)
            .or_refuse(format_args!("cannot create '{NAME}'"))?;
        device
            .destroy(id)
            .or_refuse(format_args!("cannot remove '{NAME}'"))?;
        Ok(Outcome::Passed)
    }

    fn park(&self) -> Result<Outcome> {
        let info = KLoader::open()?.info().or_refuse("cannot ask KLoader")?;
        if !info.stops_cpus {
            return Ok(Outcome::Skipped(
                "no CPU can be stopped from outside on this architecture".into(),
            ));
        }
        let path = self.args.directory.join("halt");
        fs::write(&path, halt::image()).or_fail(format_args!("cannot write {}", path.display()))?;
        let mut command = self.run(&[self.cpu()]);
        command.arg("--no-agent").arg("--kernel").arg(&path);
        let started = output(command);
        // It says nothing, so that it is parked is all there is to see.
        let parked = started.and_then(|_| shimos(&["kill", NAME]));
        let _ = fs::remove_file(&path);
        parked.map(|_| Outcome::Passed)
    }

    fn kernel(&self) -> Result<Outcome> {
        let mut command = self.run(&[self.cpu()]);
        self.add_images(&mut command);
        output(command).map(|_| Outcome::Passed)
    }

    fn doorbell(&self) -> Result<Outcome> {
        self.kernel()?;
        shimos(&["ping", "-c", "100", "-i", "0", NAME])?;
        Ok(Outcome::Passed)
    }

    fn everything(&self) -> Result<Outcome> {
        let disk = self.args.directory.join("disk");
        let made = fs::File::create(&disk).and_then(|file| file.set_len(16 << 20));
        made.or_fail(format_args!("cannot make {}", disk.display()))?;
        let done = self.with_disk(&disk);
        // Who still has it open keeps what is in it.
        let _ = fs::remove_file(&disk);
        done
    }

    fn with_disk(&self, disk: &Path) -> Result<Outcome> {
        let mut command = self.run(self.cpus());
        self.add_images(&mut command);
        command.arg("--disk").arg(disk);
        output(command)?;
        shimos(&["stop", NAME])?;
        shimos(&["restart", NAME])?;
        shimos(&["kill", NAME])?;
        Ok(Outcome::Passed)
    }

    /// The beginning of the command that starts it on these CPUs.
    fn run(&self, cpus: &[u32]) -> Command {
        let mut command = own();
        command.args(["run", NAME, "--cpuset", &cpulist::show(cpus), "--memory"]);
        command.arg(self.args.memory.to_string());
        command
    }

    fn add_images(&self, command: &mut Command) {
        let given: [(&str, &Option<PathBuf>); 2] = [
            ("--kernel", &self.args.kernel),
            ("--initrd", &self.args.initrd),
        ];
        for (option, path) in given {
            if let Some(path) = path {
                command.arg(option).arg(path);
            }
        }
    }
}

fn online(host: &Host) -> Result<Vec<u32>> {
    let text = host.read(ONLINE).unwrap_or_default();
    cpulist::parse(text.trim()).map_err(|_| {
        Error::new(format!(
            "cannot find out which CPUs are online: /{ONLINE} says '{text}'"
        ))
    })
}

/// Whether it exists; without KLoader there is none.
fn is_there() -> bool {
    shimos(&["ls", "--quiet"]).is_ok_and(|names| names.lines().any(|name| name == NAME))
}

/// This tool itself.
fn own() -> Command {
    Command::new("/proc/self/exe")
}

fn shimos(words: &[&str]) -> Result<String> {
    let mut command = own();
    command.args(words);
    output(command)
}

/// Run it; what it printed, or what it complained of.
fn output(mut command: Command) -> Result<String> {
    let what: Vec<String> = command
        .get_args()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let what = format!("shimos {}", what.join(" "));
    let result = command
        .stdin(Stdio::null())
        .output()
        .or_fail(format_args!("cannot run `{what}`"))?;
    if result.status.success() {
        return Ok(String::from_utf8_lossy(&result.stdout).into_owned());
    }
    let said = [result.stdout, result.stderr].concat();
    Err(Error::new(format!(
        "`{what}` failed ({}):\n{}",
        result.status,
        String::from_utf8_lossy(&said).trim_end()
    )))
}
