//! The log of a kernel that has not come far enough to have a VMCOREINFO: find
//! the text ring by its first line and follow it.
//!
//! A block in the ring is the record's id and its text; the next block begins at
//! a multiple of 8 and has the next id. The first id is the same in all kernels
//! with rings of the same size: printk_ringbuffer.h starts counting shortly
//! before an overflow (of 32 bits, though ids have 62: DESC0_ID is computed from
//! an unsigned int).

use memchr::memmem;

use crate::memory::{CHUNK, Memory, field_u64};
use crate::ui::interrupt;

const ID_MASK: u64 = u64::MAX >> 2;
/// The first ids of rings with 2^4 to 2^21 records: -(2^n) in 32 bits.
const MIN_BITS: u32 = 4;
const MAX_BITS: u32 = 21;
/// The longest a record can be (LOG_LINE_MAX and some), rounded up.
const MAX_TEXT: usize = 2048;
/// A ring that has VMCOREINFO by the time it wraps is not our business.
const MAX_RING: usize = 1 << 20;
const MAX_RECORDS: usize = 1 << 14;

/// Find the lines of the log, oldest first. With several rings, left behind by earlier
/// kernels in the same memory, the shortest one: it is the one that did not come far
/// enough. Only those that `fits` accepts count. `first` is how the first line begins.
pub fn search(memory: &dyn Memory, first: &str, fits: &dyn Fn(&[String]) -> bool) -> Vec<String> {
    let mut best: Option<Vec<String>> = None;
    for range in memory.ranges() {
        let mut buffer = vec![0; CHUNK + 64];
        let mut at = range.start;
        while at < range.end() {
            if interrupt::check().is_err() {
                return Vec::new();
            }
            let got = fill(memory, at, &mut buffer);
            let data = buffer.get(..got).unwrap_or_default();
            for found in memmem::find_iter(data, first) {
                if found >= CHUNK + 8 {
                    continue;
                }
                let Some(block) = found.checked_sub(8) else {
                    continue;
                };
                if !is_first(data, block) {
                    continue;
                }
                let lines = follow(memory, at + block as u64);
                if fits(&lines) && best.as_ref().is_none_or(|b| lines.len() < b.len()) {
                    best = Some(lines);
                }
            }
            if got == 0 {
                break;
            }
            // An id in one chunk, its text in the next: 64 bytes of overlap.
            at = at.saturating_add(CHUNK as u64);
        }
    }
    best.unwrap_or_default()
}

fn fill(memory: &dyn Memory, address: u64, buffer: &mut [u8]) -> usize {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match memory.read(address.saturating_add(done as u64), rest) {
            0 => break,
            n => done += n,
        }
    }
    done
}

/// Is there a first id at this place?
fn is_first(data: &[u8], at: usize) -> bool {
    if at % 8 != 0 {
        return false;
    }
    let Some(id) = field_u64(data, at as u64) else {
        return false;
    };
    (MIN_BITS..=MAX_BITS).any(|bits| id == u64::from(0u32.wrapping_sub(1 << bits)))
}

/// All texts from the block at this address on.
fn follow(memory: &dyn Memory, address: u64) -> Vec<String> {
    let mut ring = vec![0; MAX_RING];
    let got = fill(memory, address, &mut ring);
    let ring = ring.get(..got).unwrap_or_default();
    let mut lines = Vec::new();
    let mut at = 0;
    let mut id = field_u64(ring, 0);
    while let Some(this) = id.filter(|_| lines.len() < MAX_RECORDS) {
        let start = at + 8;
        // Empty lines have no block: their ids are skipped.
        let next = (start..ring.len().min(start + MAX_TEXT))
            .step_by(8)
            .find_map(|n| {
                let found = field_u64(ring, n as u64)?;
                let ahead = found.wrapping_sub(this) & ID_MASK;
                (found & !ID_MASK == 0 && (1..=8).contains(&ahead)).then_some((n, found))
            });
        let end = next.map_or(ring.len().min(start + MAX_TEXT), |(n, _)| n);
        let block = ring.get(start..end).unwrap_or_default();
        // The text has no end mark, only padding up to the next block; behind
        // the last one is whatever was there.
        let text = block.split(|b| *b == 0).next().unwrap_or_default();
        let text = without_residue(text);
        lines.extend(
            String::from_utf8_lossy(text)
                .lines()
                .map(crate::ui::output::printable),
        );
        match next {
            Some((n, found)) => {
                at = n;
                id = Some(found);
            }
            None => id = None,
        }
    }
    lines
}

