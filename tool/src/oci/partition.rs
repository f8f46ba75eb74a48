//! A container's partition: made by `shimos run`, gone by `shimos rm`.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::Value;

use super::bundle::{Bundle, Cpus};
use super::network::Network;
use super::record::Record;
use super::share::Share;
use super::{CRUN, HELLO, IP, SHARE_TAG, initrd};
use crate::abi::vsock;
use crate::boot::image;
use crate::error::{Error, IoContext, Result};

/// How long its init may take from when its kernel is up.
const INIT: Duration = Duration::from_secs(30);

/// Make and start it, and wait until its init listens; the record learns its address.
pub fn start(
    record: &mut Record,
    bundle: &Bundle,
    share: &Share,
    network: Option<&Network>,
) -> Result<()> {
    let kernel = match bundle.kernel() {
        Some(kernel) => kernel,
        None => image::of_host().map_err(|e| e.or_hint("--annotation org.shimos.kernel=FILE"))?,
    };
    let (_, found) = image::open(&kernel)?;
    let initrd = record.directory().join("initrd");
    let programs: &[&str] = if network.is_some() {
        &[CRUN, IP]
    } else {
        &[CRUN]
    };
    let archive = initrd::make(&found.version, programs)?;
    fs::write(&initrd, archive).or_fail(format_args!("cannot write {}", initrd.display()))?;
    let (listener, port) = vsock::listen_anywhere()
        .or_fail("cannot listen on AF_VSOCK")
        .map_err(|e| e.hint("modprobe vhost_vsock"))?;
    let mut run = match network {
        Some(network) => {
            network.command(&std::env::current_exe().or_fail("cannot find this program")?)
        }
        None => shimos(),
    };
    run.arg("run")
        .arg(&record.partition)
        .arg("--kernel")
        .arg(&kernel)
        .arg("--initrd")
        .arg(&initrd);
    match bundle.cpus()? {
        Cpus::These(list) => run.args(["--cpuset", &list]),
        Cpus::Count(count) => run.args(["--cpus", &count.to_string()]),
    };
    run.args([
        "--memory",
        &format!("{}M", bundle.memory()?.div_ceil(1 << 20)),
    ]);
    run.arg("--cmdline").arg(format!("quiet {HELLO}{port}"));
    run.arg("--fs")
        .arg(format!("{},tag={SHARE_TAG}", share.view.display()));
    run.args(["--vsock", "--json"]);
    run.args(network.map(Network::options).unwrap_or_default());
    let started = {
        // Two at once would choose the same CPUs.
        let _one_at_a_time = lock(&record.lock_path())?;
        output(&mut run)
    };
    let _ = fs::remove_file(&initrd);
    record.cid = address(&started?).ok_or_else(|| Error::new("the partition has no vsock"))?;
    record.save()?;
    wait(&listener, record.cid)
}

/// Kill it, if it runs, and remove it, if there is one.
pub fn remove(record: &Record) -> Result<()> {
    if !exists(record)? {
        return Ok(());
    }
    output(shimos().args(["rm", "--force", &record.partition])).map(drop)
}

fn exists(record: &Record) -> Result<bool> {
    let names = output(shimos().args(["ls", "--quiet"]))?;
    Ok(names.lines().any(|name| name == record.partition))
}

/// Kill its kernel, if there is one.
pub fn kill(record: &Record) -> Result<()> {
    if !exists(record)? {
        return Ok(());
    }
    output(shimos().args(["kill", &record.partition])).map(drop)
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

fn lock(path: &Path) -> Result<Flock<fs::File>> {
    let what = format!("cannot lock {}", path.display());
    let file = fs::File::options()
        .create(true)
        .append(true)
        .open(path)
        .or_fail(&what)?;
    Flock::lock(file, FlockArg::LockExclusive)
        .map_err(|(_, e)| Error::new(format!("{what}: {}", e.desc())))
}

/// Find the vsock's address in what `run --json` says.
fn address(json: &str) -> Option<u32> {
    let all: Value = serde_json::from_str(json).ok()?;
    let devices = all.get("devices")?.as_array()?;
    let is_vsock = |device: &&Value| device.get("type").and_then(Value::as_str) == Some("vsock");
    devices
        .iter()
        .find(is_vsock)?
        .get("name")?
        .as_str()?
        .parse()
        .ok()
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
    fn where_it_listens() {
        let json = r#"{"name": "a", "devices": [{"type": "fs", "name": "shimos"}, {"type": "vsock", "name": "3"}]}"#;
        assert_eq!(address(json), Some(3));
        assert_eq!(address(r#"{"devices": []}"#), None);
    }
}
