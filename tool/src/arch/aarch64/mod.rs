//! arm64.

mod device_tree;
mod doctor;
pub mod image;
mod paging;

use super::architecture::{Architecture, Without};

/// What is special about arm64.
pub static AARCH64: Architecture = Architecture {
    name: "arm64",
    name_with_article: "an arm64",
    elf_machine: object::elf::EM_AARCH64,
    boots_elf: false,
    kernels: image::KERNELS,
    is_image: image::is_one,
    inspect: image::inspect,
    unpacked: image::unpacked,
    refused_parameters: include_str!("../../../../kernel/kloader/arch/arm64/refused.h"),
    first_line: "Booting Linux on physical CPU 0x",
    // The rate of its timer is in a register.
    no_timer: None,
    prstatus_size: 392,
    page_tables: paging::of,
    without: Without {
        shared_cpus: Some("the layer under Linux that shares them is for x86-64 only"),
        guard: Some("the guard under a partition's kernel is for x86-64 only"),
        kernel_mode: Some("programs in kernel mode are for x86-64 only"),
        pci: Some(
            "its interrupts would go through the one translation service (ITS), which is the host's",
        ),
    },
    doctor: doctor::checks,
    describe: Some(device_tree::describe),
};
