//! What kind of file is this kernel, is it whole, and which version is it?

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use memchr::memmem;

use crate::error::{Error, IoContext, Result};

/// Enough for the x86 setup header and every other format's magic.
const HEAD: usize = 0x20000;
/// A kernel is larger than this, an initrd given by mistake may be too.
const MIN: u64 = 0x10000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    BzImage,
    Elf,
}

#[derive(Debug, PartialEq, Eq)]
pub struct KernelImage {
    pub format: Format,
    /// `uname -r` of it.
    pub version: String,
}

/// Open `path` and look. The file is what KLoader gets.
pub fn open(path: &Path) -> Result<(File, KernelImage)> {
    let shown = path.display();
    let file = File::open(path).or_fail(format_args!("cannot open kernel {shown}"))?;
    let metadata = file
        .metadata()
        .or_fail(format_args!("cannot look at kernel {shown}"))?;
    if !metadata.is_file() {
        return Err(Error::new(format!("kernel {shown} is not a regular file")));
    }
    let image = inspect(&file, metadata.len()).map_err(|e| e.context(shown))?;
    Ok((file, image))
}

fn inspect(file: &File, len: u64) -> Result<KernelImage> {
    let mut head = Vec::with_capacity(HEAD);
    file.take(HEAD as u64)
        .read_to_end(&mut head)
        .or_fail("cannot read it")?;
    if let Some(what) = foreign(&head) {
        return Err(Error::new(format!("this is {what}, not an x86-64 kernel"))
            .hint("give a bzImage (/boot/vmlinuz-…) or an ELF vmlinux"));
    }
    if head.starts_with(b"\x7fELF") {
        elf(file, &head, len)
    } else if bytes::<4>(&head, 0x202) == Some(*b"HdrS") {
        bzimage(&head, len)
    } else if head.starts_with(b"MZ") {
        Err(
            Error::new("this is an EFI program without a Linux boot header")
                .hint("a unified kernel image? give the vmlinuz it was built from"),
        )
    } else {
        Err(Error::new("this is not a Linux kernel")
            .hint("give a bzImage (/boot/vmlinuz-…) or an ELF vmlinux"))
    }
}

fn bytes<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u8_at(data: &[u8], at: usize) -> u8 {
    data.get(at).copied().unwrap_or(0)
}

fn u16_at(data: &[u8], at: usize) -> u16 {
    bytes(data, at).map_or(0, u16::from_le_bytes)
}

fn u32_at(data: &[u8], at: usize) -> u32 {
    bytes(data, at).map_or(0, u32::from_le_bytes)
}

fn u64_at(data: &[u8], at: usize) -> u64 {
    bytes(data, at).map_or(0, u64::from_le_bytes)
}

