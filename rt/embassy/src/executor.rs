//! The loop in which tasks run, and what makes it go round.

use core::sync::atomic::{AtomicBool, Ordering};

use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;

use crate::board;

/// A task has something to do. There is one CPU, so no order of memory matters.
static PENDING: AtomicBool = AtomicBool::new(false);

static BELL: Signal<CriticalSectionRawMutex, ()> = Signal::new();

/// Note that a task has something to do: for tasks and handlers.
pub fn pend() {
    PENDING.store(true, Ordering::Relaxed);
}

/// Wake who waits for the bell: for its handler.
pub fn bell() {
    BELL.signal(());
}

/// Wait until `KLoader` rings: it may want the partition to end. One task can wait.
pub async fn rung() {
    BELL.wait().await;
}

/// Let a function spawn tasks, and run these.
pub fn run(begin: impl FnOnce(Spawner)) -> ! {
    board::run(begin, wait)
}

/// With interrupts off nothing comes between looking and halting.
fn wait() {
    board::interrupts_off();
    while !PENDING.swap(false, Ordering::Relaxed) {
        board::idle();
        board::interrupts_off();
    }
    board::interrupts_on();
}
