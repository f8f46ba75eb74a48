//! A flat Image, Documentation/arch/arm64/booting.rst, and what it may be packed in.
//!
//! KLoader takes flat ones only: what is packed is unpacked here, into memory.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use shimos_unpack::{Packing, unpack};

use crate::arch::image::{Format, KernelImage, MIN, banner, truncated};
use crate::error::{Error, Result, io_text};
use crate::units::bytes::{bytes, u16_at, u32_at, u64_at};
use crate::units::memory_file;

/// What a user can give.
pub const KERNELS: &str = "an Image, packed or not (/boot/vmlinuz-…)";

const MAGIC_AT: usize = 0x38;
const MAGIC: [u8; 4] = *b"ARM\x64";
/// No kernel comes near; an archive bomb stops here.
const MAX: u64 = 1 << 30;

/// Tell whether a flat image begins like this.
pub fn is_one(head: &[u8]) -> bool {
    bytes(head, MAGIC_AT) == Some(MAGIC)
}

/// Check that a flat image is whole and one that can run, and find its version.
pub fn inspect(file: &File, head: &[u8], len: u64) -> Result<KernelImage> {
    if u64_at(head, 0x10) == 0 {
        return Err(Error::new(
            "this kernel is too old: it does not state its size (Linux 3.17 was the first to)",
        ));
    }
    if u64_at(head, 0x18) & 1 != 0 {
        return Err(Error::new(
            "this is a big-endian kernel; a partition needs a little-endian one",
        ));
    }
    let need = file_size(head);
    if len < need {
        return Err(truncated(len, need));
    }
    if len < MIN {
        return Err(Error::new("this is not a Linux kernel: far too small"));
    }
    match banner(file, len)? {
        Some(version) => Ok(KernelImage {
            format: Format::Image,
            version,
        }),
        None => Err(
            Error::new("the kernel does not state its version: it may be truncated")
                .hint("copy it again"),
        ),
    }
}

/// What the file has at least. The header counts memory, which begins with the file and has
/// more behind it; but most kernels are EFI programs as well, and those list their sections.
fn file_size(head: &[u8]) -> u64 {
    const SECTION: usize = 40;
    const MOST: usize = 16;
    let pe = u32_at(head, 0x3c) as usize;
    if bytes(head, pe) != Some(*b"PE\0\0") {
        return 0;
    }
    let count = usize::from(u16_at(head, pe + 6)).min(MOST);
    let first = pe + 24 + usize::from(u16_at(head, pe + 20));
    let ends = (0..count).map(|n| {
        let section = first + n * SECTION;
        u64::from(u32_at(head, section + 16)) + u64::from(u32_at(head, section + 20))
    });
    ends.max().unwrap_or(0)
}

/// Unpack the file if it is a packed one; `None`: it is not.
pub fn unpacked(file: &File, head: &[u8], len: u64) -> Result<Option<File>> {
    let Some((packing, at, size)) = packed(head, len)? else {
        return Ok(None);
    };
    const WHAT: &str = "cannot unpack the kernel";
    let mut input = Piece { file, at, size };
    memory_file::made(WHAT, |output| {
        let mut output = Flat {
            file: output,
            head: Vec::new(),
            size: 0,
        };
        unpack(packing, &mut input, &mut output)
            .map_err(|e| Error::new(format!("{WHAT}: {}", io_text(&e))))
    })
    .map(Some)
}

/// How it is packed, and where.
fn packed(head: &[u8], len: u64) -> Result<Option<(Packing, u64, u64)>> {
    if head.starts_with(&[0x1f, 0x8b]) {
        return Ok(Some((Packing::Gzip, 0, len)));
    }
    if !head.starts_with(b"MZ") || bytes(head, 4) != Some(*b"zimg") {
        return Ok(None);
    }
    let (at, size) = (u64::from(u32_at(head, 8)), u64::from(u32_at(head, 12)));
    let method = head.get(24..56).unwrap_or_default();
    let method = method.split(|b| *b == 0).next().unwrap_or_default();
    let packing = match method {
        b"gzip" => Packing::Gzip,
        b"lzma" => Packing::Lzma,
        b"xz" | b"xzkern" => Packing::Xz,
        b"zstd" | b"zstd22" => Packing::Zstd,
        other => {
            return Err(Error::new(format!(
                "this kernel is packed by {:?}, which shimos cannot unpack",
                String::from_utf8_lossy(other)
            ))
            .hint("give the Image that it was made of (arch/arm64/boot/Image)"));
        }
    };
    if len < at + size {
        return Err(truncated(len, at + size));
    }
    Ok(Some((packing, at, size)))
}

/// A part of a file, for reading.
struct Piece<'a> {
    file: &'a File,
    at: u64,
    size: u64,
}

impl io::Read for Piece<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer
            .len()
            .min(usize::try_from(self.size).unwrap_or(usize::MAX));
        let got = self
            .file
            .read_at(buffer.get_mut(..most).unwrap_or_default(), self.at)?;
        self.at += got as u64;
        self.size -= got as u64;
        Ok(got)
    }
}

/// Takes a flat Image and nothing else, so that whoever gives an initrd is told at once.
struct Flat<'a> {
    file: &'a mut File,
    head: Vec<u8>,
    size: u64,
}

