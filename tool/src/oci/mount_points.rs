//! Where a container's mounts go in its root. Both halves of it mount there at the same time, and
//! crun fails if another one makes a mount point which it has just found missing.

use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat, openat2};
use nix::sys::stat::{Mode, mkdirat};
use serde_json::Value;

use super::bundle::{Bundle, is_bind, mounts};

const DIRECTORY: Mode = Mode::from_bits_truncate(0o755);
const FILE: Mode = Mode::from_bits_truncate(0o644);

/// Make what is missing. Whatever cannot be made crun misses as well, and says so.
pub fn make(bundle: &Bundle) {
    for (index, mount) in mounts(&bundle.config).iter().enumerate() {
        if let Some((directory, path)) = place(bundle, index) {
            let is_file = is_bind(mount) && source(bundle, mount).is_some_and(|it| it.is_file());
            let _ = make_one(&directory, &path, is_file);
        }
    }
}

/// Return the directory on the host that has a mount point, and the place in it. `None`: it is in
/// what each half mounts for itself.
fn place(bundle: &Bundle, index: usize) -> Option<(PathBuf, PathBuf)> {
    let (earlier, rest) = mounts(&bundle.config).split_at(index);
    let path = destination(rest.first()?)?;
    let below =
        |mount: &&Value| destination(mount).is_some_and(|it| path.starts_with(it) && path != it);
    match earlier.iter().rfind(below) {
        None => Some((bundle.root.clone(), path.into())),
        Some(mount) if is_bind(mount) => {
            let inside = path.strip_prefix(destination(mount)?).ok()?;
            Some((source(bundle, mount)?, inside.into()))
        }
        Some(_) => None,
    }
}

fn destination(mount: &Value) -> Option<&Path> {
    Some(Path::new(mount.get("destination")?.as_str()?))
}

fn source(bundle: &Bundle, mount: &Value) -> Option<PathBuf> {
    Some(bundle.directory.join(mount.get("source")?.as_str()?))
}

/// Make a directory or an empty file, with all that is above it. Links lead nowhere but into `top`.
fn make_one(top: &Path, path: &Path, is_file: bool) -> nix::Result<()> {
    let top = open(top, OFlag::O_PATH | OFlag::O_DIRECTORY, Mode::empty())?;
    let how = OpenHow::new().flags(OFlag::O_PATH | OFlag::O_CLOEXEC);
    let how = how.resolve(ResolveFlag::RESOLVE_IN_ROOT);
    let found = |path: &Path| openat2(&top, path, how);
    let mut above = found(Path::new("."))?;
    let mut names = path.iter().filter(|name| *name != "/").peekable();
    let mut so_far = PathBuf::new();
    while let Some(name) = names.next() {
        so_far.push(name);
        above = match found(&so_far) {
            Err(Errno::ENOENT) if is_file && names.peek().is_none() => openat(
                &above,
                name,
                OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC,
                FILE,
            )?,
            Err(Errno::ENOENT) => {
                mkdirat(&above, name, DIRECTORY)?;
                found(&so_far)?
            }
            it => it?,
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::bundle::tests::example;
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_missing_is_made() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        for name in ["root", "there", "outside", "volume"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("hosts"), "text").unwrap();
        symlink(at("outside"), at("root/link")).unwrap();
        symlink("/nowhere/yet", at("root/dangling")).unwrap();
        let mut bundle = example();
        bundle.root = at("root");
        bundle.config["mounts"] = json!([
            {"destination": "/proc", "type": "proc"},
            {"destination": "/dev", "type": "tmpfs"},
            {"destination": "/dev/pts", "type": "devpts"},
            {"destination": "/etc/hosts", "source": at("hosts"), "options": ["bind"]},
            {"destination": "/a/../b/c", "source": at("volume"), "options": ["rbind"]},
            {"destination": "/data", "source": at("volume"), "options": ["rbind"]},
            {"destination": "/data/deep/file", "source": at("hosts"), "options": ["bind"]},
            {"destination": "/link/x", "type": "tmpfs"},
            {"destination": "/dangling", "type": "tmpfs"},
            {"destination": "../../up", "type": "tmpfs"},
            {"type": "tmpfs"},
        ]);
        make(&bundle);
        let is_dir = |name: &str| at(name).symlink_metadata().is_ok_and(|it| it.is_dir());
        for name in ["proc", "dev", "b/c", "data", "up"] {
            assert!(is_dir(&format!("root/{name}")), "{name}");
        }
        assert_eq!(fs::read_to_string(at("root/etc/hosts")).unwrap(), "");
        assert_eq!(fs::read_to_string(at("volume/deep/file")).unwrap(), "");
        assert!(
            !at("root/dev/pts").exists(),
            "it is below another file system"
        );
        // The link leads to a place in the root, which there is not.
        assert_eq!(fs::read_dir(at("outside")).unwrap().count(), 0);
        assert!(at("root/dangling").is_symlink() && !at("up").exists());
        make(&bundle);
        assert_eq!(fs::read_to_string(at("hosts")).unwrap(), "text");
    }
}
