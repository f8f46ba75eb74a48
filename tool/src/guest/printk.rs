//! The kernel's log, read out of its printk_ringbuffer. The comments of
//! kernel/printk/printk_ringbuffer.c describe it; this reads without taking part.

use std::fmt::Write;

use super::paging::AddressSpace;
use crate::memory::vmcoreinfo::Vmcoreinfo;
use crate::memory::{field_u16, field_u32, field_u64};
use crate::ui::output::printable;

/// Rings larger than this are not believed: 2^21 records, 64 MiB of text.
const MAX_COUNT_BITS: u32 = 21;
const MAX_SIZE_BITS: u32 = 26;
const ID_MASK: u64 = u64::MAX >> 2;
const COMMITTED: u64 = 1;
const FINALIZED: u64 = 2;
/// Size of the id before each text.
const ID_SIZE: u64 = 8;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Record {
    pub seq: u64,
    pub time_ns: u64,
    pub level: u8,
    pub text: String,
}

impl Record {
    /// Write it as dmesg does: each line with the time.
    pub fn lines(&self) -> Vec<String> {
        let prefix = format!(
            "[{:5}.{:06}] ",
            self.time_ns / 1_000_000_000,
            self.time_ns / 1000 % 1_000_000
        );
        self.text
            .split('\n')
            .map(|line| {
                let mut text = prefix.clone();
                let _ = write!(text, "{}", printable(line));
                text
            })
            .collect()
    }
}

/// What the kernel says about its structures, all taken from VMCOREINFO.
struct Layout {
    ring_size: u64,
    desc_ring: u64,
    data_ring: u64,
    count_bits: u64,
    descs: u64,
    infos: u64,
    head_id: u64,
    tail_id: u64,
    desc_size: u64,
    state_var: u64,
    begin: u64,
    next: u64,
    info_size: u64,
    seq: u64,
    time: u64,
    text_len: u64,
    size_bits: u64,
    data: u64,
}

impl Layout {
    fn new(v: &Vmcoreinfo) -> Option<Self> {
        let counter = v.offset("atomic_long_t.counter")?;
        let lpos = v.offset("prb_desc.text_blk_lpos")?;
        Some(Layout {
            ring_size: v.size("printk_ringbuffer")?,
            desc_ring: v.offset("printk_ringbuffer.desc_ring")?,
            data_ring: v.offset("printk_ringbuffer.text_data_ring")?,
            count_bits: v.offset("prb_desc_ring.count_bits")?,
            descs: v.offset("prb_desc_ring.descs")?,
            infos: v.offset("prb_desc_ring.infos")?,
            head_id: v.offset("prb_desc_ring.head_id")? + counter,
            tail_id: v.offset("prb_desc_ring.tail_id")? + counter,
            desc_size: v.size("prb_desc")?,
            state_var: v.offset("prb_desc.state_var")? + counter,
            begin: lpos + v.offset("prb_data_blk_lpos.begin")?,
            next: lpos + v.offset("prb_data_blk_lpos.next")?,
            info_size: v.size("printk_info")?,
            seq: v.offset("printk_info.seq")?,
            time: v.offset("printk_info.ts_nsec")?,
            text_len: v.offset("printk_info.text_len")?,
            size_bits: v.offset("prb_data_ring.size_bits")?,
            data: v.offset("prb_data_ring.data")?,
        })
    }
}

/// The kernel's ring of records.
pub struct Ring<'a> {
    space: &'a AddressSpace<'a>,
    layout: Layout,
    /// Where the ring's structure is; `prb` changes when the kernel makes a
    /// larger one early in boot.
    pointer: u64,
}

/// The ring's structure, as it is at one moment.
struct View {
    count_bits: u32,
    size_bits: u32,
    descs: u64,
    infos: u64,
    data: u64,
    head: u64,
    tail: u64,
}

/// What became of one descriptor.
enum Read {
    Record(Record),
    /// Being written; may become a record later.
    Open,
    /// No text, no sense, or overwritten by now.
    Nothing,
}

impl<'a> Ring<'a> {
    /// Find the ring; `None`: the kernel does not say where, or it makes no sense.
    pub fn new(space: &'a AddressSpace<'a>, info: &Vmcoreinfo) -> Option<Self> {
        let ring = Ring {
            space,
            layout: Layout::new(info)?,
            pointer: info.symbol("prb")?,
        };
        // One that makes no sense is none.
        ring.view()?;
        Some(ring)
    }

