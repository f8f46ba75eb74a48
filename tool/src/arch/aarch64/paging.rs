//! Page tables of arm64: granules of 4, 16 and 64 KiB, addresses of up to 52 bits.

use crate::memory::Memory;
use crate::memory::page_tables::{KernelImage, PageTables};
use crate::memory::vmcoreinfo::Vmcoreinfo;

const VALID: u64 = 1;
/// A table, or at the last level a page; without it a block.
const TABLE: u64 = 1 << 1;
/// Addresses of 48 bits, and no part of the attributes.
const ADDRESS: u64 = 0x0000_ffff_ffff_f000;
/// The most that is looked at to find the image's end.
const IMAGE_MAX: u64 = 128 << 20;

struct Tables<'a> {
    memory: &'a dyn Memory,
    top: u64,
    page_shift: u32,
    /// Of the addresses that the top table covers.
    width: u32,
    /// How addresses beyond 48 bits are written into an entry.
    far: Far,
    /// From physical addresses to those of the image.
    image_offset: u64,
    /// Where the text begins.
    text: Option<u64>,
    /// The same as `image_offset` for the direct map.
    direct_offset: Option<u64>,
}

#[derive(Clone, Copy)]
enum Far {
    /// Nowhere.
    None,
    /// Bits 51 to 48 in bits 15 to 12: granules of 64 KiB.
    Low,
    /// Bits 49 and 48 in place, 51 and 50 in bits 9 and 8: FEAT_LPA2.
    Split,
}

/// Find those of the kernel that says this of itself, if it is one of arm64.
pub fn of<'a>(memory: &'a dyn Memory, info: &Vmcoreinfo) -> Option<Box<dyn PageTables + 'a>> {
    let image_offset = info.number("kimage_voffset")? as u64;
    let page_shift = match info.page_size()? {
        0x1000 => 12,
        0x4000 => 14,
        0x10000 => 16,
        _ => return None,
    };
    let bits = |n: i64| u32::try_from(n).ok().filter(|n| (36..=52).contains(n));
    // What it was built for, and what the CPUs can do.
    let built = bits(info.number("VA_BITS")?)?;
    let actual = match info.number("TCR_EL1_T1SZ") {
        Some(unused) => bits(64i64.checked_sub(unused)?)?,
        None => built,
    };
    // With 64 KiB the top table is that of 52 bits all the same, and only its end is used.
    let (width, far) = match (page_shift, actual) {
        (16, _) => (built, Far::Low),
        (_, 52) => (actual, Far::Split),
        _ => (actual, Far::None),
    };
    let direct_offset = info
        .number("PHYS_OFFSET")
        .map(|first| (u64::MAX << built).wrapping_sub(first as u64));
    Some(Box::new(Tables {
        memory,
        top: info.symbol("swapper_pg_dir")?.wrapping_sub(image_offset),
        page_shift,
        width,
        far,
        image_offset,
        text: info.symbol("_stext"),
        direct_offset,
    }))
}

impl Tables<'_> {
    /// Where an entry leads.
    fn target(&self, entry: u64) -> u64 {
        let near = entry & ADDRESS & (u64::MAX << self.page_shift);
        match self.far {
            Far::None => near,
            Far::Low => near | (((entry >> 12) & 0xf) << 48),
            Far::Split => near | (entry & (3 << 48)) | (((entry >> 8) & 3) << 50),
        }
    }

    /// Is this address of the image mapped as the image is?
    fn has(&self, address: u64) -> bool {
        self.walk(address) == Some(address.wrapping_sub(self.image_offset))
    }
}

