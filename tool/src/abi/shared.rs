//! What the tool needs to know of `kernel/include/uapi/shimos_shared.h`: where
//! the agent left the end of the kernel log. Offsets only; the memory is read
//! with bounds checks like everything else a partition wrote.

pub const SHARED_MAGIC: u64 = 0x0031_534f_4d49_4853;
pub const SHARED_VERSION: u32 = 7;
pub const SHARED_SIZE: u32 = 0x40000;
pub const SHARED_VERSION_AT: u64 = 8;
pub const SHARED_SIZE_AT: u64 = 12;
pub const SHARED_NAME_AT: u64 = 16;
pub const LAST_LOG: u64 = 0x20000;
pub const LAST_LOG_LEN: u32 = 0x10000;
pub const LAST_LOG_TEXT_AT: u64 = 64;
