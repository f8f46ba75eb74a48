//! Devices that a program serves, a daemon of vhost-user or Linux's vhost: what `--fs`,
//! `--vsock` and `--vhost-user` take, and the process that each of them has.

pub mod background;
pub mod program;
mod vhost_user;
mod virtiofsd;
mod vsock;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::node::Node;
use super::spec::option;
use super::{Kind, Offer};
use crate::error::{Error, Result, io_text};
use program::Server;
use vhost_user::FS_TAG_LEN;
use vsock::{FIRST_CID, LAST_CID};

/// For all who ask for any.
const ANY: &str = "any";

/// A device as the user wants it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Served {
    /// A directory of this kernel's, by virtiofsd.
    Fs {
        path: PathBuf,
        tag: String,
        read_only: bool,
    },
    /// Sockets between it and this kernel, by Linux's own vhost.
    Vsock {
        /// Its address; `None`: any that is free.
        cid: Option<u32>,
    },
    /// A file system, by a daemon that listens already.
    VhostUser { socket: PathBuf, tag: String },
}

/// "fs www", "vsock".
impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Served::Fs { tag, .. } | Served::VhostUser { tag, .. } => write!(f, "fs {tag}"),
            Served::Vsock { .. } => f.write_str("vsock"),
        }
    }
}

impl Served {
    /// Make a directory of its options; the error names what is wrong.
    pub fn fs(path: &Path, tag: Option<&str>, read_only: bool) -> Result<Self, String> {
        if path.as_os_str().is_empty() {
            return Err("the path is empty".into());
        }
        Ok(Served::Fs {
            path: path.into(),
            tag: check_tag(tag)?,
            read_only,
        })
    }

    /// Make a daemon's device of its options; the error names what is wrong.
    pub fn vhost_user(
        socket: &Path,
        kind: Option<&str>,
        tag: Option<&str>,
    ) -> Result<Self, String> {
        if socket.as_os_str().is_empty() {
            return Err("the socket's path is empty".into());
        }
        match kind {
            Some("fs") => Ok(Served::VhostUser {
                socket: socket.into(),
                tag: check_tag(tag)?,
            }),
            Some(other) => Err(format!("type={other}: only fs can be served so far")),
            None => Err("'type' is missing: type=fs".into()),
        }
    }

    /// Make a socket device with an address.
    pub fn vsock(cid: u32) -> Result<Self, String> {
        match cid {
            FIRST_CID..=LAST_CID => Ok(Served::Vsock { cid: Some(cid) }),
            _ => Err(format!(
                "CID {cid} is nobody's to choose: write a number from {FIRST_CID} on"
            )),
        }
    }

    /// Return its tag, if it is a file system.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Served::Fs { tag, .. } | Served::VhostUser { tag, .. } => Some(tag),
            Served::Vsock { .. } => None,
        }
    }

    /// Return the same with paths that mean the same everywhere; an error if they lead to
    /// nothing that fits.
    pub fn resolved(&self) -> Result<Self> {
        let mut served = self.clone();
        match &mut served {
            Served::Fs { path, .. } => {
                *path = absolute(path, "directory")?;
                if !path.is_dir() {
                    return Err(
                        Error::new(format!("'{}' is not a directory", path.display()))
                            .hint("--disk shares a file or a block device"),
                    );
                }
            }
            Served::VhostUser { socket, .. } => *socket = absolute(socket, "socket")?,
            Served::Vsock { .. } => {}
        }
        Ok(served)
    }

    /// Open what serves it; what of it the back end is to offer comes along.
    fn open(&self) -> Result<(Offer, Box<dyn Server>)> {
        match self {
            Served::Fs {
                path, read_only, ..
            } => {
                let daemon = virtiofsd::Daemon::start(path, *read_only)?;
                let front_end = vhost_user::FrontEnd::over(daemon.connection()?)?;
                self.offer_fs(front_end, Some(daemon))
            }
            Served::VhostUser { socket, .. } => {
                self.offer_fs(vhost_user::FrontEnd::connect(socket)?, None)
            }
            Served::Vsock { cid } => {
                let vsock = vsock::Vsock::open(*cid)?;
                Ok((vsock.offer(), Box::new(vsock)))
            }
        }
    }

    fn offer_fs(
        &self,
        front_end: vhost_user::FrontEnd,
        daemon: Option<virtiofsd::Daemon>,
    ) -> Result<(Offer, Box<dyn Server>)> {
        let features = front_end.begin()?;
        let fs = vhost_user::Fs { front_end, daemon };
        Ok((
            vhost_user::Fs::offer(self.tag().unwrap_or_default(), features),
            Box::new(fs),
        ))
    }
}