    fn view(&self) -> Option<View> {
        let l = &self.layout;
        let at = self.space.u64(self.pointer)?;
        let mut raw = vec![0; usize::try_from(l.ring_size).ok()?];
        self.space.read(at, &mut raw)?;
        let view = View {
            count_bits: field_u32(&raw, l.desc_ring + l.count_bits)?,
            descs: field_u64(&raw, l.desc_ring + l.descs)?,
            infos: field_u64(&raw, l.desc_ring + l.infos)?,
            head: field_u64(&raw, l.desc_ring + l.head_id)? & ID_MASK,
            tail: field_u64(&raw, l.desc_ring + l.tail_id)? & ID_MASK,
            size_bits: field_u32(&raw, l.data_ring + l.size_bits)?,
            data: field_u64(&raw, l.data_ring + l.data)?,
        };
        let sane = (1..=MAX_COUNT_BITS).contains(&view.count_bits)
            && (4..=MAX_SIZE_BITS).contains(&view.size_bits)
            && l.desc_size >= ID_SIZE
            && l.info_size >= ID_SIZE;
        sane.then_some(view)
    }

    /// Read all records with a sequence number of `from` or above. With `open`, also those
    /// to which more may be added; without, it ends before the first of them.
    pub fn records(&self, from: u64, open: bool) -> Vec<Record> {
        let mut list = Vec::new();
        let Some(view) = self.view() else {
            return list;
        };
        let count = 1u64 << view.count_bits;
        let span = (view.head.wrapping_sub(view.tail) & ID_MASK).min(count - 1);
        let mut next = from;
        for step in 0..=span {
            // From the head backwards in ids, so that an absurd tail does no harm.
            let id = view.head.wrapping_sub(span - step) & ID_MASK;
            match self.record(&view, id, open).unwrap_or(Read::Nothing) {
                Read::Record(record) if record.seq >= next => {
                    next = record.seq.saturating_add(1);
                    list.push(record);
                }
                Read::Open if !open => break,
                _ => {}
            }
        }
        list
    }

    fn record(&self, view: &View, id: u64, open: bool) -> Option<Read> {
        let l = &self.layout;
        let index = id & ((1 << view.count_bits) - 1);
        let desc_at = view.descs.checked_add(index * l.desc_size)?;
        let mut desc = vec![0; l.desc_size as usize];
        self.space.read(desc_at, &mut desc)?;
        let state_var = field_u64(&desc, l.state_var)?;
        if state_var & ID_MASK != id {
            return Some(Read::Nothing);
        }
        match state_var >> 62 {
            FINALIZED => {}
            COMMITTED if open => {}
            0 | COMMITTED => return Some(Read::Open),
            _ => return Some(Read::Nothing),
        }
        let mut info = vec![0; l.info_size as usize];
        let info_at = view.infos.checked_add(index * l.info_size)?;
        self.space.read(info_at, &mut info)?;
        let seq = field_u64(&info, l.seq)?;
        if seq & ((1 << view.count_bits) - 1) != index {
            return Some(Read::Nothing);
        }
        let length = field_u16(&info, l.text_len)?;
        let begin = field_u64(&desc, l.begin)?;
        let next = field_u64(&desc, l.next)?;
        let text = self.text(view, begin, next, length)?;
        // Facility, then five bits of flags and three of level follow.
        let level = info
            .get(usize::try_from(l.text_len + 3).ok()?)
            .map_or(0, |b| b >> 5);
        // Overwritten while we looked?
        if self.space.u64(desc_at.checked_add(l.state_var)?)? != state_var {
            return Some(Read::Nothing);
        }
        Some(Read::Record(Record {
            seq,
            time_ns: field_u64(&info, l.time)?,
            level,
            text,
        }))
    }

