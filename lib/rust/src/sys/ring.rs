//! The C ring, each end with its own state.

use std::ffi::c_void;
use std::sync::Arc;

use nix::errno::Errno;

use super::Mapping;

/// What `shim.c` promises to be enough for either side's own state.
const STATE_WORDS: usize = 16;

#[repr(C)]
struct State([u64; STATE_WORDS]);

unsafe extern "C" {
    fn shimos_ring_bytes(slots: u32, slot_size: u32) -> u64;
    fn shimos_producer_init(p: *mut State, ring: *mut c_void, bytes: u64) -> i32;
    fn shimos_producer_max(p: *mut State) -> u32;
    fn shimos_producer_counts(p: *mut State, counts: *mut u64);
    fn shimos_write(p: *mut State, data: *const c_void, len: u32) -> i32;
    fn shimos_must_ring(p: *mut State) -> i32;
    fn shimos_has_room(p: *mut State) -> i32;
    fn shimos_wait_for_room(p: *mut State) -> i32;
    fn shimos_consumer_init(c: *mut State, ring: *mut c_void, slots: u32, slot_size: u32);
    fn shimos_read(c: *mut State, data: *mut c_void, size: u32, len: *mut u32) -> i32;
    fn shimos_ready(c: *mut State) -> i32;
    fn shimos_arm(c: *mut State) -> i32;
    fn shimos_must_ring_back(c: *mut State) -> i32;
}

/// Return the bytes that a ring takes; 0 if there is no such ring.
pub fn ring_bytes(slots: u32, slot_size: u32) -> u64 {
    // SAFETY: arithmetic only.
    unsafe { shimos_ring_bytes(slots, slot_size) }
}

/// What the C functions say: 0 or a negative errno.
fn checked(result: i32) -> Result<(), Errno> {
    match result {
        0 => Ok(()),
        error => Err(Errno::from_raw(-error)),
    }
}

/// The writing end of a ring.
pub struct Producer {
    state: State,
    /// What the state points into.
    _mapping: Arc<Mapping>,
}

// SAFETY: pointers into a mapping, used by one thread at a time (&mut self).
unsafe impl Send for Producer {}

impl Producer {
    /// Take the writing end of the ring in a mapping; refused if the ring would not fit in
    /// there.
    pub fn new(mapping: Arc<Mapping>) -> Result<Self, Errno> {
        let mut state = State([0; STATE_WORDS]);
        // SAFETY: the state is large enough (shim.c asserts it); the ring's own
        // size is checked against the mapping's.
        checked(unsafe {
            shimos_producer_init(&raw mut state, mapping.start(), mapping.bytes() as u64)
        })?;
        Ok(Self {
            state,
            _mapping: mapping,
        })
    }

    /// Return the bytes of the largest message.
    pub fn max(&mut self) -> usize {
        // SAFETY: new() has initialized the state; so for all that follow.
        unsafe { shimos_producer_max(&raw mut self.state) as usize }
    }

    /// Return packets, doorbells, doorbells saved, full events.
    pub fn counts(&mut self) -> [u64; 4] {
        let mut counts = [0; 4];
        // SAFETY: see max(); it writes four numbers.
        unsafe { shimos_producer_counts(&raw mut self.state, counts.as_mut_ptr()) };
        counts
    }

    /// Write a message.
    ///
    /// # Errors
    /// `EMSGSIZE`: it is larger than a slot. `EAGAIN`: there is no room. `EBADMSG`: the
    /// peer wrote nonsense.
    pub fn write(&mut self, data: &[u8]) -> Result<(), Errno> {
        let len = u32::try_from(data.len()).map_err(|_| Errno::EMSGSIZE)?;
        // SAFETY: see max(); it reads `len` bytes at most.
        checked(unsafe { shimos_write(&raw mut self.state, data.as_ptr().cast(), len) })
    }

    /// Tell, once, whether the peer sleeps and is to be rung.
    pub fn must_ring(&mut self) -> bool {
        // SAFETY: see max().
        unsafe { shimos_must_ring(&raw mut self.state) != 0 }
    }

    /// Tell whether write() would do anything but say that there is no room.
    pub fn has_room(&mut self) -> bool {
        // SAFETY: see max().
        unsafe { shimos_has_room(&raw mut self.state) != 0 }
    }

    /// Say that this end waits for room. True: it may sleep until the doorbell rings.
    pub fn wait_for_room(&mut self) -> bool {
        // SAFETY: see max().
        unsafe { shimos_wait_for_room(&raw mut self.state) != 0 }
    }
}

/// The reading end of a ring.
pub struct Consumer {
    state: State,
    /// What the state points into.
    _mapping: Arc<Mapping>,
}

// SAFETY: as for Producer.
unsafe impl Send for Consumer {}

impl Consumer {
    /// Take the reading end. `slots` and `slot_size` are what the ring was made with, not
    /// what is read from it.
    pub fn new(mapping: Arc<Mapping>, slots: u32, slot_size: u32) -> Result<Self, Errno> {
        mapping.fits(slots, slot_size)?;
        let mut state = State([0; STATE_WORDS]);
        // SAFETY: the state is large enough (shim.c asserts it), and the ring
        // lies within the mapping.
        unsafe {
            shimos_consumer_init(&raw mut state, mapping.start(), slots, slot_size);
        }
        Ok(Self {
            state,
            _mapping: mapping,
        })
    }

    /// Read a message; returns its size in bytes.
    ///
    /// # Errors
    /// `EAGAIN`: there is none. `EMSGSIZE`: the buffer is too small. `EBADMSG`: the peer wrote
    /// nonsense.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        // A larger buffer than a message can be is cut: nothing would be there.
        let size = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let mut len = 0;
        let data = buffer.as_mut_ptr().cast();
        // SAFETY: new() has initialized the state; it writes `size` bytes at most.
        checked(unsafe { shimos_read(&raw mut self.state, data, size, &raw mut len) })?;
        Ok(len as usize)
    }

    /// Tell whether read() would do anything but say that there is nothing.
    pub fn ready(&mut self) -> bool {
        // SAFETY: see read().
        unsafe { shimos_ready(&raw mut self.state) != 0 }
    }

    /// Say that this end waits for a message. True: it may sleep until the doorbell rings.
    pub fn arm(&mut self) -> bool {
        // SAFETY: see read().
        unsafe { shimos_arm(&raw mut self.state) != 0 }
    }

    /// Tell, once, whether the peer waits for room and is to be rung.
    pub fn must_ring_back(&mut self) -> bool {
        // SAFETY: see read().
        unsafe { shimos_must_ring_back(&raw mut self.state) != 0 }
    }
}