/// The kernel formats "<level>text\n" in place and then moves the text over the
/// level's two bytes: its last two bytes stay behind it a second time. What
/// pr_cont() appends leaves a level, which begins with byte 1.
fn without_residue(text: &[u8]) -> &[u8] {
    if let Some(at) = text.iter().position(|b| *b == 1) {
        return text.get(..at).unwrap_or(text);
    }
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    match text {
        [kept @ .., a, b, c, d] if (a, b) == (c, d) => {
            let end = kept.len() + 2;
            text.get(..end).unwrap_or(text)
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::AARCH64;
    use crate::guest::sample::{Image, Random};

    const FIRST_LINE: &str = "Linux version ";
    const FIRST: u64 = 0xffff_f000;

    fn ring(lines: &[&str]) -> Vec<u8> {
        let mut data = Vec::new();
        for (id, line) in (FIRST..).zip(lines) {
            if line.is_empty() {
                continue;
            }
            data.extend_from_slice(&(id & ID_MASK).to_le_bytes());
            data.extend_from_slice(line.as_bytes());
            data.resize(data.len().next_multiple_of(8), 0);
        }
        data
    }

    #[test]
    fn lines_in_order() {
        let mut image = Image::new(0x1000_0000, 4 << 20);
        image.put(0x1000_0000 + 0x5008, b"Linux version %s (not this one)");
        let text = ring(&[
            "Linux version 6.1",
            "Command line: x",
            "",
            "12345678",
            "end\nof it",
        ]);
        // Across the border of two chunks.
        image.put(0x1000_0000 + CHUNK as u64 - 8, &text);
        assert_eq!(
            search(&image, FIRST_LINE, &|_| true),
            [
                "Linux version 6.1",
                "Command line: x",
                "12345678",
                "end",
                "of it"
            ]
        );
    }

    #[test]
    fn an_architecture_that_begins_otherwise() {
        let mut image = Image::new(0, 4 << 20);
        let lines = [
            "Booting Linux on physical CPU 0x0000000002 [0x1]",
            "Linux version 6.1",
        ];
        image.put(0x10000, &ring(&lines));
        assert_eq!(search(&image, AARCH64.first_line, &|_| true), lines);
        assert!(search(&image, FIRST_LINE, &|_| true).is_empty());
    }

    #[test]
    fn residues() {
        assert_eq!(without_residue(b"RAM map:p:\n"), b"RAM map:");
        assert_eq!(without_residue(b"no level\n"), b"no level");
        assert_eq!(without_residue(b"usable\x01c\n"), b"usable");
        assert_eq!(without_residue(b"abc"), b"abc");
        assert_eq!(without_residue(b"\n"), b"");
    }

    #[test]
    fn the_shorter_of_two() {
        let mut image = Image::new(0, 4 << 20);
        image.put(0x10000, &ring(&["Linux version old", "a", "b", "c"]));
        image.put(0x200000, &ring(&["Linux version new", "a"]));
        assert_eq!(
            search(&image, FIRST_LINE, &|_| true),
            ["Linux version new", "a"]
        );
    }

    #[test]
    fn ids_may_overflow() {
        let lines: Vec<String> = (0..5000).map(|n| format!("l{n}")).collect();
        let mut refs: Vec<&str> = lines.iter().map(String::as_str).collect();
        refs[0] = "Linux version 1";
        let mut image = Image::new(0, 4 << 20);
        image.put(0x10000, &ring(&refs));
        assert_eq!(search(&image, FIRST_LINE, &|_| true).len(), 5000);
    }

    #[test]
    fn nothing_there_and_damage() {
        assert!(search(&Image::new(0, 1 << 20), FIRST_LINE, &|_| true).is_empty());
        let mut image = Image::new(0, 1 << 20);
        image.put(0x10000, &ring(&["Linux version 6.1", "one", "two"]));
        let mut random = Random::new(3);
        for _ in 0..50 {
            let mut bad = image.clone();
            bad.put(0x10000 + random.next() % 64, &random.next().to_le_bytes());
            let _ = search(&bad, FIRST_LINE, &|_| true);
        }
    }
}
