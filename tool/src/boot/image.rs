//! What kind of file is this kernel, is it whole, and which version is it?

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use object::elf::{self, FileHeader64, ProgramHeader64};
use object::{LittleEndian as LE, pod};

use crate::arch::image::{Format, KernelImage, banner, read_up_to, truncated};
use crate::arch::{self, Architecture, NATIVE};
use crate::error::{Error, IoContext, Result};

/// Enough for the x86 setup header and every other format's magic.
const HEAD: usize = 0x20000;
/// Open `path` and look. The file is what KLoader gets: this one, or what is packed in it.
pub fn open(path: &Path) -> Result<(File, KernelImage)> {
    open_as(NATIVE, path)
}

/// Open the same for a partition of this architecture.
pub fn open_as(architecture: &Architecture, path: &Path) -> Result<(File, KernelImage)> {
    let shown = path.display();
    let file = File::open(path).or_fail(format_args!("cannot open kernel {shown}"))?;
    let metadata = file
        .metadata()
        .or_fail(format_args!("cannot look at kernel {shown}"))?;
    if !metadata.is_file() {
        let error = Error::new(format!("kernel {shown} is not a regular file"));
        return Err(error.hint(give(architecture)));
    }
    unpacked(architecture, file)
        .and_then(|file| {
            let image = inspect(architecture, &file)?;
            Ok((file, image))
        })
        .map_err(|e| e.context(shown).or_hint(give(architecture)))
}

/// Return where the kernel that runs here is.
pub fn of_host() -> Result<PathBuf> {
    let uname = nix::sys::utsname::uname().or_fail("cannot find out which kernel this is")?;
    let path = format!("/boot/vmlinuz-{}", uname.release().to_string_lossy());
    if !Path::new(&path).exists() {
        return Err(Error::new(format!(
            "the host's own kernel is not where it usually is: there is no {path}"
        )));
    }
    Ok(path.into())
}

fn give(architecture: &Architecture) -> String {
    format!("give {}", architecture.kernels)
}

/// Its beginning and its length.
fn head(file: &File) -> Result<(Vec<u8>, u64)> {
    const WHAT: &str = "cannot read it";
    let mut head = vec![0; HEAD];
    let got = read_up_to(file, &mut head, 0).or_fail(WHAT)?;
    head.truncate(got);
    Ok((head, file.metadata().or_fail(WHAT)?.len()))
}

fn unpacked(architecture: &Architecture, file: File) -> Result<File> {
    let (head, len) = head(&file)?;
    Ok((architecture.unpacked)(&file, &head, len)?.unwrap_or(file))
}

fn inspect(architecture: &Architecture, file: &File) -> Result<KernelImage> {
    let (head, len) = head(file)?;
    let name = architecture.name_with_article;
    if (architecture.is_image)(&head) {
        return (architecture.inspect)(file, &head, len);
    }
    if let Some(other) = arch::ALL.iter().find(|other| (other.is_image)(&head)) {
        let what = other.name_with_article;
        return Err(Error::new(format!(
            "this is {what} kernel, not {name} kernel"
        )));
    }
    if let Some(what) = foreign(&head) {
        return Err(Error::new(format!("this is {what}, not {name} kernel")));
    }
    if head.starts_with(b"\x7fELF") {
        elf(architecture, file, &head, len)
    } else if head.starts_with(b"MZ") {
        Err(
            Error::new("this is an EFI program without a Linux boot header")
                .hint("a unified kernel image? give the vmlinuz it was built from"),
        )
    } else {
        Err(Error::new("this is not a Linux kernel"))
    }
}

/// Formats that are recognised in order to name them.
fn foreign(head: &[u8]) -> Option<&'static str> {
    let magic =
        |at: usize, magic: &[u8]| head.get(at..).is_some_and(|rest| rest.starts_with(magic));
    Some(if head.is_empty() {
        "an empty file"
    } else if magic(0x38, b"RSC\x05") {
        "a RISC-V kernel"
    } else if magic(4, b"zimg") {
        "a compressed EFI kernel (zboot: arm64, RISC-V or LoongArch)"
    } else if magic(0x24, &[0x18, 0x28, 0x6f, 0x01]) {
        "a 32-bit ARM kernel"
    } else if magic(0, &[0x27, 0x05, 0x19, 0x56]) {
        "a U-Boot image"
    } else if magic(0, &[0x1f, 0x8b]) {
        "a gzip file (a compressed kernel of another architecture, or an initrd)"
    } else if magic(0, &[0xfd, b'7', b'z', b'X', b'Z']) {
        "an xz file"
    } else if magic(0, &[0x28, 0xb5, 0x2f, 0xfd]) {
        "a zstd file (an initrd?)"
    } else if magic(0, b"07070") {
        "a cpio archive (an initrd?)"
    } else if magic(0, b"!<arch>") {
        "an ar archive (a .deb package?)"
    } else if magic(0, b"#!") {
        "a script"
    } else {
        return None;
    })
}

