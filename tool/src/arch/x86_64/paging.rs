//! Page tables of x86-64: four or five levels of 4 KiB each.

use crate::memory::page_tables::{KernelImage, PageTables};
use crate::memory::vmcoreinfo::Vmcoreinfo;
use crate::memory::{Memory, PAGE};

/// Where the kernel's image is mapped, __START_KERNEL_map.
pub const IMAGE_MAP: u64 = 0xffff_ffff_8000_0000;
/// The kernel's half of the address space begins here at the lowest.
const KERNEL_HALF: u64 = 0xff00_0000_0000_0000;
const PRESENT: u64 = 1;
const LARGE: u64 = 1 << 7;
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

struct Tables<'a> {
    memory: &'a dyn Memory,
    phys_base: u64,
    image_size: u64,
    /// Where the text begins.
    text: Option<u64>,
    top: u64,
    levels: u32,
    encryption: u64,
}

/// Find those of the kernel that says this of itself, if it is one of x86-64.
pub fn of<'a>(memory: &'a dyn Memory, info: &Vmcoreinfo) -> Option<Box<dyn PageTables + 'a>> {
    let phys_base = info.number("phys_base")? as u64;
    let table = info
        .symbol("init_top_pgt")
        .or_else(|| info.symbol("swapper_pg_dir"))?;
    let levels = match info.number("pgtable_l5_enabled") {
        Some(1) => 5,
        _ => 4,
    };
    let image_size = info.number("KERNEL_IMAGE_SIZE").unwrap_or(1 << 30) as u64;
    Some(Box::new(Tables {
        memory,
        phys_base,
        image_size: image_size.min(1 << 30),
        text: info.symbol("_stext"),
        top: table.wrapping_sub(IMAGE_MAP).wrapping_add(phys_base) & !(PAGE - 1),
        levels,
        encryption: info.number("sme_mask").unwrap_or(0) as u64,
    }))
}

impl Tables<'_> {
    /// A present entry of a page table, without the encryption bit.
    fn entry(&self, table: u64, index: u64) -> Option<u64> {
        let entry = self.memory.u64(table.checked_add(index * 8)?)? & !self.encryption;
        (entry & PRESENT != 0).then_some(entry)
    }

    /// How many bytes of the image are mapped in one piece from `address` on.
    fn image_extent(&self, address: u64) -> u64 {
        const STEP: u64 = 2 << 20;
        let mut size = 0;
        while size < self.image_size {
            let at = address.wrapping_add(size);
            if self.walk(at) != self.in_image(at) {
                break;
            }
            size += STEP;
        }
        size
    }

    fn has_p4d(&self, address: u64) -> bool {
        self.entry(self.top, (address >> 48) & 511)
            .and_then(|e| self.entry(e & ADDRESS, (address >> 39) & 511))
            .is_some()
    }
}

impl PageTables for Tables<'_> {
    fn in_image(&self, address: u64) -> Option<u64> {
        let inside = address.wrapping_sub(IMAGE_MAP);
        (inside < self.image_size).then(|| inside.wrapping_add(self.phys_base))
    }

    fn walk(&self, address: u64) -> Option<u64> {
        if address < KERNEL_HALF {
            return None;
        }
        let mut table = self.top;
        for level in (0..self.levels).rev() {
            let shift = 12 + 9 * level;
            let entry = self.entry(table, (address >> shift) & 511)?;
            let next = entry & ADDRESS;
            if level == 0 || (level <= 2 && entry & LARGE != 0) {
                let inside = (1u64 << shift) - 1;
                return Some((next & !inside) | (address & inside));
            }
            table = next;
        }
        None
    }

    fn image(&self) -> Option<KernelImage> {
        const LARGE_PAGE: u64 = 2 << 20;
        let start = self.text? & !(LARGE_PAGE - 1);
        let size = self.image_extent(start);
        if start < IMAGE_MAP || size == 0 {
            return None;
        }
        Some(KernelImage {
            virt: start,
            phys: self.in_image(start)?,
            size,
        })
    }

    /// page_offset_base: KASLR moves
    /// it by multiples of 1 GiB. Found by looking for where `physical`, which
    /// the partition surely uses, is mapped.
    fn direct_map(&self, physical: u64) -> Option<u64> {
        const GIB: u64 = 1 << 30;
        /// The direct map is among the first that is present.
        const MAX_TRIES: u32 = 1 << 16;
        let mut tries = 0;
        let inside = physical % GIB;
        let top_shift = 12 + 9 * (self.levels - 1);
        for top in 256..511u64 {
            if self.entry(self.top, top).is_none() {
                continue;
            }
            let start = (u64::MAX << (top_shift + 9)) | (top << top_shift);
            // With five levels, go through 4-level regions that are present.
            let steps = (1u64 << top_shift) / GIB;
            let mut step = 0;
            while step < steps {
                let base = start + step * GIB;
                if self.levels == 5 && step % 512 == 0 && !self.has_p4d(base) {
                    step += 512;
                    continue;
                }
                tries += 1;
                if tries > MAX_TRIES {
                    return None;
                }
                if self.walk(base + inside) == Some(physical) {
                    return (base + inside).checked_sub(physical);
                }
                step += 1;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::paging::AddressSpace;
    use crate::guest::sample::{self, Image};

    #[test]
    fn the_image_and_the_direct_map() {
        let (image, info) = sample::kernel();
        let space = AddressSpace::new(&image, &info).unwrap();
        let text = IMAGE_MAP + sample::OFFSET;
        assert_eq!(space.translate(text), Some(sample::IMAGE_AT));
        let tables = of(&image, &info).unwrap();
        assert_eq!(tables.walk(text), Some(sample::IMAGE_AT));
        let found = tables.image().unwrap();
        assert_eq!((found.virt, found.phys), (text, sample::IMAGE_AT));
        assert_eq!(found.size, 2 << 20);
        let direct = sample::DIRECT + sample::MEMORY_AT + 0x1234;
        assert_eq!(space.translate(direct), Some(sample::MEMORY_AT + 0x1234));
        assert_eq!(
            space.translate(direct),
            Some(sample::MEMORY_AT + 0x1234),
            "cached"
        );
        assert_eq!(space.direct_map(sample::MEMORY_AT), Some(sample::DIRECT));
        assert_eq!(space.translate(0x1000), None);
        assert_eq!(space.translate(0xffff_c000_0000_0000), None);
    }

    /// A page table that refers to itself, entries full of bits: no loop, no
    /// panic.
    #[test]
    fn hostile_tables() {
        let mut image = Image::new(0, 64 << 10);
        for at in 0..8192u64 {
            image.put(at * 8, &((at << 12) | 1).to_le_bytes());
        }
        let info = Vmcoreinfo::parse(
            b"NUMBER(phys_base)=0\nSYMBOL(init_top_pgt)=ffffffff80000000\n\
              NUMBER(pgtable_l5_enabled)=1\nNUMBER(KERNEL_IMAGE_SIZE)=-1\n\
              SYMBOL(_stext)=ffffffff80000000\n",
        );
        let space = AddressSpace::new(&image, &info).unwrap();
        for address in [
            KERNEL_HALF,
            u64::MAX,
            u64::MAX - 0xfff,
            0xffff_8880_0000_0000,
        ] {
            let _ = space.translate(address);
            let _ = space.read(address, &mut [0; 100]);
        }
        let _ = space.image();
        let _ = space.direct_map(u64::MAX);
        let _ = space.direct_map(0x1000);
    }
}
