//! arm64.

mod device_tree;
pub mod image;

use super::Architecture;

pub static AARCH64: Architecture = Architecture {
    name: "arm64",
    name_with_article: "an arm64",
    elf_machine: 183,
    boots_elf: false,
    kernels: "an Image, packed or not (/boot/vmlinuz-…)",
    is_image: image::is_one,
    inspect: image::inspect,
    unpacked: image::unpacked,
    describe: Some(device_tree::describe),
};
