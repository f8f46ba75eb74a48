//! System calls by a jump instead of SYSCALL, for programs in kernel mode (the module
//! `shimos_kml`); x86-64 Linux. What `lib/c/kml.h` is for C; needs neither std nor libc.
//!
//! The same binary runs untrusted: [`init`] then returns an error, and everything goes
//! by SYSCALL. Results are the kernel's: a negative errno if the call failed.
//!
//! Who gives up CAP_SYS_RAWIO, as by setuid, is in user mode after that and calls
//! [`init`] again, before anything else: a jump to where it led before is its end.
//!
//! ```
//! let trusted = shimos_kml::init().is_ok();
//! const GETPID: usize = 39;
//! // SAFETY: getpid touches no memory.
//! let pid = unsafe { shimos_kml::syscall0(GETPID) };
//! assert_eq!(pid as u32, std::process::id());
//! assert_eq!(trusted, shimos_kml::is_direct());
//! ```
#![no_std]

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("programs run in kernel mode on x86-64 Linux only");

mod sys;
#[cfg(test)]
mod tests;

pub use sys::{syscall0, syscall1, syscall2, syscall3, syscall4, syscall5, syscall6};

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Where to jump to; 0: SYSCALL. It is the same address for all threads and for
/// children, for they are trusted if their parent is, unless they give that up.
static ENTRY: AtomicUsize = AtomicUsize::new(0);

/// The same for calls with three arguments at most.
static ENTRY_3: AtomicUsize = AtomicUsize::new(0);

/// Why calls go by SYSCALL: an errno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// This program is not trusted.
    pub const EPERM: Errno = Errno(1);
    /// There is no such device: the module is not loaded.
    pub const ENOENT: Errno = Errno(2);
    /// This program may not even ask.
    pub const EACCES: Errno = Errno(13);
    /// This crate and the module do not fit each other.
    pub const EPROTO: Errno = Errno(71);
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Errno::EPERM => f.write_str("this program is not trusted"),
            Errno::ENOENT => f.write_str("the module shimos_kml is not loaded"),
            Errno::EACCES => f.write_str("this program may not open /dev/shimos-kml"),
            Errno::EPROTO => f.write_str("the module shimos_kml is of another version"),
            Errno(number) => write!(f, "error {number}"),
        }
    }
}

impl core::error::Error for Errno {}

/// Ask, before threads start, whether this program is trusted. If so, all calls go
/// directly from now on. Ask again after giving up rights.
pub fn init() -> Result<(), Errno> {
    // Where it led before may be out of reach now.
    ENTRY.store(0, Ordering::Relaxed);
    ENTRY_3.store(0, Ordering::Relaxed);
    let entries = sys::entry();
    let (entry, entry_3) = *entries.as_ref().unwrap_or(&(0, 0));
    ENTRY.store(entry, Ordering::Relaxed);
    ENTRY_3.store(entry_3, Ordering::Relaxed);
    entries.map(drop)
}

/// Tell whether calls go by a jump.
pub fn is_direct() -> bool {
    ENTRY.load(Ordering::Relaxed) != 0
}
