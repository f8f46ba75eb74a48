//! What a container sees of the host: its root and what is bound into it, below one directory
//! that the partition mounts.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::bundle::Bundle;
use super::{BINDS, ROOT};
use crate::abi::mount;
use crate::error::{IoContext, Result};
use crate::ui::output;

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

    /// Make it, with nothing in it. If it is mounted in a partition already when it gets that,
    /// it is `followed`: virtiofsd, in a mount namespace of its own, sees what comes. What is half
    /// made `remove` takes away.
    pub fn make(&self, followed: bool) -> Result<()> {
        self.mount(followed)
            .or_fail("cannot mount the container's share")
    }

    fn mount(&self, followed: bool) -> io::Result<()> {
        for place in [&self.own, &self.view] {
            fs::create_dir(place)?;
        }
        mount::file_system("tmpfs", "shimos-oci", &self.own, "mode=755")?;
        mount::make_private(&self.own)?;
        fs::create_dir(self.own.join(BINDS))?;
        mount::bind(&self.own, &self.view, false)?;
        mount::make_private(&self.view)?;
        if followed {
            mount::make_shared(&self.view)?;
        }
        mount::make_read_only(&self.view)
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

    /// Take it away, as far as it is there.
    pub fn remove(&self) -> Result<()> {
        for place in [&self.view, &self.own] {
            match mount::detach(place) {
                // It is not there, or not mounted.
                Err(e)
                    if matches!(
                        e.raw_os_error(),
                        Some(nix::libc::ENOENT | nix::libc::EINVAL)
                    ) => {}
                result => result.or_fail(format_args!("cannot unmount {}", place.display()))?,
            }
        }
        Ok(())
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
