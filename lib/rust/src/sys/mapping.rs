//! Memory that is shared, and the header of the ring in it.

use std::ffi::c_void;
use std::fs::File;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use super::ring_bytes;

unsafe extern "C" {
    fn shimos_ring_init(ring: *mut c_void, slots: u32, slot_size: u32);
    fn shimos_ring_closed(ring: *mut c_void) -> u32;
    fn shimos_ring_close(ring: *mut c_void);
}

/// Memory that others write to, until it is dropped.
pub struct Mapping {
    start: NonNull<c_void>,
    bytes: NonZeroUsize,
}

// SAFETY: an address range; who may use it how is the ring's affair, which the C
// code handles with atomic accesses.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Map `bytes` of a device, from an offset in bytes.
    pub fn of_file(file: &File, offset: i64, bytes: NonZeroUsize) -> Result<Self, Errno> {
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping where the kernel likes it, of a device.
        let start = unsafe { mmap(None, bytes, protection, MapFlags::MAP_SHARED, file, offset) }?;
        Ok(Self { start, bytes })
    }

    /// Map zeroed memory of this process.
    pub fn anonymous(bytes: NonZeroUsize) -> Result<Self, Errno> {
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping where the kernel likes it.
        let start = unsafe { mmap_anonymous(None, bytes, protection, MapFlags::MAP_SHARED) }?;
        Ok(Self { start, bytes })
    }

    /// Return where it starts.
    pub(super) fn start(&self) -> *mut c_void {
        self.start.as_ptr()
    }

    /// Return how many bytes it has.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// Make a ring here. For a mapping that nobody uses yet, see `fits()`.
    pub fn init_ring(&self, slots: u32, slot_size: u32) -> Result<(), Errno> {
        self.fits(slots, slot_size)?;
        // SAFETY: fits() has checked that the header is inside the mapping.
        unsafe { shimos_ring_init(self.start.as_ptr(), slots, slot_size) };
        Ok(())
    }

    /// Tell whether the peer has gone. For a mapping with a ring's header.
    pub fn closed(&self) -> bool {
        // SAFETY: a mapping has a page at least, and the header is smaller.
        unsafe { shimos_ring_closed(self.start.as_ptr()) != 0 }
    }

    /// Say that the producer has gone.
    pub fn close(&self) {
        // SAFETY: as in closed().
        unsafe { shimos_ring_close(self.start.as_ptr()) }
    }

    /// Check that there is room for such a ring.
    ///
    /// # Errors
    /// `EINVAL`: there is no such ring. `EPROTO`: it is larger than the mapping.
    pub(super) fn fits(&self, slots: u32, slot_size: u32) -> Result<(), Errno> {
        match ring_bytes(slots, slot_size) {
            0 => Err(Errno::EINVAL),
            bytes if bytes > self.bytes() as u64 => Err(Errno::EPROTO),
            _ => Ok(()),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; the rings that used it held a
        // reference to it and are gone.
        let _ = unsafe { munmap(self.start, self.bytes()) };
    }
}
