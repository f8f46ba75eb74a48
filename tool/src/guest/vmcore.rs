//! A dump as crash and drgn read it: what /proc/vmcore of a kdump kernel would
//! be. ELF64, one note segment, the kernel's image, then all memory.

use std::fs::File;
use std::os::unix::fs::FileExt;

use object::elf::{self, PT_LOAD, PT_NOTE};
use object::write::elf::{FileHeader, ProgramHeader, Writer};
use object::{Endianness, LittleEndian};

use super::paging::AddressSpace;
use crate::arch::{Architecture, NATIVE};
use crate::error::{Error, IoContext, Result};
use crate::memory::page_tables::KernelImage;
use crate::memory::vmcoreinfo::Vmcoreinfo;
use crate::memory::{CHUNK, Memory, PAGE};
use crate::partition::Range;
use crate::ui::interrupt;

const EHDR_SIZE: usize = size_of::<elf::FileHeader64<LittleEndian>>();
const PHDR_SIZE: usize = size_of::<elf::ProgramHeader64<LittleEndian>>();
const RWX: u32 = elf::PF_R | elf::PF_W | elf::PF_X;

/// What the dump says about the kernel in the memory.
pub struct Kernel {
    pub architecture: &'static Architecture,
    pub vmcoreinfo: Vec<u8>,
    pub image: Option<KernelImage>,
    /// Where it maps all memory.
    pub direct_map: Option<u64>,
}

impl Default for Kernel {
    fn default() -> Self {
        Kernel {
            architecture: NATIVE,
            vmcoreinfo: Vec::new(),
            image: None,
            direct_map: None,
        }
    }
}

impl Kernel {
    /// Find out what a debugger wants to know, as far as the kernel has come.
    pub fn new(memory: &dyn Memory, info: &Vmcoreinfo) -> Self {
        let mut kernel = Kernel {
            vmcoreinfo: info.text.clone(),
            ..Kernel::default()
        };
        let Some(space) = AddressSpace::new(memory, info) else {
            return kernel;
        };
        kernel.architecture = space.architecture;
        kernel.image = space.image();
        // A large range is sure to be mapped; a page below 1 MiB may not be.
        let sure = memory.ranges().iter().max_by_key(|r| r.size);
        kernel.direct_map = sure.and_then(|r| space.direct_map(r.start + r.size / 2));
        kernel
    }

    /// Describe a real-time program, whose memory begins at address 0, for the program.
    pub fn of_program(ranges: &[Range]) -> Self {
        let direct_map = match ranges {
            [range] => Some(range.start.wrapping_neg()),
            _ => None,
        };
        Kernel {
            direct_map,
            ..Kernel::default()
        }
    }
}

/// Where everything goes in the file.
pub struct Plan {
    head: Vec<u8>,
    /// Ranges with their place in the file.
    data: Vec<(Range, u64)>,
    total: u64,
}

impl Plan {
    /// Lay the file out: notes, and a segment for each range.
    pub fn new(ranges: &[Range], cpus: usize, kernel: &Kernel) -> Result<Self> {
        const TOO_LARGE: &str = "the memory ranges make no sense";
        let notes = notes(cpus, kernel);
        let segments_max = 2 + ranges.len();
        let notes_at = EHDR_SIZE + PHDR_SIZE * segments_max;
        let mut offset = ((notes_at + notes.len()) as u64).next_multiple_of(PAGE);
        let data_at = offset;
        let size = notes.len() as u64;
        let mut segments = vec![segment(PT_NOTE, notes_at as u64, 0, 0, size)];
        let mut data = Vec::new();
        for range in ranges {
            data.push((*range, offset));
            offset = offset
                .checked_add(range.size)
                .and_then(|end| end.checked_next_multiple_of(PAGE))
                .ok_or_else(|| Error::new(TOO_LARGE))?;
        }
        for (range, offset) in &data {
            let (at, base) = (range.start, kernel.direct_map);
            let virt = base.map_or(0, |base| base.wrapping_add(at));
            segments.push(segment(PT_LOAD, *offset, virt, at, range.size));
        }
        // crash takes all before the first segment's data for the header: what
        // lies furthest back must not come first.
        segments.extend(image_segment(kernel, &data));
        let mut head = headers(kernel.architecture, &segments)?;
        head.resize(notes_at, 0);
        head.extend_from_slice(&notes);
        head.resize(data_at as usize, 0);
        Ok(Plan {
            head,
            data,
            total: offset,
        })
    }

