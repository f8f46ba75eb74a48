//! The VMCOREINFO note that every kernel keeps in its memory to describe itself
//! to dump tools: Documentation/admin-guide/kdump/vmcoreinfo.rst. It exists from
//! subsys_initcall on, page-aligned.

use std::collections::HashMap;

use super::{LARGEST_PAGE, Memory, PAGE};
use crate::ui::interrupt;

/// Elf64_Nhdr and the padded name.
const HEADER: usize = 24;
const NAME: &[u8; 12] = b"VMCOREINFO\0\0";
/// The kernel gives it a page, of whatever size.
const MAX_TEXT: usize = LARGEST_PAGE as usize;
const START: &[u8] = b"OSRELEASE=";

/// What a kernel says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vmcoreinfo {
    pub text: Vec<u8>,
    /// Where the note is, in physical memory.
    pub address: u64,
    values: HashMap<String, String>,
}

impl Vmcoreinfo {
    /// Read lines of a name and a value; others are left out.
    pub fn parse(text: &[u8]) -> Self {
        let values = String::from_utf8_lossy(text)
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect();
        Vmcoreinfo {
            text: text.to_vec(),
            address: 0,
            values,
        }
    }

    /// Return the kernel's release, as `uname -r` prints it; empty if it does not say.
    pub fn release(&self) -> &str {
        self.values.get("OSRELEASE").map_or("", String::as_str)
    }

    /// Return a symbol's virtual address.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        let text = self.values.get(&format!("SYMBOL({name})"))?;
        u64::from_str_radix(text, 16).ok()
    }

    /// Return a signed number in decimal, as the kernel prints `long`; or bits, as it
    /// prints some.
    pub fn number(&self, name: &str) -> Option<i64> {
        let text = self.values.get(&format!("NUMBER({name})"))?;
        match text.strip_prefix("0x") {
            Some(bits) => u64::from_str_radix(bits, 16).ok().map(|bits| bits as i64),
            None => text.parse().ok(),
        }
    }

    /// Return the bytes of a page.
    pub fn page_size(&self) -> Option<u64> {
        self.values.get("PAGESIZE")?.parse().ok()
    }

    /// Return the offset of a structure's member, "prb_desc.state_var", in bytes. No
    /// structure of interest is larger than a page.
    pub fn offset(&self, member: &str) -> Option<u64> {
        self.small(&format!("OFFSET({member})"))
    }

    /// Return the bytes of a structure.
    pub fn size(&self, structure: &str) -> Option<u64> {
        self.small(&format!("SIZE({structure})"))
    }

    fn small(&self, key: &str) -> Option<u64> {
        let value = self.values.get(key)?.parse().ok()?;
        (value <= PAGE).then_some(value)
    }
}

/// Does a page that begins like this hold the note? The length of its text.
fn note_length(start: &[u8]) -> Option<usize> {
    if start.get(..4)? != 11u32.to_le_bytes()
        || start.get(12..HEADER)? != NAME
        || !start.get(HEADER..)?.starts_with(START)
    {
        return None;
    }
    let length = u32::from_le_bytes(start.get(4..8)?.try_into().ok()?) as usize;
    (START.len()..=MAX_TEXT).contains(&length).then_some(length)
}

/// Read the note at this physical address, if there is one.
pub fn at(memory: &dyn Memory, address: u64) -> Option<Vmcoreinfo> {
    let mut start = [0; HEADER + START.len()];
    memory.read_exact(address, &mut start)?;
    let mut text = vec![0; note_length(&start)?];
    memory.read_exact(address + HEADER as u64, &mut text)?;
    Some(Vmcoreinfo {
        address,
        ..Vmcoreinfo::parse(&text)
    })
}

/// Look at the start of each page for a note that `accept` likes. A read of a
/// few bytes per page takes half a second per GiB under an emulator, which is
/// much less than reading all of it.
pub fn search(
    memory: &dyn Memory,
    accept: &mut dyn FnMut(&Vmcoreinfo) -> bool,
) -> Option<Vmcoreinfo> {
    for range in memory.ranges() {
        let first = range.start.checked_next_multiple_of(PAGE)?;
        let pages = range.end().saturating_sub(first) / PAGE;
        for page in 0..pages {
            if page % 4096 == 0 && interrupt::check().is_err() {
                return None;
            }
            if let Some(found) = at(memory, first + page * PAGE).filter(|v| accept(v)) {
                return Some(found);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::sample::{Image, note};

    #[test]
    fn parsing() {
        let v = Vmcoreinfo::parse(
            b"OSRELEASE=6.1.0\nSYMBOL(prb)=ffffffff82a0\nNUMBER(phys_base)=-4096\n\
              NUMBER(y)=0xffffffffffffffff\nNUMBER(z)=0x\nPAGESIZE=16384\n\
              OFFSET(a.b)=16\nSIZE(a)=99999\njunk\n=\nNUMBER(x)=zz\n",
        );
        assert_eq!(v.release(), "6.1.0");
        assert_eq!(v.symbol("prb"), Some(0xffff_ffff_82a0));
        assert_eq!(v.number("phys_base"), Some(-4096));
        assert_eq!(v.number("y"), Some(-1));
        assert_eq!(v.number("z"), None);
        assert_eq!(v.page_size(), Some(16384));
        assert_eq!(v.offset("a.b"), Some(16));
        assert_eq!(v.size("a"), None, "absurd");
        assert_eq!(v.number("x"), None);
        assert_eq!(v.symbol("none"), None);
    }

    #[test]
    fn searching() {
        let mut image = Image::new(0x100_0000, 64 * PAGE);
        image.put(0x100_0000 + 5 * PAGE + 8, &note(b"OSRELEASE=unaligned\n"));
        image.put(0x100_0000 + 7 * PAGE, &note(b"OSRELEASE=old\n"));
        image.put(0x100_0000 + 9 * PAGE, &note(b"OSRELEASE=new\n"));
        let found = search(&image, &mut |v| v.release() == "new").unwrap();
        assert_eq!(found.text, b"OSRELEASE=new\n");
        assert_eq!(search(&image, &mut |_| true).unwrap().release(), "old");
        assert!(search(&image, &mut |_| false).is_none());
    }

    #[test]
    fn damaged_notes() {
        let mut image = Image::new(0, 2 * LARGEST_PAGE);
        let mut bad = note(b"OSRELEASE=x\n");
        bad[4..8].copy_from_slice(&(LARGEST_PAGE as u32 + 4).to_le_bytes());
        image.put(0, &bad);
        // Its text would go beyond the end of the memory.
        let mut bad = note(b"OSRELEASE=x\n");
        bad[4..8].copy_from_slice(&4096u32.to_le_bytes());
        image.put(2 * LARGEST_PAGE - PAGE, &bad);
        assert!(search(&image, &mut |_| true).is_none());
    }
}