impl Write for Flat<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        const HEADER: usize = 64;
        if self.head.len() < HEADER {
            let missing = (HEADER - self.head.len()).min(data.len());
            self.head
                .extend_from_slice(data.get(..missing).unwrap_or_default());
            if self.head.len() == HEADER && !is_one(&self.head) {
                return Err(io::Error::other("what is packed is no arm64 kernel"));
            }
        }
        self.size += data.len() as u64;
        if self.size > MAX {
            return Err(io::Error::other("it is too large to be a kernel"));
        }
        self.file.write_all(data)?;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::arch::AARCH64;
    use crate::boot::image::tests::{look, mutate, put, said, said_with};
    use crate::error::tests::failures;

    /// With the header of an EFI program, as all that distributions have.
    pub fn sample() -> Vec<u8> {
        let mut image = vec![0u8; 0x20000];
        put(&mut image, 0, b"MZ");
        put(&mut image, 0x10, &0x40000u64.to_le_bytes());
        put(&mut image, 0x18, &0xau64.to_le_bytes());
        put(&mut image, 0x38, b"ARM\x64\x40\0\0\0");
        put(&mut image, 0x40, b"PE\0\0");
        put(&mut image, 0x46, &2u16.to_le_bytes());
        put(&mut image, 0x54, &0xa0u16.to_le_bytes());
        for (section, start, size) in [(0xf8, 0x10000u32, 0x8000u32), (0x120, 0x18000, 0x8000)] {
            put(&mut image, section + 16, &size.to_le_bytes());
            put(&mut image, section + 20, &start.to_le_bytes());
        }
        put(
            &mut image,
            0x12000,
            b"Linux version 6.12.1-cloud-arm64 (x)\0",
        );
        image
    }

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn zboot(method: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0u8; 0x1000];
        put(&mut image, 0, b"MZ\0\0zimg");
        put(&mut image, 8, &0x1000u32.to_le_bytes());
        put(&mut image, 12, &(payload.len() as u32).to_le_bytes());
        put(&mut image, 24, method);
        image.extend_from_slice(payload);
        // The size that it will have, and the rest of an EFI program.
        image.extend_from_slice(&[0x55; 512]);
        image
    }

    #[test]
    fn good_ones() {
        let flat = sample();
        let mut xz = Vec::new();
        lzma_rs::xz_compress(&mut flat.as_slice(), &mut xz).unwrap();
        let mut lzma = Vec::new();
        lzma_rs::lzma_compress(&mut flat.as_slice(), &mut lzma).unwrap();
        for image in [
            flat.clone(),
            gzip(&flat),
            zboot(b"gzip", &gzip(&flat)),
            zboot(b"xzkern", &xz),
            zboot(b"lzma", &lzma),
        ] {
            let image = look(&AARCH64, &image).unwrap();
            assert_eq!(image.format, Format::Image);
            assert_eq!(image.version, "6.12.1-cloud-arm64");
        }
    }

    #[test]
    fn a_kernel_without_efi() {
        let mut image = sample();
        image[0x3c] = 0;
        assert!(look(&AARCH64, &image).is_ok());
        image.truncate(0x12000);
        let text = failures([("cut before its version", said(&AARCH64, &image))]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn what_is_unpacked_is_the_image() {
        let (work, flat) = (tempfile::tempdir().unwrap(), sample());
        let path = work.path().join("vmlinuz");
        std::fs::write(&path, gzip(&flat)).unwrap();
        let (mut file, _) = crate::boot::image::open_as(&AARCH64, &path).unwrap();
        let mut content = Vec::new();
        io::Read::read_to_end(&mut file, &mut content).unwrap();
        assert_eq!(content, flat);
        assert!(file.write_all(b"x").is_err(), "must be read-only");
    }

    #[test]
    fn damaged_ones() {
        let good = sample();
        let said = |image: &[u8]| said(&AARCH64, image);
        let with = |at: usize, data: &[u8]| said_with(&AARCH64, &good, at, data);
        let text = failures([
            ("its last byte missing", said(&good[..good.len() - 1])),
            ("cut in its header", said(&good[..0x1000])),
            ("without a size", with(0x10, &[0; 8])),
            ("big-endian", with(0x18, &[good[0x18] | 1])),
            ("no version", with(0x12000, b"l")),
        ]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn packed_ones_that_are_none() {
        let said = |image: &[u8]| said(&AARCH64, image);
        let good = gzip(&sample());
        let text = failures([
            ("no kernel in it", said(&gzip(&[7; 4096]))),
            ("an initrd in it", said(&gzip(b"070701"))),
            ("cut", said(&good[..good.len() / 2])),
            ("cut in its header", said(b"\x1f\x8b\x08")),
            ("not packed after all", said(&zboot(b"gzip", &sample()))),
            ("packed otherwise", said(&zboot(b"lzo", &good))),
        ]);
        insta::assert_snapshot!(text);
        // How many bytes there are is the compressor's matter.
        let cut = said(&zboot(b"gzip", &good)[..0x1100]);
        assert!(cut.unwrap_err().to_string().contains("truncated"));
    }

    #[test]
    fn mutated_headers() {
        mutate(&AARCH64, &sample());
        mutate(&AARCH64, &gzip(&sample()));
        mutate(&AARCH64, &zboot(b"gzip", &gzip(&sample())));
    }
}