    /// The text between two logical positions, as get_data() there finds it.
    fn text(&self, view: &View, begin: u64, next: u64, length: u16) -> Option<String> {
        const EMPTY_LINE: u64 = 3;
        if begin & 1 == 1 && next & 1 == 1 {
            return (begin == EMPTY_LINE && next == EMPTY_LINE).then(String::new);
        }
        let size = 1u64 << view.size_bits;
        let wraps = |lpos: u64| lpos >> view.size_bits;
        let (at, room) = if wraps(begin) == wraps(next) && begin < next {
            (begin & (size - 1), next - begin)
        } else if wraps(begin.wrapping_add(size)) == wraps(next) {
            (0, next & (size - 1))
        } else {
            return None;
        };
        if begin % ID_SIZE != 0 || next % ID_SIZE != 0 {
            return None;
        }
        let room = room.checked_sub(ID_SIZE)?;
        if u64::from(length) > room {
            return None;
        }
        let mut bytes = vec![0; usize::from(length)];
        self.space
            .read(view.data.checked_add(at + ID_SIZE)?, &mut bytes)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::sample::{self, Image};

    fn read(image: &Image, info: &Vmcoreinfo, from: u64, open: bool) -> Vec<Record> {
        let Some(space) = AddressSpace::new(image, info) else {
            return Vec::new();
        };
        let Some(ring) = Ring::new(&space, info) else {
            return Vec::new();
        };
        ring.records(from, open)
    }

    fn texts(records: &[Record]) -> Vec<&str> {
        records.iter().map(|r| r.text.as_str()).collect()
    }

    #[test]
    fn a_young_log() {
        let (mut image, info) = sample::kernel();
        sample::log(&mut image, &["Linux version 6.1", "", "two\nlines"]);
        let records = read(&image, &info, 0, true);
        assert_eq!(texts(&records), ["Linux version 6.1", "", "two\nlines"]);
        assert_eq!(records[2].seq, 2);
        assert_eq!(records[2].level, 6);
        assert_eq!(
            records[2].lines(),
            ["[    2.000002] two", "[    2.000002] lines"]
        );
        assert_eq!(texts(&read(&image, &info, 1, true)), ["", "two\nlines"]);
        assert!(read(&image, &info, 3, true).is_empty());
    }

    #[test]
    fn a_log_that_has_wrapped() {
        let (mut image, info) = sample::kernel();
        let lines: Vec<String> = (0..100).map(|n| format!("line number {n}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        sample::log(&mut image, &lines);
        let records = read(&image, &info, 0, true);
        let texts = texts(&records);
        assert!(texts.len() >= 8, "{}", texts.len());
        assert_eq!(texts, lines[100 - texts.len()..]);
        assert_eq!(records.last().unwrap().seq, 99);
    }

    #[test]
    fn records_that_are_not_finished() {
        let (mut image, info) = sample::kernel();
        sample::log(&mut image, &["a", "b", "c"]);
        sample::set_state(&mut image, 1, COMMITTED);
        assert_eq!(texts(&read(&image, &info, 0, true)), ["a", "b", "c"]);
        assert_eq!(texts(&read(&image, &info, 0, false)), ["a"]);
        sample::set_state(&mut image, 1, 0);
        assert_eq!(texts(&read(&image, &info, 0, true)), ["a", "c"]);
        assert_eq!(texts(&read(&image, &info, 0, false)), ["a"]);
    }

    #[test]
    fn an_empty_ring() {
        let (mut image, info) = sample::kernel();
        sample::log(&mut image, &[]);
        assert!(read(&image, &info, 0, true).is_empty());
    }

    /// Damage every byte that the reader looks at, one by one and in heaps.
    #[test]
    fn mutated_images() {
        let (mut image, info) = sample::kernel();
        let lines: Vec<String> = (0..40).map(|n| format!("line {n}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        sample::log(&mut image, &lines);
        let mut random = sample::Random::new(42);
        let interesting = sample::interesting(&image);
        for round in 0..3000 {
            let mut bad = image.clone();
            for _ in 0..1 + round % 5 {
                let at = interesting[random.below(interesting.len())];
                let value = match random.below(4) {
                    0 => u64::MAX,
                    1 => 0,
                    2 => 1 << random.below(64),
                    _ => random.next(),
                };
                bad.put(at, &value.to_le_bytes());
            }
            let _ = read(&bad, &info, 0, round % 2 == 0);
        }
    }

    /// A VMCOREINFO that lies.
    #[test]
    fn mutated_descriptions() {
        let (mut image, info) = sample::kernel();
        sample::log(&mut image, &["a", "b"]);
        let mut random = sample::Random::new(7);
        for _ in 0..2000 {
            let mut text = info.text.clone();
            for _ in 0..3 {
                let at = random.below(text.len());
                text[at] = b"0123456789abcdef=-\n"[random.below(19)];
            }
            let _ = read(&image, &Vmcoreinfo::parse(&text), 0, true);
        }
    }
}
