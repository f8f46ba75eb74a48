//! `embassy-time`'s driver: the CPU's clock, and the board's timer for whoever is next.

use core::cell::RefCell;
use core::task::Waker;

use critical_section::{CriticalSection, Mutex};
use embassy_time_driver::{Driver, TICK_HZ};
use embassy_time_queue_utils::Queue;

use crate::{board, clock};

const _: () = assert!(TICK_HZ == clock::TICKS);

/// In cycles, as the board has it.
const NO_DEADLINE: u64 = 0;

struct Timers {
    queue: Queue,
    /// What the board's timer is set to: to set it is a call of the layer.
    set: u64,
}

struct Board(Mutex<RefCell<Timers>>);

embassy_time_driver::time_driver_impl!(static BOARD: Board = Board(Mutex::new(RefCell::new(Timers {
    queue: Queue::new(),
    set: NO_DEADLINE,
}))));

impl Driver for Board {
    fn now(&self) -> u64 {
        clock::ticks(board::now(), board::rate())
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|cs| {
            if self.0.borrow_ref_mut(cs).queue.schedule_wake(at, waker) {
                self.follow(cs);
            }
        });
    }
}

impl Board {
    /// Wake who is due, and let the timer come for the next.
    fn follow(&self, cs: CriticalSection<'_>) {
        let timers = &mut *self.0.borrow_ref_mut(cs);
        let deadline = match timers.queue.next_expiration(self.now()) {
            u64::MAX => NO_DEADLINE,
            at => clock::within_reach(clock::cycles(at, board::rate()), board::now()),
        };
        if deadline != timers.set {
            timers.set = deadline;
            board::timer(deadline);
        }
    }
}

/// Wake those whose time has come: for the timer's handler. The timer comes once.
pub fn expired() {
    critical_section::with(|cs| {
        BOARD.0.borrow_ref_mut(cs).set = NO_DEADLINE;
        BOARD.follow(cs);
    });
}
