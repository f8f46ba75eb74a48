//! x86-64.

mod doctor;
pub mod image;
pub mod paging;

use super::architecture::{Architecture, Without};

/// What is special about x86-64.
pub static X86_64: Architecture = Architecture {
    name: "x86-64",
    name_with_article: "an x86-64",
    elf_machine: object::elf::EM_X86_64,
    boots_elf: true,
    kernels: "a bzImage (/boot/vmlinuz-…) or an ELF vmlinux",
    is_image: image::is_one,
    inspect: image::inspect,
    unpacked: |_, _, _| Ok(None),
    refused_parameters: include_str!("../../../../kernel/kloader/arch/x86/refused.h"),
    first_line: "Linux version ",
    // It measures its only timer against the TSC, once (`calibrate_APIC_clock()`). If its CPU
    // stands still in the middle of that, as an emulator's on a busy machine may, it finds
    // this and waits for ever at the next sleep.
    no_timer: Some("APIC frequency too slow, disabling apic timer"),
    prstatus_size: 336,
    page_tables: paging::of,
    without: Without {
        shared_cpus: None,
        guard: None,
        kernel_mode: None,
        pci: None,
    },
    doctor: doctor::checks,
    describe: None,
};
