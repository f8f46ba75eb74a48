//! All the `unsafe` code of this crate: the calls, and the question where to jump to.
#![allow(unsafe_code)]

use core::arch::asm;
use core::sync::atomic::Ordering;

use crate::{ENTRY, ENTRY_3, Errno};

const OPEN: usize = 2;
const CLOSE: usize = 3;
const IOCTL: usize = 16;
const O_CLOEXEC: usize = 0o2_000_000;
const DEVICE: &core::ffi::CStr = c"/dev/shimos-kml";

/// `struct shimos_kml_entry`
#[repr(C)]
#[derive(Debug)]
pub struct Entry {
    pub size: u32,
    pub version: u32,
    pub entry: u64,
    pub entry_3: u64,
}

/// The version of [`Entry`].
pub const VERSION: u32 = 1;

/// `SHIMOS_KML_ENTRY`: `_IOWR('K', 0x63, struct shimos_kml_entry)`
pub const ENTRY_CALL: usize =
    (3 << 30) | (size_of::<Entry>() << 16) | ((b'K' as usize) << 8) | 0x63;

/// Ask the kernel where to jump to, and where with three arguments at most.
///
/// Its refusal is an error: this program is not trusted, or the module is not there.
pub fn entry() -> Result<(usize, usize), Errno> {
    let mut argument = Entry {
        size: size_of::<Entry>() as u32,
        version: VERSION,
        entry: 0,
        entry_3: 0,
    };
    // SAFETY: open reads the name, which ends with NUL.
    let fd = check(unsafe { syscall2(OPEN, DEVICE.as_ptr() as usize, O_CLOEXEC) })?;
    // SAFETY: the structure is the one the call is defined with, and lives through it.
    let done = check(unsafe { syscall3(IOCTL, fd, ENTRY_CALL, &raw mut argument as usize) });
    // SAFETY: the descriptor is ours and is not used any more.
    unsafe { syscall1(CLOSE, fd) };
    done.map(|_| (argument.entry as usize, argument.entry_3 as usize))
}

fn check(result: isize) -> Result<usize, Errno> {
    match usize::try_from(result) {
        Ok(value) => Ok(value),
        Err(_) => Err(Errno(i32::try_from(-result).unwrap_or(i32::MAX))),
    }
}

/// The call `$number` with `$arguments`, operands of `asm!`: directly by the address in
/// `$entry`, which also changes `$changed`, or by SYSCALL if there is none.
macro_rules! call {
    ($entry:ident, $number:ident, [$($arguments:tt)*], [$($changed:tt)*]) => {{
        let entry = $entry.load(Ordering::Relaxed);
        let result;
        if entry != 0 {
            // SAFETY: the kernel gave this address for that; it takes the registers of
            // SYSCALL and returns to rcx on the stack of before, and preserves of the
            // registers what a C function preserves.
            // It restarts an interrupted call two bytes before where it would return to:
            // there is a short jump, back to the start.
            unsafe {
                asm!(
                    "2: lea rcx, [rip + 3f]",
                    "jmp {entry}",
                    ".byte 0xeb, 2b - 3f",
                    "3:",
                    entry = in(reg) entry,
                    inlateout("rax") $number => result,
                    $($arguments)*
                    $($changed)*
                    out("rcx") _,
                    out("r11") _,
                    options(nostack),
                );
            }
        } else {
            // SAFETY: the caller answers for what the call does; it changes rcx and r11.
            unsafe {
                asm!(
                    "syscall",
                    inlateout("rax") $number => result,
                    $($arguments)*
                    out("rcx") _,
                    out("r11") _,
                    options(nostack),
                );
            }
        }
        result
    }};
}

/// Make a system call with six arguments; returns what the kernel does: a negative errno,
/// or a result. Any call will do; only flags other than the program's usual ones are not
/// kept.
///
/// # Safety
/// As for any system call: what `number` does with these arguments must not break the
/// program's memory or what the rest of it relies on.
#[inline]
pub unsafe fn syscall6(
    number: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> isize {
    call!(
        ENTRY,
        number,
        [
            inlateout("rdi") a => _,
            inlateout("rsi") b => _,
            inlateout("rdx") c => _,
            inlateout("r10") d => _,
            inlateout("r8") e => _,
            inlateout("r9") f => _,
        ],
        []
    )
}

/// At most three arguments, given as operands of `asm!`.
macro_rules! at_most_three {
    ($number:ident, $($arguments:tt)*) => {
        call!(ENTRY_3, $number, [$($arguments)*], [out("r8") _, out("r9") _, out("r10") _,])
    };
}

/// Make a call with three arguments, which most calls have at most.
///
/// # Safety
/// See [`syscall6`].
#[inline]
pub unsafe fn syscall3(number: usize, a: usize, b: usize, c: usize) -> isize {
    at_most_three!(
        number,
        inlateout("rdi") a => _,
        inlateout("rsi") b => _,
        inlateout("rdx") c => _,
    )
}

/// Make a call without arguments.
///
/// # Safety
/// See [`syscall6`].
#[inline]
pub unsafe fn syscall0(number: usize) -> isize {
    at_most_three!(number, out("rdi") _, out("rsi") _, out("rdx") _,)
}

/// Make a call with one argument.
///
/// # Safety
/// See [`syscall6`].
#[inline]
pub unsafe fn syscall1(number: usize, a: usize) -> isize {
    at_most_three!(number, inlateout("rdi") a => _, out("rsi") _, out("rdx") _,)
}

/// Make a call with two arguments.
///
/// # Safety
/// See [`syscall6`].
#[inline]
pub unsafe fn syscall2(number: usize, a: usize, b: usize) -> isize {
    at_most_three!(
        number,
        inlateout("rdi") a => _,
        inlateout("rsi") b => _,
        out("rdx") _,
    )
}

/// Make a call with four arguments.
///
/// # Safety
/// See [`syscall6`].
#[inline]
pub unsafe fn syscall4(number: usize, a: usize, b: usize, c: usize, d: usize) -> isize {
    // SAFETY: see syscall6().
    unsafe { syscall6(number, a, b, c, d, 0, 0) }
}

/// Make a call with five arguments.
///
/// # Safety
/// See [`syscall6`].
#[inline]
pub unsafe fn syscall5(number: usize, a: usize, b: usize, c: usize, d: usize, e: usize) -> isize {
    // SAFETY: see syscall6().
    unsafe { syscall6(number, a, b, c, d, e, 0) }
}
