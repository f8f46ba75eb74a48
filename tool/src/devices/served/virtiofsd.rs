//! Debian's virtiofsd, which serves a directory of this kernel's.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::error::{Error, IoContext, Result};

/// Where it may be: on the path, or where Debian has it.
const PLACES: [&str; 2] = ["virtiofsd", "/usr/libexec/virtiofsd"];

/// One that serves a directory. It ends when the connection does.
pub struct Daemon {
    child: Child,
    /// What it has said.
    log: File,
    connection: UnixStream,
}

impl Daemon {
    /// Start one, connected to this process and to nobody else.
    pub fn start(directory: &Path, read_only: bool) -> Result<Self> {
        let (listener, connection, log) =
            private().or_fail("cannot make a socket for virtiofsd")?;
        let mut words = vec!["--fd=0", "--shared-dir"];
        words.push(directory.to_str().ok_or_else(|| {
            Error::new(format!(
                "'{}' is not UTF-8, which virtiofsd wants",
                directory.display()
            ))
        })?);
        if read_only {
            words.push("--readonly");
        }
        for place in PLACES {
            let copy = |file: &File| file.try_clone().or_fail("cannot start virtiofsd");
            let stdin = listener.try_clone().or_fail("cannot start virtiofsd")?;
            let child = Command::new(place)
                .args(&words)
                .stdin(OwnedFd::from(stdin))
                .stdout(copy(&log)?)
                .stderr(copy(&log)?)
                .spawn();
            match child {
                Ok(child) => {
                    return Ok(Daemon {
                        child,
                        log,
                        connection,
                    });
                }
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e).or_fail(format_args!("cannot start {place}")),
            }
        }
        Err(
            Error::new("there is no virtiofsd, which serves directories")
                .hint("install it: apt install virtiofsd"),
        )
    }

    /// Return our end of its connection.
    pub fn connection(&self) -> Result<UnixStream> {
        self.connection
            .try_clone()
            .or_fail("cannot speak to virtiofsd")
    }

    /// Say how it has ended, or that it has closed the connection.
    pub fn ended(&mut self) -> Error {
        let _ = self.connection.shutdown(std::net::Shutdown::Both);
        let how = match self.child.wait() {
            Ok(status) => format!("virtiofsd has ended: {status}"),
            Err(_) => "virtiofsd has ended".into(),
        };
        let mut said = String::new();
        let _ = self
            .log
            .rewind()
            .and_then(|()| self.log.read_to_string(&mut said));
        match said.lines().last() {
            Some(line) => Error::new(format!("{how}: {line}")),
            None => Error::new(how),
        }
    }
}

/// Make a listener with one connection in its queue, and a file for a log. None of them has
/// a name any more when this returns, so nobody else can connect.
fn private() -> io::Result<(UnixListener, UnixStream, File)> {
    let template = std::env::temp_dir().join("shimos-XXXXXX");
    // Nobody but root can look into it.
    let place: PathBuf = nix::unistd::mkdtemp(&template)?;
    let (socket, log) = (place.join("socket"), place.join("log"));
    let made = (|| {
        let listener = UnixListener::bind(&socket)?;
        let connection = UnixStream::connect(&socket)?;
        let log = File::options()
            .read(true)
            .append(true)
            .create_new(true)
            .open(&log)?;
        Ok((listener, connection, log))
    })();
    let _ = std::fs::remove_dir_all(&place);
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_connection_without_a_name() {
        let (listener, mut ours, _log) = private().unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        ours.write_all(b"x").unwrap();
        theirs.read_exact(&mut [0]).unwrap();
        let path = listener.local_addr().unwrap();
        assert!(!path.as_pathname().unwrap().exists());
    }
}
