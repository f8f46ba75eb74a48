//! A kernel's memory made by hand, for tests: page tables, VMCOREINFO and a
//! printk ring, built from the kernel's documentation and not from our reader.

pub mod aarch64;

use crate::arch::x86_64::paging::IMAGE_MAP;
use crate::memory::vmcoreinfo::Vmcoreinfo;
use crate::memory::{Memory, PAGE};
use crate::partition::Range;

pub const MEMORY_AT: u64 = 0x1_0000_0000;
const MEMORY_SIZE: u64 = 4 << 20;
/// What KASLR added to the image's virtual address.
pub const OFFSET: u64 = 0x1c00_0000;
/// Where the image lies in physical memory.
pub const IMAGE_AT: u64 = MEMORY_AT + (2 << 20);
pub const DIRECT: u64 = 0xffff_9a40_0000_0000;

const COUNT_BITS: u32 = 4;
const SIZE_BITS: u32 = 8;
const PGD: u64 = IMAGE_AT + 0x1000;
const NOTE: u64 = MEMORY_AT + 0x10000;
const DESC_SIZE: u64 = 24;
const INFO_SIZE: u64 = 88;

#[derive(Clone)]
pub struct Image {
    range: [Range; 1],
    data: Vec<u8>,
}

impl Image {
    pub fn new(start: u64, size: u64) -> Self {
        Image {
            range: [Range { start, size }],
            data: vec![0; size as usize],
        }
    }

    pub fn put(&mut self, address: u64, bytes: &[u8]) {
        let at = (address - self.range[0].start) as usize;
        self.data[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn put_u64(&mut self, address: u64, value: u64) {
        self.put(address, &value.to_le_bytes());
    }
}

impl Memory for Image {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let Some(at) = address.checked_sub(self.range[0].start) else {
            return 0;
        };
        let Some(rest) = usize::try_from(at).ok().and_then(|at| self.data.get(at..)) else {
            return 0;
        };
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        n
    }

    fn ranges(&self) -> &[Range] {
        &self.range
    }
}

/// xorshift: the same numbers each time.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// An ELF note as the kernel writes it.
pub fn note(text: &[u8]) -> Vec<u8> {
    let mut note = Vec::new();
    note.extend_from_slice(&11u32.to_le_bytes());
    note.extend_from_slice(&(text.len() as u32).to_le_bytes());
    note.extend_from_slice(&0u32.to_le_bytes());
    note.extend_from_slice(b"VMCOREINFO\0\0");
    note.extend_from_slice(text);
    note
}

fn image_va(physical: u64) -> u64 {
    IMAGE_MAP + OFFSET + (physical - IMAGE_AT)
}

/// What all kernels say of their log's structures.
const PRINTK: &str = "\
SIZE(printk_ringbuffer)=96
OFFSET(printk_ringbuffer.desc_ring)=0
OFFSET(printk_ringbuffer.text_data_ring)=48
SIZE(prb_desc_ring)=48
OFFSET(prb_desc_ring.count_bits)=0
OFFSET(prb_desc_ring.descs)=8
OFFSET(prb_desc_ring.infos)=16
OFFSET(prb_desc_ring.head_id)=24
OFFSET(prb_desc_ring.tail_id)=32
SIZE(prb_desc)=24
OFFSET(prb_desc.state_var)=0
OFFSET(prb_desc.text_blk_lpos)=8
OFFSET(prb_data_blk_lpos.begin)=0
OFFSET(prb_data_blk_lpos.next)=8
SIZE(printk_info)=88
OFFSET(printk_info.seq)=0
OFFSET(printk_info.ts_nsec)=8
OFFSET(printk_info.text_len)=16
OFFSET(prb_data_ring.size_bits)=0
OFFSET(prb_data_ring.data)=8
OFFSET(atomic_long_t.counter)=0
";

fn description() -> String {
    let phys_base = IMAGE_AT.wrapping_sub(OFFSET) as i64;
    format!(
        "OSRELEASE=6.1.0-sample\nPAGESIZE=4096\nSYMBOL(init_top_pgt)={:x}\nSYMBOL(_stext)={:x}\n\
         NUMBER(phys_base)={phys_base}\nNUMBER(pgtable_l5_enabled)=0\nKERNELOFFSET={OFFSET:x}\n\
         NUMBER(KERNEL_IMAGE_SIZE)=1073741824\nNUMBER(sme_mask)=0\nSYMBOL(prb)={:x}\n{PRINTK}",
        image_va(PGD),
        image_va(IMAGE_AT),
        image_va(LOG.pointer),
    )
}

/// Memory with page tables for the image and the direct map, and the note.
pub fn kernel() -> (Image, Vmcoreinfo) {
    let mut image = Image::new(MEMORY_AT, MEMORY_SIZE);
    let text = description();
    image.put(NOTE, &note(text.as_bytes()));
    let mut free = MEMORY_AT + 0x20000;
    let mut map = |virt: u64, entry: u64| {
        let mut table = PGD;
        for shift in [39, 30] {
            let slot = table + ((virt >> shift) & 511) * 8;
            let mut next = image.u64(slot).unwrap() & !0xfff;
            if next == 0 {
                next = free;
                free += PAGE;
                image.put_u64(slot, next | 0x63);
            }
            table = next;
        }
        // A large page, with the flags that a kernel sets.
        image.put_u64(table + ((virt >> 21) & 511) * 8, entry | 0xe3);
    };
    map(IMAGE_MAP + OFFSET, IMAGE_AT);
    map(DIRECT + MEMORY_AT, MEMORY_AT);
    map(DIRECT + IMAGE_AT, IMAGE_AT);
    (image, Vmcoreinfo::parse(text.as_bytes()))
}

/// Where a log's structures and its text are, and how to reach them.
struct Printk {
    pointer: u64,
    ring: u64,
    descs: u64,
    infos: u64,
    text: u64,
    /// From physical addresses to the image's, and to those of the direct map.
    image_offset: u64,
    direct_offset: u64,
}

/// The text is reached through the direct map.
const LOG: Printk = Printk {
    pointer: IMAGE_AT + 0x3000,
    ring: IMAGE_AT + 0x3100,
    descs: IMAGE_AT + 0x4000,
    infos: IMAGE_AT + 0x5000,
    text: MEMORY_AT + 0x8000,
    image_offset: IMAGE_MAP + OFFSET - IMAGE_AT,
    direct_offset: DIRECT,
};

impl Printk {
    fn image_va(&self, physical: u64) -> u64 {
        physical.wrapping_add(self.image_offset)
    }

