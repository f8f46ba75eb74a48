//! A bzImage: Documentation/arch/x86/boot.rst.

use std::fs::File;

use crate::arch::image::{Format, KernelImage, MIN, truncated, version_word};
use crate::error::{Error, Result};
use crate::units::bytes::{bytes, u8_at, u16_at, u32_at};

/// Tell whether a bzImage begins like this.
pub fn is_one(head: &[u8]) -> bool {
    bytes::<4>(head, 0x202) == Some(*b"HdrS")
}

/// Check that a bzImage is whole and one that can run, and find its version.
pub fn inspect(_: &File, head: &[u8], len: u64) -> Result<KernelImage> {
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

#[cfg(test)]
pub mod tests {
    use crate::arch::X86_64;
    use crate::arch::image::Format;
    use crate::boot::image::tests::{look, mutate, put, said, said_with};
    use crate::error::tests::failures;

    pub fn sample() -> Vec<u8> {
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

    #[test]
    fn a_good_one() {
        let image = look(&X86_64, &sample()).unwrap();
        assert_eq!(image.format, Format::BzImage);
        assert_eq!(image.version, "6.1.0-50-cloud-amd64");
    }

    #[test]
    fn damaged_ones() {
        let good = sample();
        let said = |image: &[u8]| said(&X86_64, image);
        let with = |at: usize, data: &[u8]| said_with(&X86_64, &good, at, data);
        let text = failures([
            ("its last byte missing", said(&good[..good.len() - 1])),
            ("cut in its header", said(&good[..0x300])),
            ("32 bits", with(0x236, &[0])),
            ("an old protocol", with(0x206, &[0])),
            ("no boot signature", with(0x1fe, &[0])),
            ("a path for a version", with(0x800, b"../../etc\0")),
            ("its version nowhere", with(0x20e, &[0xff, 0xff])),
        ]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn mutated_headers() {
        mutate(&X86_64, &sample());
    }
}
