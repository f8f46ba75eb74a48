//! The partition's kernel modules: find them for a kernel version, decompress.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use memchr::memmem;
use shimos_unpack::{Packing, unpack};

use crate::error::{Error, Result, io_text};
use crate::system::System;
use crate::system::host::Host;

/// No module of ours comes near; an archive bomb stops here.
const MAX: u64 = 64 << 20;
const ENDINGS: [&str; 4] = ["", ".xz", ".zst", ".gz"];

/// Where to look for modules of `version`.
fn directories(version: &str) -> Vec<PathBuf> {
    // For development and tests: a directory with <version>/ in it.
    if let Some(root) = std::env::var_os("SHIMOS_MODULES") {
        let root = PathBuf::from(root).join(version);
        return vec![root.clone(), root.join("updates/dkms")];
    }
    let root = Path::new("/lib/modules").join(version);
    ["updates/dkms", "updates", "extra"]
        .iter()
        .map(|d| root.join(d))
        .collect()
}

/// Return the path of a module, `name` without ".ko".
pub fn find(version: &str, name: &str) -> Option<PathBuf> {
    for directory in directories(version) {
        for ending in ENDINGS {
            let path = directory.join(format!("{name}.ko{ending}"));
            if path.is_file() {
                return Some(path);
            }
        }
    }
    None
}

/// Read a module, decompressed and checked to be one for this kernel.
pub fn read(version: &str, name: &str) -> Result<Vec<u8>> {
    let Some(path) = find(version, name) else {
        return Err(
            Error::new(format!("there is no module {name} for kernel {version}"))
                .hint(build_hint(version)),
        );
    };
    read_file(&path, version).map_err(|e| e.hint(build_hint(version)))
}

/// Read the same for one whose file is known.
pub fn read_file(path: &Path, version: &str) -> Result<Vec<u8>> {
    let shown = path.display();
    let data = decompressed(path)
        .map_err(|e| Error::new(format!("cannot read module {shown}: {}", io_text(&e))))?;
    check(&data, version).map_err(|why| Error::new(format!("module {shown} {why}")))?;
    Ok(data)
}

/// Return the commands that build our modules for a kernel of Debian's.
pub fn build_commands(version: &str) -> String {
    format!("apt install linux-headers-{version} && dkms autoinstall -k {version}")
}

/// Say what to do about a module that the running kernel does not have.
///
/// That depends on what there could be: apt has headers of Debian's kernels only, and nothing is
/// built without the sources.
pub fn advice(host: &Host) -> String {
    let release = host.release();
    let sources = System::at(&host.root).list("usr/src");
    if !host.is_debians() {
        "boot one of Debian's kernels; this one is none, and apt has no headers to build modules for it"
            .to_string()
    } else if !sources.iter().any(|name| name.starts_with("shimos-")) {
        format!(
            "make deb, and then: apt install ./build/deb/shimos-dkms_*.deb linux-headers-{release}"
        )
    } else {
        format!(
            "{}; if that was done: dkms status shimos",
            build_commands(&release)
        )
    }
}

fn build_hint(version: &str) -> String {
    format!("try: {}", build_commands(version))
}

fn decompressed(path: &Path) -> io::Result<Vec<u8>> {
    let mut input = File::open(path)?;
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let mut output = Bounded(Vec::new());
    let packing = match ending {
        "xz" => Some(Packing::Xz),
        "zst" => Some(Packing::Zstd),
        "gz" => Some(Packing::Gzip),
        _ => None,
    };
    match packing {
        Some(packing) => unpack(packing, &mut input, &mut output)?,
        None => drop(io::copy(&mut input.take(MAX + 1), &mut output)?),
    }
    Ok(output.0)
}

