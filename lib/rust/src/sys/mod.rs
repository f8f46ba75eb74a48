//! All the `unsafe` code of this crate: calls to the C ring, the ioctls, memory
//! mapping.
//!
//! Shared memory is never seen as a Rust reference. The C code gets its address,
//! checks what it finds there and copies messages to and from ordinary memory.
#![allow(unsafe_code)]

mod calls;
mod mapping;
mod ring;

#[cfg(test)]
pub use calls::CALLS;
pub use calls::{area, connect, kernel, notify, open, queue};
pub use mapping::Mapping;
pub use ring::{Consumer, Producer, ring_bytes};