impl PageTables for Tables<'_> {
    /// Its place is known, but not how far it goes.
    fn in_image(&self, _: u64) -> Option<u64> {
        None
    }

    fn walk(&self, address: u64) -> Option<u64> {
        if address < u64::MAX << self.width {
            return None;
        }
        let bits = self.page_shift - 3;
        let levels = (self.width - self.page_shift).div_ceil(bits);
        let mut table = self.top;
        for level in (0..levels).rev() {
            let shift = self.page_shift + bits * level;
            let index_bits = bits.min(self.width - shift);
            let index = (address >> shift) & ((1 << index_bits) - 1);
            let entry = self.memory.u64(table.checked_add(index * 8)?)?;
            if entry & VALID == 0 || (level == 0 && entry & TABLE == 0) {
                return None;
            }
            let target = self.target(entry);
            if level == 0 || entry & TABLE == 0 {
                let inside = (1u64 << shift) - 1;
                return Some((target & !inside) | (address & inside));
            }
            table = target;
        }
        None
    }

    /// From the text to the last page of its data: what only starting it took has been freed,
    /// and is a hole.
    fn image(&self) -> Option<KernelImage> {
        /// Its parts begin at multiples of this, whatever the pages.
        const STEP: u64 = 64 << 10;
        let virt = self.text? & !(STEP - 1);
        if !self.has(virt) {
            return None;
        }
        let ends = (0..IMAGE_MAX).step_by(STEP as usize);
        let last = ends
            .take_while(|at| virt.checked_add(at + STEP).is_some())
            .filter(|at| self.has(virt + at))
            .last()?;
        Some(KernelImage {
            virt,
            phys: virt.wrapping_sub(self.image_offset),
            size: last + STEP,
        })
    }

    fn direct_map(&self, physical: u64) -> Option<u64> {
        let offset = self.direct_offset?;
        (self.walk(offset.wrapping_add(physical)) == Some(physical)).then_some(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::paging::AddressSpace;
    use crate::guest::sample::Image;
    use crate::guest::sample::aarch64::{SHAPES, Shape, kernel};

    #[test]
    fn the_image_and_the_direct_map() {
        for shape in SHAPES {
            let (image, info) = kernel(shape);
            let space = AddressSpace::new(&image, &info).unwrap();
            assert_eq!(space.architecture.name, "arm64");
            let found = space.image().unwrap();
            let text = shape.image_at();
            assert_eq!((found.virt, found.phys), (shape.image_va(text), text));
            assert_eq!(found.size, 0x3_0000, "beyond a hole: {shape:?}");
            assert_eq!(
                space.translate(shape.image_va(text) + 0x123),
                Some(text + 0x123)
            );
            assert_eq!(space.translate(shape.image_va(text + 0x1_0000)), None);
            let offset = shape.direct_offset();
            for address in [shape.memory_at, shape.memory_at + 0x12_3456] {
                let direct = offset.wrapping_add(address);
                assert_eq!(space.translate(direct), Some(address), "{shape:?}");
                assert_eq!(space.direct_map(address), Some(offset));
            }
            assert_eq!(space.direct_map(0x1000), None);
            assert_eq!(space.translate(0x1000), None);
            assert_eq!(space.translate(u64::MAX), None);
        }
    }

    #[test]
    fn what_is_no_arm64() {
        let (image, _) = kernel(SHAPES[0]);
        for text in [
            "",
            "NUMBER(kimage_voffset)=0x1000\nSYMBOL(swapper_pg_dir)=ffff800008000000\n",
            "NUMBER(kimage_voffset)=0x0\nPAGESIZE=8192\nNUMBER(VA_BITS)=48\nSYMBOL(swapper_pg_dir)=0\n",
            "NUMBER(kimage_voffset)=0x0\nPAGESIZE=4096\nNUMBER(VA_BITS)=64\nSYMBOL(swapper_pg_dir)=0\n",
            "NUMBER(kimage_voffset)=0x0\nPAGESIZE=4096\nNUMBER(VA_BITS)=48\n",
        ] {
            assert!(of(&image, &Vmcoreinfo::parse(text.as_bytes())).is_none());
        }
    }

    /// Tables that refer to themselves, entries full of bits: no loop, no panic.
    #[test]
    fn hostile_tables() {
        for Shape {
            page_shift, built, ..
        } in SHAPES
        {
            let mut image = Image::new(0, 64 << 10);
            for at in 0..8192u64 {
                image.put(at * 8, &((at << 12) | 3).to_le_bytes());
            }
            let text = format!(
                "PAGESIZE={}\nNUMBER(VA_BITS)={built}\nNUMBER(kimage_voffset)=0xffff800000000000\n\
                 SYMBOL(swapper_pg_dir)=ffff800000000000\nSYMBOL(_stext)=ffffffffffff0000\n\
                 NUMBER(PHYS_OFFSET)=0xffffffffffffffff\n",
                1u64 << page_shift
            );
            let info = Vmcoreinfo::parse(text.as_bytes());
            let space = AddressSpace::new(&image, &info).unwrap();
            for address in [0, u64::MAX, 0xffff_8000_0000_0000, u64::MAX << 36] {
                let _ = space.translate(address);
                let _ = space.read(address, &mut [0; 100]);
                let _ = space.direct_map(address);
            }
            let _ = space.image();
        }
    }
}