/// Serve a device for the kernel of that number until it is gone. `shared` hears its number.
pub fn serve(user: u32, served: &Served, shared: impl FnOnce(u32) -> Result<()>) -> Result<()> {
    let (offer, mut server) = served.open()?;
    let (id, program) = program::Program::add(&Node::open()?, user, &offer)?;
    shared(id)?;
    program.serve(server.as_mut())
}

fn absolute(path: &Path, what: &str) -> Result<PathBuf> {
    std::fs::canonicalize(path).map_err(|e| {
        Error::new(format!(
            "cannot use the {what} '{}': {}",
            path.display(),
            io_text(&e)
        ))
    })
}

fn check_tag(tag: Option<&str>) -> Result<String, String> {
    match tag {
        None | Some("") => Err("'tag' is missing: tag=NAME, by which it is mounted there".into()),
        Some(tag) if tag.len() > FS_TAG_LEN => Err(format!(
            "tag={tag} is too long: {FS_TAG_LEN} bytes are the most"
        )),
        Some(tag) if tag.contains(|c: char| c.is_control()) => {
            Err("tag: a name has no control characters".into())
        }
        Some(tag) => Ok(tag.into()),
    }
}

/// The first word is a path, the others are options.
fn words<'a>(
    text: &'a str,
    example: &str,
) -> Result<(&'a Path, impl Iterator<Item = &'a str>), String> {
    let mut words = text.split(',');
    match words.next().unwrap_or_default() {
        "" => Err(format!("'{text}' names no path: write {example}")),
        path => Ok((Path::new(path), words)),
    }
}

/// Read a directory, for clap. The error names the key that is wrong.
pub fn fs(text: &str) -> Result<Served, String> {
    let (path, words) = words(text, "/srv/www,tag=www")?;
    let (mut tag, mut read_only) = (None, false);
    for word in words {
        match option(word) {
            ("tag", Some(value)) => tag = Some(value),
            ("ro", None) => read_only = true,
            (key, _) => {
                return Err(format!(
                    "'{key}' is no option of a directory: there are tag= and ro (a path cannot have a comma here)"
                ));
            }
        }
    }
    Served::fs(path, tag, read_only)
}

/// Read a daemon's device, for clap. The error names the key that is wrong.
pub fn vhost_user(text: &str) -> Result<Served, String> {
    let (socket, words) = words(text, "/run/daemon.sock,type=fs,tag=www")?;
    let (mut kind, mut tag) = (None, None);
    for word in words {
        match option(word) {
            ("type", Some(value)) => kind = Some(value),
            ("tag", Some(value)) => tag = Some(value),
            (key, _) => {
                return Err(format!(
                    "'{key}' is no option of a daemon's device: there are type= and tag= (a path cannot have a comma here)"
                ));
            }
        }
    }
    Served::vhost_user(socket, kind, tag)
}

/// Read an address for sockets, for clap.
pub fn vsock(text: &str) -> Result<Served, String> {
    match (text, text.parse()) {
        (ANY, _) => Ok(Served::Vsock { cid: None }),
        (_, Ok(cid)) => Served::vsock(cid),
        _ => Err(format!(
            "'{text}' is no address: write a number from {FIRST_CID} on, or nothing for one that is free"
        )),
    }
}

