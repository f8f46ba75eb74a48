//! The first process of a container's partition: prepares it, says so to the host, and runs
//! what the host asks for.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{chroot, symlink};
use std::path::Path;
use std::thread;

use nix::unistd::chdir;

use super::{HELLO, SHARE, SHARE_TAG, initrd};
use crate::abi::{module, mount, vsock};
use crate::error::{Error, IoContext, Result};
use crate::exec::{HOST_CID, orphans, server};
use crate::ui::output;

/// Be the first process; returns if that cannot be.
pub fn run() -> Result<()> {
    on_top().or_fail("cannot mount the root")?;
    mount_all()?;
    load_modules()?;
    mount::trusted("virtiofs", SHARE_TAG, Path::new(SHARE)).or_fail("cannot mount the share")?;
    orphans::prepare().or_fail("cannot hold back signals")?;
    thread::spawn(|| {
        if let Err(error) = server::run(say_hello) {
            output::error(&error);
            // The kernel ends with its first process, which is what the host waits for.
            std::process::exit(1);
        }
    });
    orphans::reap().or_fail("cannot wait for processes")
}

/// The first root cannot be left by pivot_root(2), which crun wants to do: put another mount
/// of it on top.
fn on_top() -> io::Result<()> {
    let top = Path::new("/top");
    mount::bind(Path::new("/"), top, true)?;
    chdir(top)?;
    mount::shift(Path::new("."), Path::new("/"))?;
    chroot(".")?;
    Ok(chdir("/")?)
}

fn mount_all() -> Result<()> {
    const TRUSTED: [(&str, &str); 3] = [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")];
    const OTHERS: [(&str, &str, &str); 5] = [
        ("devpts", "/dev/pts", "mode=620,ptmxmode=666"),
        ("tmpfs", "/dev/shm", "mode=1777"),
        ("tmpfs", "/run", "mode=755"),
        ("tmpfs", "/tmp", "mode=1777"),
        ("cgroup2", "/sys/fs/cgroup", ""),
    ];
    let what = |at: &str| format!("cannot mount {at}");
    for (kind, at) in TRUSTED {
        mount::trusted(kind, kind, Path::new(at)).or_fail(what(at))?;
    }
    for (kind, at, options) in OTHERS {
        let made = match fs::create_dir(at) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists && !at.starts_with("/sys") => Err(e),
            _ => Ok(()),
        };
        made.and_then(|()| mount::file_system(kind, kind, Path::new(at), options))
            .or_fail(what(at))?;
    }
    for (name, to) in [
        ("fd", ""),
        ("stdin", "/0"),
        ("stdout", "/1"),
        ("stderr", "/2"),
    ] {
        let _ = symlink(format!("/proc/self/fd{to}"), format!("/dev/{name}"));
    }
    Ok(())
}

fn load_modules() -> Result<()> {
    let list = fs::read_to_string(initrd::LIST).or_fail("cannot read the list of modules")?;
    for path in list.lines() {
        let file = File::open(path).or_fail(format_args!("cannot open {path}"))?;
        module::load(&file).or_fail(format_args!("cannot load {path}"))?;
    }
    Ok(())
}

/// The host waits at a port that the command line names.
fn say_hello() -> Result<()> {
    let line = fs::read_to_string("/proc/cmdline").or_fail("cannot read the command line")?;
    let port =
        hello_port(&line).ok_or_else(|| Error::new(format!("the command line has no {HELLO}")))?;
    vsock::connect(HOST_CID, port)
        .map(drop)
        .or_fail("cannot reach the host")
}

fn hello_port(cmdline: &str) -> Option<u32> {
    let word = cmdline
        .split_whitespace()
        .find_map(|word| word.strip_prefix(HELLO));
    word?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_host_waits() {
        assert_eq!(hello_port("quiet shimos_oci.hello=1234 x\n"), Some(1234));
        assert_eq!(hello_port("quiet"), None);
    }
}
