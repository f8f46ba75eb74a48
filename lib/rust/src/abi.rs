//! The structures of `kernel/include/uapi/shimos_ikc_device.h`, field for field.
#![allow(missing_docs, reason = "the header says what each of them means")]

use std::mem::size_of;

pub const VERSION: u32 = 4;
pub const MAX_KERNELS: u32 = 16;
pub const QUEUES: u32 = 64;
pub const CHANNELS: u32 = 32;
pub const FIRST_CHANNEL: u32 = QUEUES - CHANNELS;
pub const NAME_LEN: usize = 32;
pub const ANY_CHANNEL: u32 = !0;
pub const ECHO_CHANNEL: u32 = CHANNELS - 1;
pub const RING_HEADER: usize = 256;
pub const SLOT_HEADER: usize = 8;
pub const SLOT_ALIGN: usize = 16;
pub const MIN_SLOT_SIZE: usize = 16;
pub const MAX_SLOT_SIZE: usize = 16384;
pub const MIN_SLOTS: u32 = 2;
/// The largest block of the shared area, and so the largest ring.
pub const ALLOC_MAX: usize = 65536;
pub const MAP_RECEIVE: i64 = 0;
pub const MAP_SEND: i64 = 1 << 30;
pub const KERNEL_NEXT: u32 = 1 << 0;
pub const IOC_MAGIC: u8 = 0xB8;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    pub size: u32,
    pub version: u32,
}

impl Header {
    fn of<T>() -> Self {
        Header {
            size: size_of::<T>() as u32,
            version: VERSION,
        }
    }
}

/// What every call's argument has.
pub trait Argument: Default {
    /// Return the header, to be filled in.
    fn header(&mut self) -> &mut Header;

    /// Make one that is all zero but for the header.
    fn new() -> Self {
        let mut argument = Self::default();
        *argument.header() = Header::of::<Self>();
        argument
    }
}

macro_rules! argument {
    ($(#[$about:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name {
            pub hdr: Header,
            $(pub $field: $type,)*
        }

        impl Argument for $name {
            fn header(&mut self) -> &mut Header {
                &mut self.hdr
            }
        }
    };
}

argument!(Open {
    peer: u32,
    channel: u32,
    peer_channel: u32,
    slots: u32,
    slot_size: u32,
    reserved: u32,
});

argument!(Connect {
    timeout_ms: u32,
    slots: u32,
    slot_size: u32,
    reserved: u32,
});

argument!(KernelInfo {
    number: u32,
    flags: u32,
    name: [u8; NAME_LEN],
    state: u32,
    life: u32,
    ready: u32,
    is_self: u32,
});

argument!(QueueInfo {
    receiver: u32,
    sender: u32,
    queue: u32,
    slots: u32,
    slot_size: u32,
    attached: u32,
    broken: u32,
    reserved: u32,
    packets: u64,
    rung: u64,
    saved: u64,
    full: u64,
});

argument!(AreaInfo {
    bytes: u64,
    used: u64,
    blocks: u64,
    failed: u64,
    too_large: u64,
    double_free: u64,
    foreign_free: u64,
    reclaimed: u64,
});

#[cfg(test)]
#[path = "layout_test.rs"]
mod layout_test;
