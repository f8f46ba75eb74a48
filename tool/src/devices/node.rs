//! The real back end: `/dev/shimos-devices`.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::errno::Errno;

use super::{
    AddDisk, AddNet, BACK_END, Counters, Devices, Kind, MODULE, Mac, Offer, State, Status,
};
use crate::abi::devices as raw;
use crate::abi::{Argument as _, program, text};
use crate::error::{Error, Result, io_text};
use crate::ui::refusal::{Outcome, Refusal};

/// The back end's device.
pub const PATH: &str = "/dev/shimos-devices";

/// Places in a ring that a program serves, at most.
const RING: u32 = 256;

/// The back end, opened.
pub struct Node {
    file: File,
}

impl Node {
    /// Open the device, load its module if need be, or say what is missing.
    pub fn open() -> Result<Self> {
        match Self::try_open() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                load(MODULE);
                Self::try_open().map_err(|e| open_error(&e))
            }
            other => other.map_err(|e| open_error(&e)),
        }
    }

    /// Open it for whom it is a detail only: nothing if the module is not loaded.
    pub fn open_if_there() -> Option<Self> {
        Self::try_open().ok()
    }

    /// Open it, with the system's error if that fails.
    pub fn try_open() -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(PATH)?;
        Ok(Self { file })
    }

    /// Share a device that this process serves, by the file that comes back; its number
    /// comes along.
    pub fn add_program(&self, user: u32, offer: &Offer) -> Outcome<(u32, File)> {
        let mut argument = program::AddProgram::new();
        argument.user = user;
        argument.r#type = match offer.kind {
            Kind::Vsock => raw::TYPE_VSOCK,
            _ => raw::TYPE_FS,
        };
        argument.features = offer.features;
        argument.queues = offer.queues;
        argument.ring = RING;
        fill(&mut argument.name, &offer.name, "the name")?;
        for (to, from) in argument.config.iter_mut().zip(&offer.config) {
            *to = *from;
        }
        argument.config_len = u32::try_from(offer.config.len()).unwrap_or(u32::MAX);
        let file = program::add(&self.file, &mut argument).map_err(|e| self.refusal(e))?;
        Ok((argument.id, file))
    }

    fn refusal(&self, errno: Errno) -> Refusal {
        let mut argument = raw::ErrorText::new();
        let text = match errno {
            Errno::EINTR => String::new(),
            _ => match raw::error_text(&self.file, &mut argument) {
                Ok(()) => text(&argument.text),
                Err(_) => String::new(),
            },
        };
        BACK_END.refusal(errno, text)
    }
}