    /// Write a ring that has received these lines, one second and one microsecond
    /// apart. Old ones are overwritten as the kernel does it.
    fn write(&self, image: &mut Image, lines: &[&str]) {
        let count = 1u64 << COUNT_BITS;
        let size = 1u64 << SIZE_BITS;
        let id_mask = u64::MAX >> 2;
        // DESC0_ID, computed in 32 bits
        let first_id = u64::from(0u32.wrapping_sub(count as u32 + 1));
        let (mut head, mut tail) = (first_id, first_id);
        let mut lpos = 0u64.wrapping_sub(size);
        // begin, next and id of the records that still have their text
        let mut kept: Vec<(u64, u64, u64)> = Vec::new();
        image.put_u64(self.descs + (count - 1) * DESC_SIZE, first_id | (3 << 62));
        for (seq, line) in (0u64..).zip(lines) {
            head = (head + 1) & id_mask;
            if (head.wrapping_sub(tail) & id_mask) >= count {
                tail = (tail + 1) & id_mask;
            }
            let index = head & (count - 1);
            let (mut begin, mut next) = (3, 3);
            if !line.is_empty() {
                let block = (8 + line.len() as u64).next_multiple_of(8);
                begin = lpos;
                next = lpos.wrapping_add(block);
                let mut at = begin & (size - 1);
                if at + block > size {
                    image.put_u64(self.text + at, head);
                    at = 0;
                    next = (begin | (size - 1)).wrapping_add(1 + block);
                }
                // What lies in the way is gone.
                kept.retain(|(old, _, id)| {
                    let stays = next.wrapping_sub(*old) <= size;
                    if !stays {
                        let slot = self.descs + (id & (count - 1)) * DESC_SIZE;
                        image.put_u64(slot, id | (3 << 62));
                    }
                    stays
                });
                image.put_u64(self.text + at, head);
                image.put(self.text + at + 8, line.as_bytes());
                kept.push((begin, next, head));
                lpos = next;
            }
            let desc = self.descs + index * DESC_SIZE;
            image.put_u64(desc, head | (2 << 62));
            image.put_u64(desc + 8, begin);
            image.put_u64(desc + 16, next);
            let info = self.infos + index * INFO_SIZE;
            image.put_u64(info, seq);
            image.put_u64(info + 8, seq * 1_000_001_000);
            image.put(info + 16, &(line.len() as u16).to_le_bytes());
            image.put(info + 18, &[0, 6 << 5]);
        }
        image.put_u64(self.pointer, self.image_va(self.ring));
        image.put(self.ring, &COUNT_BITS.to_le_bytes());
        image.put_u64(self.ring + 8, self.image_va(self.descs));
        image.put_u64(self.ring + 16, self.image_va(self.infos));
        image.put_u64(self.ring + 24, head);
        image.put_u64(self.ring + 32, tail);
        image.put(self.ring + 48, &SIZE_BITS.to_le_bytes());
        image.put_u64(self.ring + 56, self.direct_offset.wrapping_add(self.text));
    }
}

/// What `kernel()` makes has logged these lines.
pub fn log(image: &mut Image, lines: &[&str]) {
    LOG.write(image, lines);
}

/// Change the state of the record with this index.
pub fn set_state(image: &mut Image, index: u64, state: u64) {
    let desc = LOG.descs + index * DESC_SIZE;
    let id = image.u64(desc).unwrap() & (u64::MAX >> 2);
    image.put_u64(desc, id | (state << 62));
}

/// Addresses of all words that are not zero and thus mean something.
pub fn interesting(image: &Image) -> Vec<u64> {
    (MEMORY_AT..MEMORY_AT + MEMORY_SIZE - 8)
        .step_by(8)
        .filter(|at| image.u64(*at) != Some(0))
        .collect()
}