/// Collects up to `MAX` bytes.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if (self.0.len() + data.len()) as u64 > MAX {
            return Err(io::Error::other("it is too large to be a module"));
        }
        self.0.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn check(data: &[u8], version: &str) -> Result<(), String> {
    if !data.starts_with(b"\x7fELF") {
        return Err("is no kernel module (no ELF file)".into());
    }
    let mark = b"\0vermagic=";
    let alternative = b"vermagic=";
    let found = memmem::find(data, mark)
        .map(|at| at + mark.len())
        .or_else(|| memmem::find(data, alternative).map(|at| at + alternative.len()));
    let Some(at) = found else {
        return Err("is no kernel module (no vermagic)".into());
    };
    let rest = data.get(at..).unwrap_or_default();
    let end = rest
        .iter()
        .take(128)
        .position(|b| *b == b' ' || *b == 0)
        .unwrap_or(0);
    let made_for = String::from_utf8_lossy(rest.get(..end).unwrap_or_default());
    if made_for != version {
        return Err(format!(
            "was built for kernel {made_for}, not for {version}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::example;
    use std::io::Write;
    use std::process::{Command, Stdio};

    fn module(version: &str) -> Vec<u8> {
        let mut data = b"\x7fELF".to_vec();
        data.resize(5000, 3);
        data.extend_from_slice(format!("\0vermagic={version} SMP mod_unload\0").as_bytes());
        data
    }

    #[test]
    fn version_check() {
        assert_eq!(check(&module("6.1.0-1"), "6.1.0-1"), Ok(()));
        assert!(
            check(&module("6.1.0-2"), "6.1.0-1")
                .unwrap_err()
                .contains("built for")
        );
        assert!(check(b"\x7fELF", "6.1").unwrap_err().contains("vermagic"));
        assert!(check(b"junk", "6.1").unwrap_err().contains("ELF"));
        assert!(check(b"\x7fELFvermagic=", "6.1").is_err());
    }

    #[test]
    fn every_compression() {
        let work = tempfile::tempdir().unwrap();
        let want = module("6.1");
        for (ending, program) in [
            ("", "cat"),
            (".xz", "xz"),
            (".zst", "zstd"),
            (".gz", "gzip"),
        ] {
            let path = work.path().join(format!("m.ko{ending}"));
            let child = Command::new(program)
                .args(if program == "xz" {
                    &["-c", "--check=crc32", "--lzma2=dict=1MiB"][..]
                } else if program == "cat" {
                    &[][..]
                } else {
                    &["-c"][..]
                })
                .stdin(Stdio::piped())
                .stdout(File::create(&path).unwrap())
                .spawn();
            let Ok(mut child) = child else { continue };
            child.stdin.take().unwrap().write_all(&want).unwrap();
            assert!(child.wait().unwrap().success());
            assert_eq!(decompressed(&path).unwrap(), want, "{program}");
            // Damaged and truncated files are errors, not panics.
            let packed = std::fs::read(&path).unwrap();
            if ending.is_empty() {
                continue;
            }
            std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
            assert!(decompressed(&path).is_err(), "{program}");
            for at in 0..packed.len().min(60) {
                let mut bad = packed.clone();
                bad[at] ^= 0x55;
                std::fs::write(&path, &bad).unwrap();
                let _ = decompressed(&path);
            }
        }
    }

    #[test]
    fn missing_modules_say_how_to_build_them() {
        let error = read("0.0-none", "shimos_agent").unwrap_err();
        let Error::Failed { message, hint } = error else {
            panic!()
        };
        assert!(message.contains("no module shimos_agent for kernel 0.0-none"));
        assert!(hint.unwrap().contains("linux-headers-0.0-none"));
    }

    #[test]
    fn what_to_do_without_a_module() {
        let said = |files: &[(&str, &str)]| {
            let (_work, system) = example(files);
            advice(&Host::new(system.path("")))
        };
        let release = ("proc/sys/kernel/osrelease", "6.12.1-amd64\n");
        let debians = (
            "proc/sys/kernel/version",
            "#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1 (2026-01-01)\n",
        );
        assert!(said(&[release]).contains("boot one of Debian's kernels"));
        assert!(said(&[release, debians]).starts_with("make deb"));
        let source = ("usr/src/shimos-1.0/dkms.conf", "");
        let text = said(&[release, debians, source]);
        assert!(text.starts_with("apt install linux-headers-6.12.1-amd64 && dkms"));
    }
}
