//! The same for a kernel of arm64, built from the architecture's manual.

use super::{Image, note};
use crate::memory::Memory;
use crate::memory::vmcoreinfo::Vmcoreinfo;

const MEMORY_SIZE: u64 = 4 << 20;

/// How its memory is mapped.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub page_shift: u32,
    /// Bits of a virtual address that it was built for.
    pub built: u32,
    /// Those that the CPUs have.
    pub actual: u32,
    pub memory_at: u64,
}

const fn shape(page_shift: u32, built: u32, actual: u32, memory_at: u64) -> Shape {
    Shape {
        page_shift,
        built,
        actual,
        memory_at,
    }
}

pub const SHAPES: [Shape; 9] = [
    shape(12, 48, 48, 4 << 30),
    shape(12, 39, 39, 4 << 30),
    shape(12, 52, 52, (3 << 48) | (4 << 30)),
    shape(12, 52, 48, 4 << 30),
    shape(14, 47, 47, 4 << 30),
    shape(14, 52, 52, (0xd << 48) | (4 << 30)),
    shape(16, 42, 42, 4 << 30),
    shape(16, 52, 52, (0xd << 48) | (4 << 30)),
    // Its top table has 1024 entries, of which such CPUs use the last 64.
    shape(16, 52, 48, 4 << 30),
];

impl Shape {
    /// Where the image lies; its second 64 KiB have been freed.
    pub fn image_at(self) -> u64 {
        self.memory_at + (2 << 20)
    }

    /// It is in the upper half of what there is with the smallest addresses.
    pub fn image_va(self, physical: u64) -> u64 {
        let half = u64::MAX << (self.built.min(48) - 1);
        half + 0x1c00_0000 + (physical - self.image_at())
    }

    /// What is said to be the first address of memory lies 1 GiB before it, by KASLR, and
    /// further if the CPUs have shorter addresses.
    fn phys_offset(self) -> u64 {
        let shorter = (u64::MAX << self.actual).wrapping_sub(u64::MAX << self.built);
        (self.memory_at - (1 << 30)).wrapping_sub(shorter)
    }

    pub fn direct_offset(self) -> u64 {
        (u64::MAX << self.built).wrapping_sub(self.phys_offset())
    }

    /// What the top table covers.
    fn width(self) -> u32 {
        match self.page_shift {
            16 => self.built,
            _ => self.actual,
        }
    }

    /// An address as an entry holds it.
    fn entry(self, address: u64) -> u64 {
        match (self.page_shift, self.actual) {
            (16, _) => (address & 0x0000_ffff_ffff_0000) | ((address >> 48) << 12),
            (_, 52) => (address & 0x0003_ffff_ffff_f000) | ((address >> 50) << 8),
            _ => address,
        }
    }

    fn top(self) -> u64 {
        self.image_at() + 0x2_0000
    }

    fn description(self) -> String {
        format!(
            "OSRELEASE=6.12.0-sample\nPAGESIZE={}\nSYMBOL(swapper_pg_dir)={:x}\nSYMBOL(_stext)={:x}\n\
             NUMBER(VA_BITS)={}\nNUMBER(kimage_voffset)=0x{:x}\nNUMBER(PHYS_OFFSET)=0x{:x}\n\
             NUMBER(TCR_EL1_T1SZ)=0x{:x}\nKERNELOFFSET=14000000\nSYMBOL(prb)={:x}\n{}",
            1u64 << self.page_shift,
            self.image_va(self.top()),
            self.image_va(self.image_at()),
            self.built,
            self.image_va(self.image_at()).wrapping_sub(self.image_at()),
            self.phys_offset(),
            64 - self.actual,
            self.image_va(self.printk().pointer),
            super::PRINTK,
        )
    }

    /// The log's structures are in the image, its text is elsewhere.
    fn printk(self) -> super::Printk {
        super::Printk {
            pointer: self.image_at() + 0x3000,
            ring: self.image_at() + 0x3100,
            descs: self.image_at() + 0x4000,
            infos: self.image_at() + 0x5000,
            text: self.memory_at + 0x8000,
            image_offset: self.image_va(self.image_at()).wrapping_sub(self.image_at()),
            direct_offset: self.direct_offset(),
        }
    }
}

/// Writes entries, and makes the tables that they need.
struct Mapper<'a> {
    shape: Shape,
    image: &'a mut Image,
    free: u64,
    /// Which entry leads to which table.
    made: Vec<(u64, u64)>,
}

impl Mapper<'_> {
    /// Level 0: a page; 1: a block.
    fn map(&mut self, virt: u64, phys: u64, last: u32) {
        let shift = self.shape.page_shift;
        let bits = shift - 3;
        let levels = (self.shape.width() - shift).div_ceil(bits);
        let mut table = self.shape.top();
        for level in (last..levels).rev() {
            let low = shift + bits * level;
            let index = (virt & !(u64::MAX << self.shape.width())) >> low;
            let slot = table + (index & ((1 << bits) - 1)) * 8;
            if level == last {
                let kind = if level == 0 { 3 } else { 1 };
                // Access flag and upper attributes, as a kernel sets them.
                let attributes = (1 << 10) | (1 << 54);
                let entry = self.shape.entry(phys) | attributes | kind;
                self.image.put_u64(slot, entry);
                return;
            }
            if self.image.u64(slot) == Some(0) {
                let next = self.shape.entry(self.free);
                self.image.put_u64(slot, next | 3);
                self.made.push((slot, self.free));
                self.free += 1 << shift;
            }
            table = self.made.iter().find(|(at, _)| *at == slot).unwrap().1;
        }
    }
}

/// Memory with page tables for the image and the direct map, and the note.
pub fn kernel(shape: Shape) -> (Image, Vmcoreinfo) {
    let mut image = Image::new(shape.memory_at, MEMORY_SIZE);
    let text = shape.description();
    image.put(shape.memory_at + 0x1_0000, &note(text.as_bytes()));
    let mut mapper = Mapper {
        shape,
        image: &mut image,
        free: shape.memory_at + 0x10_0000,
        made: Vec::new(),
    };
    let page = 1u64 << shape.page_shift;
    for at in (0..0x3_0000).step_by(page as usize) {
        if !(0x1_0000..0x2_0000).contains(&at) {
            let physical = shape.image_at() + at;
            mapper.map(shape.image_va(physical), physical, 0);
        }
    }
    let block = page << (shape.page_shift - 3);
    for at in (0..MEMORY_SIZE).step_by(block as usize) {
        let physical = shape.memory_at + at;
        mapper.map(shape.direct_offset().wrapping_add(physical), physical, 1);
    }
    (image, Vmcoreinfo::parse(text.as_bytes()))
}

/// Its log has received these lines.
pub fn log(image: &mut Image, shape: Shape, lines: &[&str]) {
    shape.printk().write(image, lines);
}
