//! The small root of a container's partition: this program as its init, and crun with the
//! libraries that it has here.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::boot::cpio::Archive;
use crate::boot::modules::{self, Module};
use crate::error::{Error, IoContext, Result};

/// What containers need of the kernel beside what `shimos run` brings.
const MODULES: [&str; 2] = ["virtiofs", "vmw_vsock_virtio_transport"];
/// In loading order, one a line.
pub const LIST: &str = "/oci/modules";
const TOOL: &str = "/bin/shimos";

/// Return the file of the one for a kernel of that version, with these programs of the host's.
/// It is in `directory`, made once, and again when something that is in it has changed.
pub fn file(directory: &Path, version: &str, programs: &[&str]) -> Result<PathBuf> {
    let tool = std::env::current_exe().or_fail("cannot find this program")?;
    let mut files = vec![(PathBuf::from(TOOL), tool)];
    for program in programs {
        files.push((Path::new("/usr/bin").join(program), find(program)?));
    }
    let of_modules = Path::new("/lib/modules").join(version).join("modules.dep");
    let more = [of_modules, "/etc/ld.so.cache".into()];
    let key = key(files.iter().map(|(_, path)| path).chain(&more));
    let path = directory.join(format!("{version}-{key:016x}"));
    if path.exists() {
        return Ok(path);
    }
    let new = directory.join(format!(".{}", std::process::id()));
    let archive = make(version, files)?;
    // Who makes the same at the same time makes it no worse.
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&new, archive))
        .and_then(|()| fs::rename(&new, &path))
        .or_fail(format_args!("cannot write {}", path.display()))?;
    Ok(path)
}

/// A number that changes when one of these files does, or the program that reads it.
fn key<'a>(files: impl Iterator<Item = &'a PathBuf>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for path in files {
        path.hash(&mut hasher);
        let found = fs::metadata(path).ok();
        found
            .map(|found| (found.len(), found.mtime(), found.mtime_nsec(), found.ino()))
            .hash(&mut hasher);
    }
    hasher.finish()
}

/// Put it together: files at their places, the libraries that they need, and modules.
fn make(version: &str, mut files: Vec<(PathBuf, PathBuf)>) -> Result<Vec<u8>> {
    let mut shared = BTreeSet::new();
    for (_, path) in files.iter().filter(|(place, _)| place != Path::new(TOOL)) {
        shared.extend(libraries(path)?);
    }
    files.extend(shared.into_iter().map(|path| (path.clone(), path)));
    let mut contents = Vec::new();
    for (place, path) in files {
        let data = fs::read(&path).or_fail(format_args!("cannot read {}", path.display()))?;
        contents.push((place, data));
    }
    Ok(archive(&contents, &modules::stock(version, &MODULES)?))
}

fn archive(files: &[(PathBuf, Vec<u8>)], modules: &[Module]) -> Vec<u8> {
    let mut archive = Archive::default();
    let list: Vec<String> = modules
        .iter()
        .map(|m| format!("/oci/{}.ko\n", m.name))
        .collect();
    let places = files.iter().map(|(place, _)| place.as_path());
    let mut directories: BTreeSet<&Path> =
        places.flat_map(|place| place.ancestors().skip(1)).collect();
    directories.remove(Path::new("/"));
    let more = [
        "/dev", "/oci", "/proc", "/run", "/share", "/sys", "/tmp", "/top",
    ];
    directories.extend(more.map(Path::new));
    for directory in directories {
        archive.directory(&directory.to_string_lossy());
    }
    for (place, data) in files {
        archive.file(&place.to_string_lossy(), 0o755, data);
    }
    archive.symlink("/init", TOOL);
    for module in modules {
        archive.file(&format!("/oci/{}.ko", module.name), 0o644, &module.data);
    }
    archive.file(LIST, 0o644, list.concat().as_bytes());
    archive.finish()
}

fn find(program: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            Error::new(format!(
                "there is no {program}, which a container's partition needs"
            ))
            .hint(format!("apt install {program}"))
        })
}

/// Return the libraries that a program is linked with, and what loads them.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let what = format!("cannot find the libraries of {}", program.display());
    let output = Command::new("ldd").arg(program).output().or_fail(&what)?;
    if !output.status.success() {
        return Err(Error::new(format!(
            "{what}: ldd has ended: {}",
            output.status
        )));
    }
    Ok(paths(&String::from_utf8_lossy(&output.stdout)))
}

/// Read what ldd says.
fn paths(text: &str) -> Vec<PathBuf> {
    let words = text.lines().map(|line| {
        let line = line.split_once(" (0x").map_or(line, |(line, _)| line);
        line.split_once(" => ")
            .map_or(line.trim(), |(_, path)| path)
    });
    words
        .filter(|path| path.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ldd_says() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\
            \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
            \tlibx.so => not found\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected = [
            "/lib/x86_64-linux-gnu/libc.so.6",
            "/lib64/ld-linux-x86-64.so.2",
        ];
        assert_eq!(paths(text), expected.map(PathBuf::from));
    }

    #[test]
    fn what_makes_it_another() {
        let work = tempfile::tempdir().unwrap();
        let files = [work.path().join("a"), work.path().join("b")];
        fs::write(&files[0], "1").unwrap();
        let of = |files: &[PathBuf]| key(files.iter());
        let first = of(&files);
        assert_eq!(of(&files), first);
        assert_ne!(of(&files[..1]), first);
        fs::write(&files[1], "1").unwrap();
        let second = of(&files);
        assert_ne!(second, first, "it is there now");
        fs::write(&files[1], "12").unwrap();
        assert_ne!(of(&files), second);
    }

    #[test]
    fn what_is_in_it() {
        let file = |path: &str| (PathBuf::from(path), b"x".to_vec());
        let module = Module {
            name: "fuse".into(),
            data: vec![1],
        };
        let data = archive(&[file("/usr/bin/crun"), file("/lib64/ld.so")], &[module]);
        for name in [
            "usr\0",
            "usr/bin\0",
            "usr/bin/crun\0",
            "init\0",
            "oci/fuse.ko\0",
            "share\0",
        ] {
            assert!(
                memchr::memmem::find(&data, name.as_bytes()).is_some(),
                "{name}"
            );
        }
        assert!(memchr::memmem::find(&data, b"/oci/fuse.ko\n").is_some());
    }
}
