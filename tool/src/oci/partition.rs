//! Partitions for containers: made by `shimos run`, gone by `shimos rm`.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::Deserialize;

use super::bundle::Cpus;
use super::network::Network;
use super::{CRUN, HELLO, IP, NSENTER, SHARE_TAG, initrd, record};
use crate::abi::{self, vsock};
use crate::boot::image;
use crate::error::{Error, IoContext, Result};

/// How long its init may take from when its kernel is up.
const INIT: Duration = Duration::from_secs(30);

/// A partition as `start` makes it.
pub struct Wish<'a> {
    pub name: &'a str,
    pub kernel: &'a Path,
    pub cpus: Cpus,
    /// If they are a number: of which they are, as a list.
    pub among: Option<&'a str>,
    /// In bytes.
    pub memory: u64,
    /// What it sees of the host.
    pub view: &'a Path,
    pub nets: Nets<'a>,
}

/// The interfaces of a partition.
pub enum Nets<'a> {
    None,
    /// One beside each that the container has.
    Of(&'a Network),
    /// One for whoever takes the partition; its name on the host, in which %d becomes a number.
    Spare(&'a str),
}

/// A partition that listens.
#[derive(Debug)]
pub struct Up {
    /// The address of its vsock.
    pub cid: u32,
    pub cpus: Vec<u32>,
    /// Its first interface, by the name on the host.
    pub net: Option<String>,
}

/// What `shimos run --json` says of one, as far as it matters here.
#[derive(Deserialize)]
struct Started {
    cpus: Vec<u32>,
    devices: Vec<Device>,
}

#[derive(Deserialize)]
struct Device {
    #[serde(rename = "type")]
    kind: String,
    name: String,
}

/// Make and start one, and wait until its init listens. `root` is the runtime's. After an error
/// the partition is there, if it was made.
pub fn start(wish: &Wish, root: &Path) -> Result<Up> {
    let (_, found) = image::open(wish.kernel)?;
    let programs: &[&str] = match wish.nets {
        Nets::None => &[CRUN],
        Nets::Of(_) => &[CRUN, IP],
        Nets::Spare(_) => &[CRUN, IP, NSENTER],
    };
    let initrd = initrd::file(&record::initrds_path(root), &found.version, programs)?;
    let (listener, port) = vsock::listen_anywhere()
        .or_fail("cannot listen on AF_VSOCK")
        .map_err(|e| e.hint("modprobe vhost_vsock"))?;
    let mut run = command(wish, &initrd, port)?;
    // If this process is killed, it undoes what is half done.
    abi::end_with_us(&mut run);
    let started = {
        let _one_at_a_time = lock(&record::lock_path(root), FlockArg::LockExclusive)?;
        output(&mut run)
    };
    let up = read(&started?)?;
    wait(&listener, up.cid)?;
    Ok(up)
}

fn command(wish: &Wish, initrd: &Path, port: u32) -> Result<Command> {
    let mut run = match wish.nets {
        Nets::Of(network) => {
            network.command(&std::env::current_exe().or_fail("cannot find this program")?)
        }
        Nets::None | Nets::Spare(_) => shimos(),
    };
    run.arg("run").arg(wish.name);
    run.arg("--kernel").arg(wish.kernel);
    run.arg("--initrd").arg(initrd);
    match &wish.cpus {
        Cpus::These(list) => run.args(["--cpuset", list]),
        Cpus::Count(count) => {
            run.args(wish.among.map(|among| ["--among", among]).iter().flatten());
            run.args(["--cpus", &count.to_string()])
        }
    };
    run.args(["--memory", &format!("{}M", wish.memory.div_ceil(1 << 20))]);
    run.arg("--cmdline").arg(format!("quiet {HELLO}{port}"));
    run.arg("--fs")
        .arg(format!("{},tag={SHARE_TAG}", wish.view.display()));
    run.args(["--vsock", "--json"]);
    match wish.nets {
        Nets::None => {}
        Nets::Of(network) => drop(run.args(network.options())),
        Nets::Spare(name) => drop(run.args(["--net", &format!("p2p,name={name}")])),
    }
    Ok(run)
}

/// Kill it, if it runs, and remove it, if there is one.
pub fn remove(name: &str) -> Result<()> {
    if_there(name, &["rm", "--force"])
}

/// Do something with a partition, if it is there. It may go meanwhile: a `shimos run` whose
/// parent was killed takes back what it has made.
fn if_there(name: &str, command: &[&str]) -> Result<()> {
    if !exists(name)? {
        return Ok(());
    }
    match output(shimos().args(command).arg(name)) {
        Err(e) if exists(name)? => Err(e),
        _ => Ok(()),
    }
}

fn exists(name: &str) -> Result<bool> {
    let names = output(shimos().args(["ls", "--quiet"]))?;
    Ok(names.lines().any(|other| other == name))
}

/// Tell whether its kernel runs.
pub fn runs(name: &str) -> bool {
    let state = fs::read_to_string(format!("/sys/class/shimos/{name}/state"));
    state.is_ok_and(|state| state.trim() == "running")
}

/// Kill its kernel, if there is one.
pub fn kill(name: &str) -> Result<()> {
    if_there(name, &["kill"])
}

fn shimos() -> Command {
    // It is the same program.
    let mut shimos = Command::new("/proc/self/exe");
    shimos.arg0("shimos");
    shimos
}

fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .or_fail("cannot run shimos")?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let mut lines = said
        .lines()
        .map(|line| line.trim_start_matches("shimos: ").trim());
    let error = Error::new(lines.next().unwrap_or("shimos has ended without a word"));
    Err(match lines.next() {
        Some(hint) => error.hint(hint),
        None => error,
    })
}