fn elf(architecture: &Architecture, file: &File, head: &[u8], len: u64) -> Result<KernelImage> {
    let damaged = || Error::new("this is a damaged ELF file");
    let (header, _) = pod::from_bytes::<FileHeader64<LE>>(head).map_err(|()| damaged())?;
    match header.e_ident.class {
        elf::ELFCLASS64 => {}
        elf::ELFCLASS32 => {
            return Err(Error::new(
                "this is a 32-bit ELF file; a partition needs a 64-bit kernel",
            ));
        }
        _ => return Err(damaged()),
    }
    let machine = match header.e_ident.data {
        elf::ELFDATA2LSB => header.e_machine.get(LE),
        _ => header.e_machine.get(LE).swap_bytes(),
    };
    if machine != architecture.elf_machine {
        return Err(Error::new(format!(
            "this is an ELF file for {}, not for {}",
            machine_name(machine),
            architecture.name
        )));
    }
    if !architecture.boots_elf {
        return Err(Error::new(format!(
            "this is an ELF file, from which {} kernel cannot be started",
            architecture.name_with_article
        )));
    }
    let (at, count) = (header.e_phoff.get(LE), header.e_phnum.get(LE));
    let size = usize::from(header.e_phentsize.get(LE));
    if size != size_of::<ProgramHeader64<LE>>() || count == 0 || count > 64 {
        return Err(Error::new(
            "this ELF file has no program headers: an object file or module, not a kernel",
        ));
    }
    let mut table = vec![0; size * usize::from(count)];
    if file.read_exact_at(&mut table, at).is_err() {
        return Err(truncated(len, at.saturating_add(table.len() as u64)));
    }
    let segments = pod::slice_from_all_bytes::<ProgramHeader64<LE>>(&table);
    let mut need = 0;
    for segment in segments.map_err(|()| damaged())? {
        match segment.p_type.get(LE) {
            elf::PT_LOAD => {
                let size = segment.p_filesz.get(LE);
                need = need.max(segment.p_offset.get(LE).saturating_add(size));
            }
            elf::PT_INTERP => return Err(Error::new("this is an ordinary program, not a kernel")),
            _ => {}
        }
    }
    if len < need {
        return Err(truncated(len, need));
    }
    match banner(file, need)? {
        Some(version) => Ok(KernelImage {
            format: Format::Elf,
            version,
        }),
        None => Err(Error::new(
            "this ELF file contains no \"Linux version\" text: not a Linux kernel",
        )),
    }
}

