//! Physical memory of a partition, and what a kernel says of itself in it.

pub mod page_tables;
pub mod vmcoreinfo;

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

use crate::partition::Range;

/// The smallest page of any kernel. What lies at the start of a larger one lies at the start of one of these, too.
pub const PAGE: u64 = 4096;
/// The largest page of any kernel.
pub const LARGEST_PAGE: u64 = 64 << 10;
/// Read this much at once when going through all of it.
pub const CHUNK: usize = 1 << 20;

/// Memory by physical address. What cannot be read is simply not there.
pub trait Memory {
    /// Read up to `buffer.len()` bytes; fewer where the range ends.
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize;

    /// Return what there is, sorted by address, none overlapping.
    fn ranges(&self) -> &[Range];

    /// Fill the buffer from an address; `None`: not all of it is there.
    fn read_exact(&self, address: u64, buffer: &mut [u8]) -> Option<()> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let at = address.checked_add(done as u64)?;
            match self.read(at, rest) {
                0 => return None,
                n => done += n,
            }
        }
        Some(())
    }

    /// Read a number; `None`: it is not there.
    fn u64(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read_exact(address, &mut bytes)?;
        Some(u64::from_le_bytes(bytes))
    }
}

/// The memory behind the descriptor that KLoader gave us.
pub struct FileMemory {
    file: File,
    ranges: Vec<Range>,
}

impl FileMemory {
    /// Take memory that is in the file in the order of the addresses of its ranges.
    pub fn new(file: File, ranges: &[Range]) -> Self {
        let mut ranges = ranges.to_vec();
        ranges.retain(|r| r.size != 0);
        ranges.sort_by_key(|r| r.start);
        FileMemory { file, ranges }
    }
}

impl Memory for FileMemory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        loop {
            match self.file.read_at(buffer, address) {
                Ok(n) => return n,
                // The caller's next look at the signals ends it, if need be.
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return 0,
            }
        }
    }

    fn ranges(&self) -> &[Range] {
        &self.ranges
    }
}

/// Read a little-endian number out of a structure; `None`: it does not reach that far.
pub fn field_u64(data: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let bytes = data.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Read a number out of a structure; `None`: it does not reach that far.
pub fn field_u32(data: &[u8], at: u64) -> Option<u32> {
    let at = usize::try_from(at).ok()?;
    let bytes = data.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// Read a number out of a structure; `None`: it does not reach that far.
pub fn field_u16(data: &[u8], at: u64) -> Option<u16> {
    let at = usize::try_from(at).ok()?;
    let bytes = data.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn reads_end_where_the_file_ends() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 100]).unwrap();
        let range = Range {
            start: 0,
            size: 100,
        };
        let none = Range { start: 5, size: 0 };
        let memory = FileMemory::new(file, &[range, none]);
        assert_eq!(memory.ranges(), [range]);
        assert_eq!(memory.u64(0), Some(0x0707_0707_0707_0707));
        assert_eq!(memory.u64(92), Some(0x0707_0707_0707_0707));
        assert_eq!(memory.u64(93), None);
        assert_eq!(memory.u64(u64::MAX - 3), None);
    }

    #[test]
    fn fields() {
        let data = [1, 0, 0, 0, 2, 0, 0, 0, 3];
        assert_eq!(field_u64(&data, 0), Some(0x0000_0002_0000_0001));
        assert_eq!(field_u32(&data, 4), Some(2));
        assert_eq!(field_u16(&data, 7), Some(0x300));
        assert_eq!(field_u64(&data, 2), None);
        assert_eq!(field_u64(&data, u64::MAX), None);
    }
}