/// Have a file alone; `None`: somebody else has it, and `how` says not to wait.
pub fn lock(path: &Path, how: FlockArg) -> Result<Option<Flock<fs::File>>> {
    let what = format!("cannot lock {}", path.display());
    let file = fs::File::options()
        .create(true)
        .append(true)
        .open(path)
        .or_fail(&what)?;
    match Flock::lock(file, how) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, e)) => Err(Error::new(format!("{what}: {}", e.desc()))),
    }
}

fn read(json: &str) -> Result<Up> {
    let started: Started = serde_json::from_str(json)
        .map_err(|e| Error::new(format!("`shimos run` says what makes no sense: {e}")))?;
    let named = |kind| started.devices.iter().find(|device| device.kind == kind);
    let cid = named("vsock").and_then(|device| device.name.parse().ok());
    let net = named("net").map(|device| device.name.clone());
    Ok(Up {
        cid: cid.ok_or_else(|| Error::new("the partition has no vsock"))?,
        net,
        cpus: started.cpus,
    })
}

fn wait(listener: &impl AsFd, cid: u32) -> Result<()> {
    let silent =
        || Error::new("the partition's init does not answer").hint("`shimos logs` says why");
    let timeout = PollTimeout::try_from(INIT).unwrap_or(PollTimeout::MAX);
    loop {
        let mut polled = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        if poll(&mut polled, timeout).or_fail("cannot wait for the partition")? == 0 {
            return Err(silent());
        }
        // Others may have connected to it.
        match vsock::accept(listener) {
            Ok((_, from, _)) if from == cid => return Ok(()),
            Ok(_) => {}
            Err(e) => return Err(e).or_fail("cannot wait for the partition"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_been_started() {
        let up = read(
            r#"{"name": "a", "cpus": [2, 3], "devices": [
                {"type": "fs", "name": "shimos"}, {"type": "vsock", "name": "3"}]}"#,
        );
        let up = up.unwrap();
        assert_eq!((up.cid, up.cpus, up.net), (3, vec![2, 3], None));
        assert!(read(r#"{"cpus": [], "devices": []}"#).is_err());
        assert!(read("").is_err());
    }

    #[test]
    fn how_it_is_started() {
        let wish = |cpus, nets| Wish {
            name: "warm-1",
            kernel: Path::new("/k"),
            cpus,
            among: Some("2-7"),
            memory: 300 << 20,
            view: Path::new("/v"),
            nets,
        };
        let words = |wish: &Wish| {
            let command = command(wish, Path::new("/i"), 7).unwrap();
            let words = command.get_args().map(|word| word.to_string_lossy());
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            words(&wish(Cpus::Count(2), Nets::Spare("warm-1"))),
            "run warm-1 --kernel /k --initrd /i --among 2-7 --cpus 2 --memory 300M \
             --cmdline quiet shimos_oci.hello=7 --fs /v,tag=shimos --vsock --json --net p2p,name=warm-1"
        );
        let these = words(&wish(Cpus::These("2".into()), Nets::None));
        assert!(these.contains("--cpuset 2 --memory"), "{these}");
    }
}