fn machine_name(machine: u16) -> &'static str {
    match machine {
        elf::EM_386 => "32-bit x86",
        elf::EM_PPC | elf::EM_PPC64 => "PowerPC",
        elf::EM_S390 => "s390",
        elf::EM_ARM => "32-bit ARM",
        elf::EM_X86_64 => "x86-64",
        elf::EM_AARCH64 => "arm64",
        elf::EM_RISCV => "RISC-V",
        elf::EM_LOONGARCH => "LoongArch",
        _ => "another architecture",
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::arch::{AARCH64, X86_64, aarch64, x86_64};
    use crate::error::tests::failures;
    use std::io::Write;

    pub fn put(image: &mut [u8], at: usize, data: &[u8]) {
        image[at..at + data.len()].copy_from_slice(data);
    }

    fn sample_elf() -> Vec<u8> {
        let mut image = vec![0u8; 0x20000];
        put(&mut image, 0, b"\x7fELF\x02\x01\x01");
        put(&mut image, 16, &2u16.to_le_bytes());
        put(&mut image, 18, &62u16.to_le_bytes());
        put(&mut image, 32, &64u64.to_le_bytes());
        put(&mut image, 54, &56u16.to_le_bytes());
        put(&mut image, 56, &1u16.to_le_bytes());
        put(&mut image, 64, &1u32.to_le_bytes());
        put(&mut image, 72, &0x1000u64.to_le_bytes());
        put(&mut image, 96, &0x1f000u64.to_le_bytes());
        put(&mut image, 0x3000, b"Linux version %s");
        put(&mut image, 0x4000, b"Linux version 6.12.1-x (gcc)\0");
        image
    }

    pub fn look(architecture: &Architecture, image: &[u8]) -> Result<KernelImage> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(image).unwrap();
        open_as(architecture, file.path()).map(|(_, image)| image)
    }

    #[test]
    fn a_good_elf_file() {
        let image = look(&X86_64, &sample_elf()).unwrap();
        assert_eq!(image.format, Format::Elf);
        assert_eq!(image.version, "6.12.1-x");
    }

    /// What is said of a file, by a name that is the same in each run.
    pub fn said(architecture: &Architecture, image: &[u8]) -> Result<()> {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("vmlinux");
        std::fs::write(&path, image).unwrap();
        match open_as(architecture, &path) {
            Ok(_) => Ok(()),
            Err(Error::Failed { message, hint }) => Err(Error::Failed {
                message: message.replace(path.to_str().unwrap(), "vmlinux"),
                hint,
            }),
            Err(other) => Err(other),
        }
    }

    /// The same of a copy that has other data somewhere.
    pub fn said_with(
        architecture: &Architecture,
        good: &[u8],
        at: usize,
        data: &[u8],
    ) -> Result<()> {
        let mut bad = good.to_vec();
        put(&mut bad, at, data);
        said(architecture, &bad)
    }

    #[test]
    fn damaged_elf_files() {
        let good = sample_elf();
        let with = |at: usize, data: &[u8]| said_with(&X86_64, &good, at, data);
        let text = failures([
            (
                "its last byte missing",
                said(&X86_64, &good[..good.len() - 1]),
            ),
            ("cut in its program headers", said(&X86_64, &good[..70])),
            ("cut in its header", said(&X86_64, &good[..40])),
            ("another class", with(4, &[1])),
            ("no class", with(4, &[9])),
            ("another machine", with(18, &[183])),
            ("an interpreter", with(64, &[3])),
            ("no program headers", with(56, &[0])),
            ("no version", with(0x4000, b"l")),
            ("program headers nowhere", with(32, &u64::MAX.to_le_bytes())),
        ]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn other_files() {
        let said = |image: &[u8]| said(&X86_64, image);
        let mut zboot = vec![0u8; 0x100];
        put(&mut zboot, 4, b"zimg");
        let open = |path: &str| open(Path::new(path)).map(|_| ());
        let text = failures([
            ("nothing", said(b"")),
            ("text", said(b"hello")),
            ("a script", said(b"#!/bin/sh\n")),
            ("gzip", said(b"\x1f\x8b\x08")),
            ("cpio", said(b"070701")),
            ("EFI", said(b"MZ and nothing else")),
            ("zboot", said(&zboot)),
            ("a directory", open("/")),
            ("no file", open("/nonexistent")),
        ]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn kernels_of_the_other_architecture() {
        let (x86, arm64) = (
            x86_64::image::tests::sample(),
            aarch64::image::tests::sample(),
        );
        let mut elf = sample_elf();
        let foreign = said(&AARCH64, &elf);
        elf[18] = 183;
        let text = failures([
            ("arm64 on x86-64", said(&X86_64, &arm64)),
            ("x86-64 on arm64", said(&AARCH64, &x86)),
            ("ELF of x86-64 on arm64", foreign),
            ("ELF of arm64 on arm64", said(&AARCH64, &elf)),
        ]);
        insta::assert_snapshot!(text);
    }

    /// Whatever a file contains: an answer, never a panic.
    pub fn mutate(architecture: &Architecture, sample: &[u8]) {
        let mut seed = 1u64;
        let mut random = move || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        for _ in 0..300 {
            let mut image = sample.to_vec();
            for _ in 0..1 + random() % 8 {
                let at = (random() % 0x300) as usize % image.len();
                image[at] = random() as u8;
            }
            let _ = look(architecture, &image);
        }
    }

    #[test]
    fn mutated_headers() {
        mutate(&X86_64, &sample_elf());
    }
}
