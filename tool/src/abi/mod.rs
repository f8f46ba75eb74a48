//! The ioctl interface of `/dev/shimos`, as `kernel/include/uapi/shimos.h`
//! defines it. This folder holds all the `unsafe` code of the tool.
#![allow(unsafe_code)]

mod raw;
mod shared;
mod signals;

pub use raw::*;
pub use shared::*;
pub use signals::{catch_signals, pending_signal};

#[cfg(test)]
mod layout_test;
