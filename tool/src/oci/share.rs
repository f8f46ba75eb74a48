//! What a container sees of the host: its root and what is bound into it, below one directory
//! that the partition mounts.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::bundle::Bundle;
use super::{BINDS, MEMBERS, ROOT};
use crate::abi::mount;
use crate::error::{IoContext, Result};
use crate::ui::output;

/// Tell whether this process has the mounts of the machine. podman makes a container with users of
/// its own where it has others: nothing that is mounted there reaches a partition which waits.
pub fn has_mounts_of_machine() -> bool {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    namespace("self") == namespace("1")
}

/// The directory as the host writes it, and as the partition sees it, which can change nothing
/// of it but below the root and the binds.
pub struct Share {
    own: PathBuf,
    pub view: PathBuf,
}

impl Share {
    /// Name the share of a container, by its directory.
    pub fn of(directory: &Path) -> Self {
        Share {
            own: directory.join("share"),
            view: directory.join("view"),
        }
    }

    /// Name the part of one more container in the same partition.
    pub fn of_member(&self, id: &str) -> Self {
        Share {
            own: self.own.join(MEMBERS).join(id),
            view: self.view.join(MEMBERS).join(id),
        }
    }

    /// Make it, with nothing in it. What comes later virtiofsd sees, too, which has a mount
    /// namespace of its own and follows this one. What is half made `remove` takes away.
    pub fn make(&self) -> Result<()> {
        self.mount().or_fail("cannot mount the container's share")
    }

    fn mount(&self) -> io::Result<()> {
        for place in [&self.own, &self.view] {
            fs::create_dir(place)?;
        }
        // A mount, so that what is mounted below stays here; but whoever has other mounts finds the
        // same files there.
        mount::bind(&self.own, &self.own, false)?;
        mount::make_private(&self.own)?;
        for directory in [BINDS, MEMBERS] {
            fs::create_dir(self.own.join(directory))?;
        }
        mount::bind(&self.own, &self.view, false)?;
        mount::make_private(&self.view)?;
        mount::make_shared(&self.view)?;
        mount::make_read_only(&self.view)
    }

    /// Make the part of one more container.
    pub fn make_member(&self) -> Result<()> {
        fs::create_dir(&self.own)
            .and_then(|()| fs::create_dir(self.own.join(BINDS)))
            .or_fail("cannot make the container's part of the share")
    }

    /// Take the part of one more container away, as far as it is there. Nothing is removed but
    /// what is empty: what cannot be unmounted stays, and is not lost.
    pub fn remove_member(&self) -> Result<()> {
        let mut names = vec![ROOT.to_string()];
        let binds = fs::read_dir(self.own.join(BINDS)).into_iter().flatten();
        names.extend(binds.flatten().filter_map(|bind| {
            let name = bind.file_name().into_string().ok()?;
            Some(format!("{BINDS}/{name}"))
        }));
        for place in [&self.view, &self.own] {
            for name in &names {
                detach(&place.join(name))?;
            }
        }
        names.push(BINDS.into());
        let files = fs::read_dir(&self.own).into_iter().flatten().flatten();
        names.extend(files.filter_map(|file| {
            let is_file = file.file_type().is_ok_and(|kind| kind.is_file());
            is_file.then(|| file.file_name().into_string().ok())?
        }));
        names.push(String::new());
        for name in names {
            remove_empty(&self.own.join(name))?;
        }
        Ok(())
    }

    /// Add what the container has of the host.
    pub fn fill(&self, bundle: &Bundle) -> Result<()> {
        self.bind(&bundle.root, ROOT, true)?;
        for bind in bundle.binds() {
            warn_of_sockets(&bind.source);
            self.bind(
                &bind.source,
                &format!("{BINDS}/{}", bind.index),
                bind.recursive,
            )?;
        }
        Ok(())
    }

    fn bind(&self, source: &Path, name: &str, recursive: bool) -> Result<()> {
        let what = format!("cannot share '{}' with the container", source.display());
        let at = self.own.join(name);
        let made = match fs::metadata(source) {
            Ok(found) if found.is_dir() => fs::create_dir(&at),
            Ok(_) => File::create_new(&at).map(drop),
            Err(e) => Err(e),
        };
        made.or_fail(&what)?;
        // Whoever follows the view shall not follow the source.
        mount::bind(source, &at, recursive).or_fail(&what)?;
        mount::make_private(&at).or_fail(&what)?;
        mount::shift(&at, &self.view.join(name)).or_fail(&what)
    }

    /// Add a file of JSON that there is not yet.
    pub fn add(&self, name: &str, value: &Value) -> Result<()> {
        self.add_text(name, &value.to_string())
    }

    /// Add a file that there is not yet.
    pub fn add_text(&self, name: &str, text: &str) -> Result<()> {
        let what = "cannot write into the container's share";
        let mut file = File::create_new(self.own.join(name)).or_fail(what)?;
        file.write_all(text.as_bytes()).or_fail(what)
    }

    /// Take a file away that has been read there.
    pub fn remove_file(&self, name: &str) -> Result<()> {
        remove_empty(&self.own.join(name))
    }

    /// Take it away, as far as it is there.
    pub fn remove(&self) -> Result<()> {
        detach(&self.view)?;
        detach(&self.own)
    }
}

fn detach(place: &Path) -> Result<()> {
    match mount::detach(place) {
        // It is not there, or not mounted.
        Err(e)
            if matches!(
                e.raw_os_error(),
                Some(nix::libc::ENOENT | nix::libc::EINVAL)
            ) =>
        {
            Ok(())
        }
        result => result.or_fail(format_args!("cannot unmount {}", place.display())),
    }
}

fn remove_empty(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir(path),
        Ok(_) => fs::remove_file(path),
        Err(e) => Err(e),
    };
    match removed {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result.or_fail(format_args!("cannot remove {}", path.display())),
    }
}

fn warn_of_sockets(source: &Path) {
    use std::os::unix::fs::FileTypeExt;
    if fs::metadata(source).is_ok_and(|found| found.file_type().is_socket()) {
        output::note(format_args!(
            "'{}' is a socket: nobody in the container can connect to it, for it has another kernel",
            source.display()
        ));
    }
}
