//! x86-64.

pub mod image;

use super::Architecture;

pub static X86_64: Architecture = Architecture {
    name: "x86-64",
    name_with_article: "an x86-64",
    elf_machine: 62,
    boots_elf: true,
    kernels: "a bzImage (/boot/vmlinuz-…) or an ELF vmlinux",
    is_image: image::is_one,
    inspect: image::inspect,
    unpacked: |_, _, _| Ok(None),
    describe: None,
};
