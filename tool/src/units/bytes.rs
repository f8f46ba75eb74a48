//! Little-endian numbers in bytes that somebody else wrote.

/// Return the bytes at an offset, if so many are there.
pub fn bytes<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Read a number at an offset; 0 if it is not there.
pub fn u8_at(data: &[u8], at: usize) -> u8 {
    data.get(at).copied().unwrap_or(0)
}

/// Read a number at an offset; 0 if it is not there.
pub fn u16_at(data: &[u8], at: usize) -> u16 {
    bytes(data, at).map_or(0, u16::from_le_bytes)
}

/// Read a number at an offset; 0 if it is not there.
pub fn u32_at(data: &[u8], at: usize) -> u32 {
    bytes(data, at).map_or(0, u32::from_le_bytes)
}

/// Read a number at an offset; 0 if it is not there.
pub fn u64_at(data: &[u8], at: usize) -> u64 {
    bytes(data, at).map_or(0, u64::from_le_bytes)
}
