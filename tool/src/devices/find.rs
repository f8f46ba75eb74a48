//! From what the user calls a device to the device.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use super::{Kind, Status, image, usage};
use crate::error::{Error, Result};
use crate::system::{Number, System};

/// What a user calls a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The path of the disk or of its image.
    Disk(String),
    /// The interface on this side.
    Net(String),
    /// The tag of the file system.
    Fs(String),
    /// The one that it has.
    Vsock,
    Id(u32),
}

/// Find the device of `user`, or fail with an error that lists those there are.
pub fn find(system: &System, list: &[Status], user: &str, which: &Which) -> Result<Status> {
    let its: Vec<&Status> = list.iter().filter(|s| s.user_name == user).collect();
    let found = match which {
        Which::Id(id) => its.iter().find(|s| s.id == *id),
        Which::Net(name) => its.iter().find(|s| s.kind == Kind::Net && s.name == *name),
        Which::Fs(tag) => its.iter().find(|s| s.kind == Kind::Fs && s.name == *tag),
        Which::Vsock => its.iter().find(|s| s.kind == Kind::Vsock),
        Which::Disk(path) => its
            .iter()
            .find(|s| s.kind == Kind::Disk && s.name == *path)
            .or_else(|| its.iter().find(|s| is_path(system, s, path))),
    };
    if let Some(status) = found {
        return Ok((*status).clone());
    }
    let what = match which {
        Which::Id(id) => format!("device {id}"),
        Which::Net(name) => format!("network device '{name}'"),
        Which::Fs(tag) => format!("file system '{tag}'"),
        Which::Vsock => "vsock".into(),
        Which::Disk(path) => format!("disk '{path}'"),
    };
    let error = Error::new(format!("'{user}' has no {what} of this kernel's"));
    Err(match its.as_slice() {
        [] => error.hint("it has none at all; `shimos devices` lists all that are shared"),
        its => {
            let names: Vec<String> = its
                .iter()
                .map(|s| format!("{} {} (id {})", s.kind, s.name, s.id))
                .collect();
            error.hint(format!("it has: {}", names.join(", ")))
        }
    })
}

/// Does the path lead to this disk, whatever it was called when it was shared?
fn is_path(system: &System, status: &Status, path: &str) -> bool {
    let Ok(metadata) = fs::metadata(path) else {
        return false;
    };
    if status.kind != Kind::Disk {
        return false;
    }
    if metadata.file_type().is_block_device() {
        return usage::is_it(status, Number::of(metadata.rdev()));
    }
    let number = Number {
        major: status.major.into(),
        minor: status.minor.into(),
    };
    let backing = system
        .block(number)
        .and_then(|b| b.read("loop/backing_file"));
    metadata.is_file() && backing.is_some_and(|backing| image::is_file(&backing, &metadata))
}

#[cfg(test)]
mod tests {
    use super::super::fake;
    use super::*;
    use crate::system;

    fn list() -> Vec<Status> {
        vec![
            fake::disk(1, "web", "/dev/vdb"),
            fake::net(2, "web", "shm-web0"),
            fake::disk(3, "db", "/dev/vdc"),
        ]
    }

    #[test]
    fn by_name_and_number() {
        let system = System::real();
        let id = |user, which| find(&system, &list(), user, &which).map(|s| s.id);
        assert_eq!(id("web", Which::Disk("/dev/vdb".into())), Ok(1));
        assert_eq!(id("web", Which::Net("shm-web0".into())), Ok(2));
        assert_eq!(id("db", Which::Id(3)), Ok(3));
        assert!(id("db", Which::Id(1)).is_err(), "another's");
        assert!(id("web", Which::Net("/dev/vdb".into())).is_err());
    }

    #[test]
    fn not_there() {
        let system = System::real();
        let Error::Failed { message, hint } =
            find(&system, &list(), "web", &Which::Disk("/dev/vdz".into())).unwrap_err()
        else {
            panic!()
        };
        assert_eq!(message, "'web' has no disk '/dev/vdz' of this kernel's");
        assert_eq!(
            hint.unwrap(),
            "it has: disk /dev/vdb (id 1), net shm-web0 (id 2)"
        );
        let error = find(&system, &list(), "x", &Which::Id(1)).unwrap_err();
        assert!(matches!(error, Error::Failed { hint: Some(h), .. } if h.contains("none at all")));
    }

    #[test]
    fn images_by_any_path() {
        let image = tempfile::NamedTempFile::new().unwrap();
        let path = format!("{}\n", image.path().display());
        let (_work, system) =
            system::example(&[("sys/devices/pci/block/vdb/loop/backing_file", &path)]);
        let which = Which::Disk(image.path().to_str().unwrap().into());
        assert_eq!(find(&system, &list(), "web", &which).unwrap().id, 1);
        let other = tempfile::NamedTempFile::new().unwrap();
        let which = Which::Disk(other.path().to_str().unwrap().into());
        assert!(find(&system, &list(), "web", &which).is_err());
    }
}
