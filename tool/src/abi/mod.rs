//! The ioctl interface of `/dev/shimos`, as `kernel/include/uapi/shimos.h`
//! defines it, and of the other devices that the tool speaks to. This folder holds
//! all the `unsafe` code of the tool.
#![allow(unsafe_code)]

pub mod devices;
mod field;
mod host;
pub mod kml;
pub mod loops;
pub mod module;
pub mod mount;
pub mod pass;
mod pci;
mod platform;
pub mod program;
mod raw;
mod resize;
mod shared;
mod signals;
pub mod tty;
pub mod vhost;
pub mod vsock;

pub use field::text;
pub use host::*;
pub use pci::*;
pub use platform::*;
pub use raw::*;
pub use resize::*;
pub use shared::*;
pub use signals::{catch_signals, default_signals, end_with_us, pending_signal, take_signal};

#[cfg(test)]
mod layout_check;
#[cfg(test)]
mod layout_test;