    /// Return the size of the file in bytes; holes take no space.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Write it all; `progress` hears how many bytes are done. Returns how many
    /// bytes could not be read and are zero in the dump.
    pub fn write(
        &self,
        memory: &dyn Memory,
        file: &File,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64> {
        const WHAT: &str = "cannot write the dump";
        file.write_all_at(&self.head, 0).or_fail(WHAT)?;
        let mut buffer = vec![0; CHUNK];
        let mut lost = 0;
        for (range, place) in &self.data {
            let mut done = 0;
            while done < range.size {
                interrupt::check()?;
                let want = (range.size - done).min(CHUNK as u64) as usize;
                let chunk = buffer.get_mut(..want).unwrap_or_default();
                let got = memory.read(range.start + done, chunk).min(want);
                if got == 0 {
                    lost += want as u64;
                    done += want as u64;
                    continue;
                }
                let chunk = chunk.get(..got).unwrap_or_default();
                write_sparse(file, chunk, place + done).or_fail(WHAT)?;
                done += got as u64;
                progress(place + done);
            }
        }
        file.set_len(self.total).or_fail(WHAT)?;
        Ok(lost)
    }
}

/// The kernel's image lies in one of the ranges: the segment shares its bytes.
fn image_segment(kernel: &Kernel, data: &[(Range, u64)]) -> Option<ProgramHeader> {
    let KernelImage { virt, phys, size } = kernel.image?;
    let (range, offset) = data
        .iter()
        .find(|(r, _)| phys >= r.start && phys < r.end())?;
    let offset = offset + (phys - range.start);
    let size = size.min(range.end() - phys);
    Some(segment(PT_LOAD, offset, virt, phys, size))
}

/// Pages of zeros become holes.
fn write_sparse(file: &File, chunk: &[u8], at: u64) -> std::io::Result<()> {
    const ZEROS: [u8; PAGE as usize] = [0; PAGE as usize];
    let is_zero = |page: &[u8]| ZEROS.get(..page.len()) == Some(page);
    let mut run: Option<usize> = None;
    let mut position = 0;
    for piece in chunk.chunks(ZEROS.len()) {
        match (is_zero(piece), run) {
            (false, None) => run = Some(position),
            (true, Some(start)) => {
                let data = chunk.get(start..position).unwrap_or_default();
                file.write_all_at(data, at + start as u64)?;
                run = None;
            }
            _ => {}
        }
        position += piece.len();
    }
    match run {
        Some(start) => {
            let data = chunk.get(start..).unwrap_or_default();
            file.write_all_at(data, at + start as u64)
        }
        None => Ok(()),
    }
}

fn put_note(to: &mut Vec<u8>, name: &[u8], kind: u32, desc: &[u8]) {
    to.extend_from_slice(&(name.len() as u32).to_le_bytes());
    to.extend_from_slice(&(desc.len() as u32).to_le_bytes());
    to.extend_from_slice(&kind.to_le_bytes());
    to.extend_from_slice(name);
    to.resize(to.len().next_multiple_of(4), 0);
    to.extend_from_slice(desc);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// No registers: they are in CPUs that have been stopped from outside.
fn notes(cpus: usize, kernel: &Kernel) -> Vec<u8> {
    let registers = vec![0; kernel.architecture.prstatus_size];
    let mut notes = Vec::new();
    for _ in 0..cpus {
        put_note(&mut notes, b"CORE\0", elf::NT_PRSTATUS, &registers);
    }
    if !kernel.vmcoreinfo.is_empty() {
        put_note(&mut notes, b"VMCOREINFO\0", 0, &kernel.vmcoreinfo);
    }
    notes
}

fn headers(architecture: &Architecture, segments: &[ProgramHeader]) -> Result<Vec<u8>> {
    let mut headers = Vec::new();
    let mut writer = Writer::new(Endianness::Little, true, &mut headers);
    writer.reserve_file_header();
    writer.reserve_program_headers(segments.len() as u32);
    let header = FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_CORE,
        e_machine: architecture.elf_machine,
        e_entry: 0,
        e_flags: 0,
    };
    let written = writer.write_file_header(&header);
    written.map_err(|e| Error::new(format!("cannot write the dump: {e}")))?;
    writer.write_align_program_headers();
    for segment in segments {
        writer.write_program_header(segment);
    }
    Ok(headers)
}

fn segment(kind: u32, offset: u64, virt: u64, phys: u64, size: u64) -> ProgramHeader {
    ProgramHeader {
        p_type: kind,
        p_flags: if kind == PT_LOAD { RWX } else { 0 },
        p_offset: offset,
        p_vaddr: virt,
        p_paddr: phys,
        p_filesz: size,
        p_memsz: size,
        // None, as in a kdump: that is how crash knows it for one.
        p_align: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::x86_64::paging::IMAGE_MAP;
    use crate::guest::sample;
    use crate::memory::{field_u16, field_u32, field_u64};
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_dump_of_a_sample() {
        let (image, info) = sample::kernel();
        let kernel = Kernel::new(&image, &info);
        assert_eq!(kernel.direct_map, Some(sample::DIRECT));
        let plan = Plan::new(image.ranges(), 2, &kernel).unwrap();
        let file = tempfile::tempfile().unwrap();
        let mut heard = 0;
        assert_eq!(plan.write(&image, &file, &mut |n| heard = n).unwrap(), 0);
        assert_eq!(heard, plan.total());
        let metadata = file.metadata().unwrap();
        assert_eq!(metadata.len(), plan.total());
        assert!(metadata.blocks() * 512 < plan.total() / 2, "has holes");
        let mut data = vec![0; plan.total() as usize];
        file.read_exact_at(&mut data, 0).unwrap();
        // note, memory, image
        assert_eq!(data[56], 3);
        let phdr = |n: u64| 64 + 56 * n;
        assert_eq!(field_u32(&data, phdr(0)), Some(PT_NOTE));
        assert_eq!(
            field_u64(&data, phdr(1) + 16),
            Some(sample::DIRECT + sample::MEMORY_AT)
        );
        assert_eq!(
            field_u64(&data, phdr(2) + 16),
            Some(IMAGE_MAP + sample::OFFSET)
        );
        assert_eq!(field_u64(&data, phdr(2) + 24), Some(sample::IMAGE_AT));
        // The image segment's bytes are those of the memory.
        let offset = field_u64(&data, phdr(2) + 8).unwrap() as usize;
        let mut there = [0; 8192];
        image.read_exact(sample::IMAGE_AT, &mut there).unwrap();
        assert_eq!(&data[offset..offset + 8192], there);
    }

    #[test]
    fn a_dump_of_a_kernel_of_arm64() {
        let shape = sample::aarch64::SHAPES[0];
        let (memory, info) = sample::aarch64::kernel(shape);
        let kernel = Kernel::new(&memory, &info);
        let head = Plan::new(memory.ranges(), 2, &kernel).unwrap().head;
        assert_eq!(field_u16(&head, 18), Some(183), "EM_AARCH64");
        let phdr = |n: u64| 64 + 56 * n;
        assert_eq!(
            field_u64(&head, phdr(1) + 16),
            Some(shape.direct_offset().wrapping_add(shape.memory_at))
        );
        let image = shape.image_at();
        assert_eq!(
            field_u64(&head, phdr(2) + 16),
            Some(shape.image_va(image)),
            "where the image is"
        );
        assert_eq!(field_u64(&head, phdr(2) + 24), Some(image));
        // Two notes with the registers, and VMCOREINFO.
        let notes = field_u64(&head, phdr(0) + 8).unwrap();
        assert_eq!(field_u32(&head, notes + 4), Some(392));
        let second = notes + 12 + 8 + 392;
        assert_eq!(field_u32(&head, second + 4), Some(392));
        let third = second + 12 + 8 + 392;
        assert_eq!(field_u32(&head, third + 4), Some(info.text.len() as u32));
    }

    #[test]
    fn a_dump_of_a_program() {
        let range = |start| Range { start, size: 4096 };
        let addresses = |ranges: &[Range]| {
            let plan = Plan::new(ranges, 1, &Kernel::of_program(ranges)).unwrap();
            // After the note.
            let phdr = 64 + 56;
            (
                field_u64(&plan.head, phdr + 16),
                field_u64(&plan.head, phdr + 24),
            )
        };
        assert_eq!(addresses(&[range(4 << 30)]), (Some(0), Some(4 << 30)));
        assert_eq!(
            addresses(&[range(4 << 30), range(8 << 30)]),
            (Some(0), Some(4 << 30))
        );
        assert_eq!(
            Kernel::of_program(&[range(1), range(8)]).direct_map,
            None,
            "which piece is where is not known"
        );
    }

    #[test]
    fn without_vmcoreinfo_and_with_absurd_ranges() {
        let plan = Plan::new(
            &[Range {
                start: 0,
                size: 4096,
            }],
            1,
            &Kernel::default(),
        );
        assert!(plan.is_ok());
        let all = Range {
            start: 1,
            size: u64::MAX,
        };
        assert!(Plan::new(&[all, all], 1, &Kernel::default()).is_err());
    }
}
