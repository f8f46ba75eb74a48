//! Reading another kernel's memory: its log, and what a dump needs to know.
//!
//! Another kernel wrote all of it and may be broken or hostile: every read is
//! bounds-checked, every loop and allocation bounded, and nothing panics.

pub mod banner;
pub mod last_log;
pub mod log;
pub mod paging;
pub mod printk;
pub mod vmcore;

#[cfg(test)]
pub mod sample;
