//! The small root of a container's partition: this program as its init, and crun with the
//! libraries that it has here.

use std::collections::BTreeSet;
use std::fs;
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

/// Make it for a kernel of that version, with these programs of the host's.
pub fn make(version: &str, programs: &[&str]) -> Result<Vec<u8>> {
    let tool = std::env::current_exe().or_fail("cannot find this program")?;
    let mut files = vec![(PathBuf::from(TOOL), tool)];
    let mut shared = BTreeSet::new();
    for program in programs {
        let path = find(program)?;
        shared.extend(libraries(&path)?);
        files.push((Path::new("/usr/bin").join(program), path));
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