/// Try to load a module; whether that worked shows by what is there then.
pub fn load(module: &str) {
    if nix::unistd::geteuid().is_root() {
        let _ = Command::new("modprobe")
            .args(["-q", module])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

fn open_error(error: &io::Error) -> Error {
    if !nix::unistd::geteuid().is_root() {
        return Error::new("only root may share devices").hint("try: sudo shimos …");
    }
    if error.kind() != io::ErrorKind::NotFound {
        return Error::new(format!("cannot open {PATH}: {}", io_text(error)))
            .hint("`shimos doctor` may know more");
    }
    if Path::new("/sys/module").join(MODULE).exists() {
        return Error::new(format!("there is no {PATH}"))
            .hint("the module is loaded; is udev or devtmpfs running?");
    }
    Error::new(format!("there is no {PATH}: {MODULE} is not loaded"))
        .hint(format!("load the module: modprobe {MODULE}"))
}

/// Put `value` and a NUL into a fixed field.
fn fill(field: &mut [u8], value: &str, what: &str) -> Outcome<()> {
    let most = field.len().saturating_sub(1);
    match field.get_mut(..value.len()) {
        Some(place) if value.len() <= most => {
            place.copy_from_slice(value.as_bytes());
            Ok(())
        }
        _ => Err(BACK_END.refusal(
            Errno::ENAMETOOLONG,
            format!("{what} '{value}' is too long, {most} bytes are the most"),
        )),
    }
}

fn status_from(raw: &raw::Status) -> Status {
    Status {
        id: raw.id,
        user: raw.user,
        user_name: text(&raw.user_name),
        kind: match raw.r#type {
            raw::TYPE_DISK => Kind::Disk,
            raw::TYPE_NET => Kind::Net,
            raw::TYPE_VSOCK => Kind::Vsock,
            raw::TYPE_FS => Kind::Fs,
            _ => Kind::Unknown,
        },
        name: text(&raw.name),
        state: State::from_raw(raw.state),
        problem: text(&raw.problem),
        read_only: raw.flags & raw::DISK_READ_ONLY != 0,
        queues: raw.queues,
        major: raw.major,
        minor: raw.minor,
        capacity: raw.capacity,
        mac: Mac(raw.mac),
        mtu: raw.mtu,
        features: raw.features,
        counters: Counters {
            reads: raw.reads,
            read_bytes: raw.read_bytes,
            writes: raw.writes,
            write_bytes: raw.write_bytes,
            others: raw.others,
            errors: raw.errors,
            doorbells_from_user: raw.kicks,
            doorbells_to_user: raw.calls,
            doorbells_saved: raw.calls_saved,
            direct_bytes: raw.direct_bytes,
            copied_bytes: raw.copied_bytes,
            polled_ns: raw.polled_ns,
        },
    }
}

impl Devices for Node {
    fn add_disk(&self, disk: &AddDisk<'_>) -> Outcome<u32> {
        let mut argument = raw::AddDisk::new();
        argument.user = disk.user;
        argument.queues = disk.queues;
        if disk.read_only {
            argument.flags |= raw::DISK_READ_ONLY;
        }
        fill(&mut argument.name, disk.name, "the name")?;
        raw::add_disk(&self.file, &mut argument, disk.disk).map_err(|e| self.refusal(e))?;
        Ok(argument.id)
    }

    fn add_net(&self, net: &AddNet<'_>) -> Outcome<u32> {
        let mut argument = raw::AddNet::new();
        argument.user = net.user;
        argument.queues = net.queues;
        fill(&mut argument.ifname, net.ifname, "the interface")?;
        fill(
            &mut argument.bridge,
            net.bridge.unwrap_or_default(),
            "the bridge",
        )?;
        argument.mac = net.mac.0;
        argument.mtu = net.mtu;
        raw::add_net(&self.file, &mut argument).map_err(|e| self.refusal(e))?;
        Ok(argument.id)
    }

    fn remove(&self, id: u32, force: bool) -> Outcome<()> {
        let flags = if force { raw::FORCE } else { 0 };
        raw::remove(&self.file, id, flags).map_err(|e| self.refusal(e))
    }

    fn status(&self, id: u32) -> Outcome<Status> {
        let mut argument = raw::Status::new();
        argument.id = id;
        raw::status(&self.file, &mut argument).map_err(|e| self.refusal(e))?;
        Ok(status_from(&argument))
    }

    fn next(&self, id: u32) -> Outcome<Option<Status>> {
        let mut argument = raw::Status::new();
        argument.id = id;
        argument.flags = raw::NEXT;
        match raw::status(&self.file, &mut argument) {
            Ok(()) => Ok(Some(status_from(&argument))),
            Err(Errno::ENOENT) => Ok(None),
            Err(e) => Err(self.refusal(e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_nul() {
        let mut field = [0; 4];
        assert_eq!(fill(&mut field, "abc", "x"), Ok(()));
        assert_eq!(&field, b"abc\0");
        assert_eq!(
            fill(&mut field, "abcd", "the bridge").unwrap_err().text,
            "the bridge 'abcd' is too long, 3 bytes are the most"
        );
        assert!(fill(&mut field, "abcdefgh", "x").is_err());
    }

    #[test]
    fn what_no_kernel_should_say() {
        let mut raw = raw::Status::new();
        raw.r#type = 99;
        raw.state = 99;
        raw.name = [b'x'; raw::NAME_LEN];
        let status = status_from(&raw);
        assert_eq!((status.kind, status.state), (Kind::Unknown, State::Unknown));
        assert_eq!(status.name.len(), raw::NAME_LEN);
        raw.flags = raw::DISK_READ_ONLY;
        raw.r#type = raw::TYPE_DISK;
        raw.mac = [2, 0, 0, 0, 0xab, 1];
        let status = status_from(&raw);
        assert!(status.read_only);
        assert_eq!(status.kind, Kind::Disk);
        assert_eq!(status.mac.to_string(), "02:00:00:00:ab:01");
        assert_eq!(raw.hdr.version, raw::VERSION);
    }
}
