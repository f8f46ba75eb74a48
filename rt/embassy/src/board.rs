//! All the `unsafe` code of this crate: what `rt/board` and `shim.h` have in C, what they
//! call of ours, and what embassy asks of a platform.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_int};
use core::panic::PanicInfo;

use embassy_executor::{Spawner, raw};

unsafe extern "C" {
    safe fn shim_now() -> u64;
    safe fn shim_interrupts_off() -> bool;
    safe fn shim_interrupts_on();
    safe fn shim_idle();
    fn shim_print(text: *const c_char, length: c_int);
    fn shim_fail(text: *const c_char, length: c_int) -> !;
    safe fn shim_stop() -> !;
    safe fn board_timer(deadline: u64);
    safe fn board_ready();
    safe fn board_asked_to_stop() -> bool;
    safe fn board_cycles_per_second() -> u64;
    safe fn board_strays() -> u64;
}

/// Return cycles since some beginning.
pub fn now() -> u64 {
    shim_now()
}

/// Return how many cycles a second has.
pub fn rate() -> u64 {
    board_cycles_per_second()
}

/// Let the timer come at a time of [`now`]'s, instead of what was set; 0: not at all.
pub fn timer(deadline: u64) {
    board_timer(deadline);
}

/// Say that the partition is running.
pub fn ready() {
    board_ready();
}

/// Tell whether the partition shall end; [`rung`](crate::rung) wakes who waits for that.
pub fn asked_to_stop() -> bool {
    board_asked_to_stop()
}

/// Return how many interrupts came that nobody asked for.
pub fn strays() -> u64 {
    board_strays()
}

/// End the program.
pub fn stop() -> ! {
    shim_stop()
}

/// Switch interrupts off; returns whether they were on.
pub fn interrupts_off() -> bool {
    shim_interrupts_off()
}

/// Switch interrupts on.
pub fn interrupts_on() {
    shim_interrupts_on();
}

/// Let Linux run until the next interrupt. They must be off, and are on afterwards.
pub fn idle() {
    shim_idle();
}

/// Write on the partition's console.
pub fn print(text: &str) {
    // SAFETY: the text is that long, and nothing of it is kept; it needs no end.
    unsafe { shim_print(text.as_ptr().cast(), length(text)) }
}

/// End as failed, and say why.
pub fn fail(text: &str) -> ! {
    // SAFETY: as in print()
    unsafe { shim_fail(text.as_ptr().cast(), length(text)) }
}

fn length(text: &str) -> c_int {
    c_int::try_from(text.len()).unwrap_or(c_int::MAX)
}

/// Let a function spawn tasks, and these go on whenever `wait` returns.
pub fn run(begin: impl FnOnce(Spawner), wait: impl Fn()) -> ! {
    let executor = raw::Executor::new(core::ptr::null_mut());
    let executor = &raw const executor;
    // SAFETY: it lies on the stack of this function, which is never left.
    let executor: &'static raw::Executor = unsafe { &*executor };
    begin(executor.spawner());
    loop {
        wait();
        // SAFETY: nobody else has this executor, and handlers of interrupts do not poll.
        unsafe { executor.poll() };
    }
}

/// Embassy's: there is something to be polled.
#[unsafe(export_name = "__pender")]
fn pend(_executor: *mut ()) {
    crate::executor::pend();
}

/// From `shim.c`, with interrupts off.
#[unsafe(no_mangle)]
extern "C" fn rust_timer() {
    crate::time::expired();
}

/// From `shim.c`, with interrupts off.
#[unsafe(no_mangle)]
extern "C" fn rust_bell() {
    crate::executor::bell();
}

struct InterruptsOff;

// SAFETY: there is one CPU, and without interrupts nothing comes between. Who asks while
// they are off finds them off afterwards.
unsafe impl critical_section::Impl for InterruptsOff {
    unsafe fn acquire() -> critical_section::RawRestoreState {
        interrupts_off()
    }

    unsafe fn release(were_on: critical_section::RawRestoreState) {
        if were_on {
            interrupts_on();
        }
    }
}

critical_section::set_impl!(InterruptsOff);

#[panic_handler]
fn panicked(info: &PanicInfo<'_>) -> ! {
    match info.location() {
        Some(place) => crate::fail(format_args!("{place}: {}", info.message())),
        None => crate::fail(format_args!("{}", info.message())),
    }
}

/// Name the program's first function: it gets a `Spawner`, and spawns the first tasks.
#[macro_export]
macro_rules! program {
    ($begin:path) => {
        // The board's, by shim.c.
        #[unsafe(no_mangle)]
        extern "C" fn rust_program() -> ! {
            $crate::run($begin)
        }
    };
}
