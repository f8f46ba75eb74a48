//! `/dev/shimos-kml`.

use std::fs::File;
use std::io;

use nix::errno::Errno;

use super::MODULE;
use crate::abi::{kml as raw, text};
use crate::error::{Error, Result, io_text};
use crate::system::System;
use crate::ui::refusal;

/// The module's device.
pub const PATH: &str = "/dev/shimos-kml";

/// More threads than a machine has.
const MAX_TASKS: usize = 1 << 16;

/// The module, as it refuses.
static REFUSES: refusal::Module = refusal::Module {
    name: MODULE,
    words: |_| None,
};

/// The module, opened.
pub struct Node {
    file: File,
}

/// What the module counts, since it was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub threads: u64,
    pub trusted: u64,
    pub refused: u64,
    pub syscalls: u64,
    pub calls: u64,
    pub promotions: u64,
    pub fixes: u64,
    pub retries: u64,
    /// Why the last one was refused.
    pub reason: Option<String>,
}

impl Node {
    /// Open the device, or say what is missing. The module is not loaded on the
    /// way: whether anything may run in kernel mode is the administrator's to say.
    pub fn open(system: &System) -> Result<Self> {
        match File::open(PATH) {
            Ok(file) => Ok(Self { file }),
            Err(e) => Err(open_error(&e, super::loaded(system))),
        }
    }

    /// Ask what it has counted, and what was refused last.
    pub fn status(&self) -> Result<Status> {
        let raw =
            raw::status(&self.file).map_err(|e| self.refused("cannot ask for the status", e))?;
        Ok(status_from(&raw))
    }

    /// Return the ids of all trusted threads.
    pub fn threads(&self) -> Result<Vec<u32>> {
        let mut room = 256;
        loop {
            let mut tids = vec![0; room];
            let count = raw::tasks(&self.file, &mut tids)
                .map_err(|e| self.refused("cannot list the trusted threads", e))?;
            let count = usize::try_from(count).unwrap_or(MAX_TASKS);
            if count <= room || room >= MAX_TASKS {
                tids.truncate(count);
                return Ok(tids);
            }
            // Some more may start meanwhile.
            room = (2 * count).min(MAX_TASKS);
        }
    }

    /// Trust the next exec of this thread.
    pub fn trust_next(&self) -> Result<()> {
        raw::trust_next(&self.file).map_err(|e| match e {
            Errno::EPERM => Error::new("the kernel refuses kernel mode to this caller")
                .hint("it takes CAP_SYS_RAWIO outside of containers, and no lockdown; `shimos doctor` tells of that"),
            e => self.refused("cannot ask for kernel mode", e),
        })
    }

    fn refused(&self, what: &str, errno: Errno) -> Error {
        // Of what else it refuses it tells by the status.
        let text = match errno {
            Errno::EPROTO => raw::error_text(&self.file),
            _ => String::new(),
        };
        REFUSES.refusal(errno, text).error(what)
    }
}

fn status_from(raw: &raw::Status) -> Status {
    let reason = text(&raw.reason);
    Status {
        threads: raw.tasks,
        trusted: raw.trusted,
        refused: raw.refused,
        syscalls: raw.syscalls,
        calls: raw.calls,
        promotions: raw.promotions,
        fixes: raw.fixes,
        retries: raw.retries,
        reason: (!reason.is_empty()).then_some(reason),
    }
}

fn open_error(error: &io::Error, loaded: bool) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound if loaded => Error::new(format!("there is no {PATH}"))
            .hint("the module is loaded; is udev or devtmpfs running?"),
        io::ErrorKind::NotFound => Error::new(format!("{MODULE} is not loaded")).hint(format!(
            "load it: modprobe {MODULE}; if it refuses, `shimos doctor` says why"
        )),
        io::ErrorKind::PermissionDenied => {
            Error::new("only root may run programs in kernel mode, or ask which do")
                .hint("try: sudo shimos trust …")
        }
        _ => Error::new(format!("cannot open {PATH}: {}", io_text(error)))
            .hint("`shimos doctor` may know more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Argument as _;

    fn parts(error: Error) -> (String, String) {
        let Error::Failed { message, hint } = error else {
            panic!()
        };
        (message, hint.unwrap_or_default())
    }

    #[test]
    fn a_missing_device_says_what_to_do() {
        let missing = io::Error::from_raw_os_error(2);
        let (message, hint) = parts(open_error(&missing, false));
        assert_eq!(message, "shimos_kml is not loaded");
        assert!(hint.contains("modprobe shimos_kml"));
        assert!(parts(open_error(&missing, true)).1.contains("devtmpfs"));
        let denied = io::Error::from_raw_os_error(13);
        assert!(parts(open_error(&denied, true)).0.contains("only root"));
        let other = io::Error::from_raw_os_error(24);
        assert!(parts(open_error(&other, true)).0.contains("Too many"));
    }

    #[test]
    fn reasons() {
        let mut raw = raw::Status::new();
        assert_eq!(status_from(&raw).reason, None);
        raw.reason = [b'x'; raw::REASON_LEN];
        assert_eq!(status_from(&raw).reason.unwrap().len(), raw::REASON_LEN);
        assert_eq!(raw.hdr.version, raw::VERSION);
    }
}