/// Formats that are recognised in order to name them.
fn foreign(head: &[u8]) -> Option<&'static str> {
    let magic =
        |at: usize, magic: &[u8]| head.get(at..).is_some_and(|rest| rest.starts_with(magic));
    Some(if head.is_empty() {
        "an empty file"
    } else if magic(0x38, b"ARM\x64") {
        "an arm64 kernel"
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

fn truncated(len: u64, need: u64) -> Error {
    Error::new(format!(
        "the kernel is truncated: {len} bytes, its header says {need}"
    ))
    .hint("copy it again")
}

/// Documentation/arch/x86/boot.rst
fn bzimage(head: &[u8], len: u64) -> Result<KernelImage> {
    if u16_at(head, 0x1fe) != 0xaa55 {
        return Err(Error::new("this is not a Linux kernel: no boot signature"));
    }
    let protocol = u16_at(head, 0x206);
    if protocol < 0x20c {
        return Err(Error::new(format!(
            "this kernel is too old: boot protocol {}.{:02}, 2.12 is needed",
            protocol >> 8,
            protocol & 0xff
        )));
    }
    let sectors = match u8_at(head, 0x1f1) {
        0 => 4,
        n => u64::from(n),
    };
    let need = (sectors + 1) * 512 + u64::from(u32_at(head, 0x1f4)) * 16;
    if len < need {
        return Err(truncated(len, need));
    }
    if u16_at(head, 0x236) & 1 == 0 {
        return Err(Error::new(
            "this is a 32-bit kernel; a partition needs a 64-bit one",
        ));
    }
    if len < MIN {
        return Err(Error::new("this is not a Linux kernel: far too small"));
    }
    let at = usize::from(u16_at(head, 0x20e)) + 0x200;
    // The text lies in the setup sectors, which may be longer than our head.
    let version = head.get(at..).and_then(version_word);
    match version {
        Some(version) if at > 0x200 => Ok(KernelImage {
            format: Format::BzImage,
            version,
        }),
        _ => Err(Error::new("the kernel does not state its version")),
    }
}

/// The first word of a version text, if it looks like `uname -r`.
fn version_word(text: &[u8]) -> Option<String> {
    let end = text.iter().take(128).position(|b| !b.is_ascii_graphic())?;
    let word = text.get(..end)?;
    // It becomes part of a path.
    let fits = |b: &u8| b.is_ascii_alphanumeric() || b"._-+~".contains(b);
    if !word.first()?.is_ascii_digit() || !word.iter().all(fits) {
        return None;
    }
    String::from_utf8(word.to_vec()).ok()
}

fn elf(file: &File, head: &[u8], len: u64) -> Result<KernelImage> {
    match u8_at(head, 4) {
        2 => {}
        1 => {
            return Err(Error::new(
                "this is a 32-bit ELF file; a partition needs a 64-bit kernel",
            ));
        }
        _ => return Err(Error::new("this is a damaged ELF file")),
    }
    let machine = match u8_at(head, 5) {
        1 => u16_at(head, 18),
        _ => u16_at(head, 18).swap_bytes(),
    };
    if machine != 62 {
        let name = match machine {
            3 => "32-bit x86",
            40 => "32-bit ARM",
            183 => "arm64",
            243 => "RISC-V",
            258 => "LoongArch",
            20 | 21 => "PowerPC",
            22 => "s390",
            _ => "another architecture",
        };
        return Err(Error::new(format!(
            "this is an ELF file for {name}, not for x86-64"
        )));
    }
    let (at, size, count) = (u64_at(head, 32), u16_at(head, 54), u16_at(head, 56));
    if size != 56 || count == 0 || count > 64 {
        return Err(Error::new(
            "this ELF file has no program headers: an object file or module, not a kernel",
        ));
    }
    let mut headers = vec![0; 56 * usize::from(count)];
    if file.read_exact_at(&mut headers, at).is_err() {
        return Err(truncated(len, at.saturating_add(headers.len() as u64)));
    }
    let mut need = 0;
    for header in headers.chunks_exact(56) {
        match u32_at(header, 0) {
            1 => {
                let end = u64_at(header, 8).saturating_add(u64_at(header, 32));
                need = need.max(end);
            }
            3 => return Err(Error::new("this is an ordinary program, not a kernel")),
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

/// Search the loaded part of a file for "Linux version 6.1.0 …".
fn banner(file: &File, end: u64) -> Result<Option<String>> {
    const CHUNK: usize = 1 << 20;
    const OVERLAP: usize = 256;
    let wanted = b"Linux version ";
    let mut buffer = vec![0; CHUNK + OVERLAP];
    let mut at = 0;
    while at < end {
        let got = read_up_to(file, &mut buffer, at).or_fail("cannot read it")?;
        let data = buffer.get(..got).unwrap_or_default();
        for found in memmem::find_iter(data, wanted) {
            let text = data.get(found + wanted.len()..).unwrap_or_default();
            if let Some(version) = version_word(text) {
                return Ok(Some(version));
            }
        }
        if got < buffer.len() {
            break;
        }
        at += CHUNK as u64;
    }
    Ok(None)
}

/// Fill `buffer` from `at`; less only at the end of the file.
fn read_up_to(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + done as u64)? {
            0 => break,
            n => done += n,
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn put(image: &mut [u8], at: usize, data: &[u8]) {
        image[at..at + data.len()].copy_from_slice(data);
    }

    fn sample_bzimage() -> Vec<u8> {
        let mut image = vec![0u8; 0x20000];
        put(&mut image, 0, b"MZ");
        image[0x1f1] = 4;
        let units = (image.len() - 5 * 512) / 16;
        put(&mut image, 0x1f4, &(units as u32).to_le_bytes());
        put(&mut image, 0x1fe, &[0x55, 0xaa]);
        put(&mut image, 0x202, b"HdrS");
        put(&mut image, 0x206, &0x20fu16.to_le_bytes());
        put(&mut image, 0x20e, &0x600u16.to_le_bytes());
        put(&mut image, 0x236, &0x7fu16.to_le_bytes());
        put(&mut image, 0x800, b"6.1.0-50-cloud-amd64 (debian) #1 SMP\0");
        image
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

    fn look(image: &[u8]) -> Result<KernelImage> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(image).unwrap();
        open(file.path()).map(|(_, image)| image)
    }

    fn fails(image: &[u8], word: &str) {
        let error = look(image).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }

    #[test]
    fn good_images() {
        let image = look(&sample_bzimage()).unwrap();
        assert_eq!(image.format, Format::BzImage);
        assert_eq!(image.version, "6.1.0-50-cloud-amd64");
        let image = look(&sample_elf()).unwrap();
        assert_eq!(image.format, Format::Elf);
        assert_eq!(image.version, "6.12.1-x");
    }

    #[test]
    fn damaged_bzimages() {
        let good = sample_bzimage();
        fails(&good[..good.len() - 1], "truncated");
        fails(&good[..0x300], "truncated");
        let mut bad = good.clone();
        bad[0x236] = 0;
        fails(&bad, "32-bit");
        let mut bad = good.clone();
        bad[0x206] = 0;
        fails(&bad, "too old");
        let mut bad = good.clone();
        bad[0x1fe] = 0;
        fails(&bad, "no boot signature");
        let mut bad = good.clone();
        put(&mut bad, 0x800, b"../../etc\0");
        fails(&bad, "version");
        let mut bad = good;
        put(&mut bad, 0x20e, &0xffffu16.to_le_bytes());
        fails(&bad, "version");
    }

    #[test]
    fn damaged_elf_files() {
        let good = sample_elf();
        fails(&good[..good.len() - 1], "truncated");
        fails(&good[..70], "truncated");
        let mut bad = good.clone();
        bad[4] = 1;
        fails(&bad, "32-bit");
        let mut bad = good.clone();
        bad[18] = 183;
        fails(&bad, "arm64");
        let mut bad = good.clone();
        bad[64] = 3;
        fails(&bad, "ordinary program");
        let mut bad = good.clone();
        bad[56] = 0;
        fails(&bad, "no program headers");
        let mut bad = good.clone();
        bad[0x4000] = b'l';
        fails(&bad, "no \"Linux version\"");
        let mut bad = good;
        put(&mut bad, 32, &u64::MAX.to_le_bytes());
        fails(&bad, "truncated");
    }

    #[test]
    fn other_files() {
        fails(b"", "empty");
        fails(b"hello", "not a Linux kernel");
        fails(b"#!/bin/sh\n", "script");
        fails(b"\x1f\x8b\x08", "gzip");
        fails(b"070701", "cpio");
        fails(b"MZ and nothing else", "EFI program");
        let mut arm = vec![0u8; 0x100];
        put(&mut arm, 0x38, b"ARM\x64");
        fails(&arm, "arm64");
        arm[4..8].copy_from_slice(b"zimg");
        arm[0x38] = 0;
        fails(&arm, "zboot");
        assert!(
            open(Path::new("/"))
                .unwrap_err()
                .to_string()
                .contains("regular")
        );
        assert!(
            open(Path::new("/nonexistent"))
                .unwrap_err()
                .to_string()
                .contains("No such file")
        );
    }

    /// Whatever a file contains: an answer, never a panic.
    #[test]
    fn mutated_headers() {
        let mut seed = 1u64;
        let mut random = move || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        for sample in [sample_bzimage(), sample_elf()] {
            for _ in 0..300 {
                let mut image = sample.clone();
                for _ in 0..1 + random() % 8 {
                    let at = (random() % 0x300) as usize;
                    image[at] = random() as u8;
                }
                let _ = look(&image);
            }
        }
    }
}
