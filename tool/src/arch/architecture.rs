//! What the tool asks of an architecture.

use std::fs::File;

use super::image::KernelImage;
use crate::error::Result;
use crate::memory::Memory;
use crate::memory::page_tables::PageTables;
use crate::memory::vmcoreinfo::Vmcoreinfo;
use crate::partition::{Description, Platform};
use crate::system::host::Host;
use crate::ui::check::Check;

type Describe = fn(&Platform, &str) -> Result<Description, String>;

/// The reasons why something is not there; `None`: it may be.
pub struct Without {
    pub shared_cpus: Option<&'static str>,
    pub guard: Option<&'static str>,
    pub kernel_mode: Option<&'static str>,
    pub pci: Option<&'static str>,
}

/// What differs between architectures.
pub struct Architecture {
    pub name: &'static str,
    pub name_with_article: &'static str,
    /// `e_machine` of its ELF files.
    pub elf_machine: u16,
    /// KLoader starts kernels that are ELF files.
    pub boots_elf: bool,
    /// What a user can give.
    pub kernels: &'static str,
    /// Does an image of its own kind begin like this?
    pub is_image: fn(&[u8]) -> bool,
    /// Is such an image whole, and which version is it? Its beginning and its length are
    /// known already.
    pub inspect: fn(&File, &[u8], u64) -> Result<KernelImage>,
    /// What is in a packed kernel, if the file is one and KLoader would not take it.
    pub unpacked: fn(&File, &[u8], u64) -> Result<Option<File>>,
    /// Parameters that a user may not give, as KLoader lists them: `REFUSED("name", "reason")`.
    pub refused_parameters: &'static str,
    /// How a kernel's first line in its log begins.
    pub first_line: &'static str,
    /// How the log's line ends by which a kernel says that it will never be up, for it has no
    /// timer; on an emulated machine that can happen once.
    pub no_timer: Option<&'static str>,
    /// sizeof(struct elf_prstatus).
    pub prstatus_size: usize,
    /// The page tables of a kernel that says this of itself, if it is of this architecture.
    pub page_tables: for<'a> fn(&'a dyn Memory, &Vmcoreinfo) -> Option<Box<dyn PageTables + 'a>>,
    /// What this architecture cannot have, each with the reason.
    pub without: Without,
    /// What it takes beside what any machine needs.
    pub doctor: fn(&Host) -> Vec<Check>,
    /// Writes what a kernel with this command line is told of its platform, where
    /// KLoader leaves that to us.
    pub describe: Option<Describe>,
}