/// Refuse two that cannot be one kernel's: file systems with the same tag, and vsocks.
pub fn no_doubles(list: &[Served]) -> Result<()> {
    for (i, served) in list.iter().enumerate() {
        if list
            .iter()
            .take(i)
            .any(|other| other.to_string() == served.to_string())
        {
            return Err(Error::new(match served.tag() {
                Some(tag) => format!("tag {tag} is given twice"),
                None => "--vsock is given twice".into(),
            }));
        }
    }
    Ok(())
}

/// Tell whether a device that a kernel has would be taken for the same one.
pub fn is_there(kind: Kind, name: &str, served: &Served) -> bool {
    match (kind, served.tag()) {
        (Kind::Vsock, None) => true,
        (Kind::Fs, Some(tag)) => tag == name,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::{errors, failures};

    #[test]
    fn what_is_given() {
        let www = |read_only| Served::Fs {
            path: "/srv/www".into(),
            tag: "www".into(),
            read_only,
        };
        assert_eq!(fs("/srv/www,tag=www"), Ok(www(false)));
        assert_eq!(fs("/srv/www,ro,tag=www"), Ok(www(true)));
        assert_eq!(vsock(ANY), Ok(Served::Vsock { cid: None }));
        assert_eq!(vsock("42"), Ok(Served::Vsock { cid: Some(42) }));
        let daemon = vhost_user("/run/d,type=fs,tag=a").unwrap();
        assert_eq!(daemon.to_string(), "fs a");
        assert_eq!(vsock("42").unwrap().to_string(), "vsock");
    }

    #[test]
    fn bad_devices() {
        let long = format!("/a,tag={}", "x".repeat(37));
        insta::assert_snapshot!(errors(
            &[
                "",
                "/a",
                "/a,tag=",
                "/a,tag=b,rw",
                "/a,tag=b,ro=1",
                &long,
                "/a,tag=\u{7}"
            ],
            fs
        ));
        insta::assert_snapshot!(errors(&["2", "4294967295", "-1", "x", ""], vsock));
        insta::assert_snapshot!(errors(
            &[
                "/a",
                "/a,type=blk",
                "/a,type=fs",
                "/a,type=fs,tag=b,ro",
                ",type=fs"
            ],
            vhost_user
        ));
    }

    #[test]
    fn twice() {
        let list =
            |texts: &[&str]| -> Vec<Served> { texts.iter().map(|t| fs(t).unwrap()).collect() };
        assert_eq!(no_doubles(&list(&["/a,tag=a", "/a,tag=b"])), Ok(()));
        let error = no_doubles(&list(&["/a,tag=a", "/b,tag=a"])).unwrap_err();
        assert_eq!(error.to_string(), "tag a is given twice");
        let any = Served::Vsock { cid: None };
        assert!(no_doubles(&[any.clone(), vsock("5").unwrap()]).is_err());
        assert!(is_there(Kind::Vsock, "42", &any));
        assert!(!is_there(Kind::Fs, "42", &any));
        assert!(is_there(Kind::Fs, "a", &fs("/x,tag=a").unwrap()));
        assert!(!is_there(Kind::Disk, "a", &fs("/x,tag=a").unwrap()));
    }

    #[test]
    fn paths() {
        let work = tempfile::tempdir().unwrap();
        let at = |path: &Path| Served::fs(path, Some("a"), false).unwrap().resolved();
        let Ok(Served::Fs { path, .. }) = at(&work.path().join(".")) else {
            panic!()
        };
        assert_eq!(path, std::fs::canonicalize(work.path()).unwrap());
        std::fs::write(work.path().join("file"), "").unwrap();
        let shown = failures([
            ("nothing", at(Path::new("/nonexistent"))),
            (
                "a socket",
                vhost_user("/nonexistent,type=fs,tag=a").unwrap().resolved(),
            ),
        ]);
        insta::assert_snapshot!(shown);
        assert!(
            at(&work.path().join("file"))
                .unwrap_err()
                .to_string()
                .ends_with("is not a directory")
        );
    }
}
