// SPDX-License-Identifier: GPL-2.0
//! An anchor of the throughput: the rtrb crate, called from `main.c` through
//! `rtrb.c`.  The message and its check are those of `measure.h`.

use core::ffi::{c_int, c_uint, c_void};
use core::hint::spin_loop;
use rtrb::{Consumer, Producer, RingBuffer};

const BATCH: usize = 16;
const WORDS: usize = 7;

type Message = [u64; WORDS];

#[repr(C)]
pub struct Sums {
    order: u64,
    sum: u64,
}

unsafe extern "C" {
    static with_pause: c_int;
}

/// The two ends, each used by one thread, well apart.
#[repr(align(128))]
struct Apart<T>(T);

struct Queue<T> {
    near: Apart<Producer<T>>,
    far: Apart<Consumer<T>>,
}

#[inline(always)]
fn wait_a_bit() {
    // SAFETY: written only while no round runs.
    if unsafe { with_pause } != 0 {
        spin_loop();
    }
}

#[inline(always)]
fn message(i: u64) -> Message {
    core::array::from_fn(|k| i + k as u64)
}

impl Sums {
    #[inline(always)]
    fn check(&mut self, message: &Message, i: u64) {
        self.order |= message[0] ^ i;
        self.sum = message[1..]
            .iter()
            .fold(self.sum, |sum, word| sum.wrapping_add(*word));
    }

    fn add_to(self, sums: *mut Sums) {
        // SAFETY: main.c passes a place of its own.
        unsafe { *sums = self }
    }
}

fn make<T>(slots: c_uint) -> *mut c_void {
    let (near, far) = RingBuffer::<T>::new(slots as usize);
    let queue = Queue {
        near: Apart(near),
        far: Apart(far),
    };
    Box::into_raw(Box::new(queue)).cast()
}

/// The producer's end of what `make` returned; called on the near thread only.
fn near<'a, T>(queue: *mut c_void) -> &'a mut Producer<T> {
    // SAFETY: the two threads take different fields, and nobody frees it.
    unsafe { &mut (*queue.cast::<Queue<T>>()).near.0 }
}

/// The consumer's end; called on the far thread only.
fn far<'a, T>(queue: *mut c_void) -> &'a mut Consumer<T> {
    // SAFETY: as above.
    unsafe { &mut (*queue.cast::<Queue<T>>()).far.0 }
}

#[unsafe(no_mangle)]
extern "C" fn rtrb_make(slots: c_uint) -> *mut c_void {
    make::<Message>(slots)
}

#[unsafe(no_mangle)]
extern "C" fn rtrb_make_words(slots: c_uint) -> *mut c_void {
    make::<u64>(slots)
}

#[unsafe(no_mangle)]
extern "C" fn rtrb_send(queue: *mut c_void, n: u64) {
    let to = near::<Message>(queue);
    for i in 0..n {
        while to.push(message(i)).is_err() {
            wait_a_bit();
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn rtrb_receive(queue: *mut c_void, n: u64, sums: *mut Sums) {
    let from = far::<Message>(queue);
    let mut found = Sums { order: 0, sum: 0 };
    for i in 0..n {
        let message = loop {
            match from.pop() {
                Ok(message) => break message,
                Err(_) => wait_a_bit(),
            }
        };
        found.check(&message, i);
    }
    found.add_to(sums);
}

#[unsafe(no_mangle)]
extern "C" fn rtrb_send_batches(queue: *mut c_void, n: u64) {
    let to = near::<Message>(queue);
    let mut batch = [[0; WORDS]; BATCH];
    let mut i = 0;
    while i < n {
        let count = BATCH.min((n - i) as usize);
        for (k, slot) in batch[..count].iter_mut().enumerate() {
            *slot = message(i + k as u64);
        }
        let mut rest = &batch[..count];
        while !rest.is_empty() {
            let before = rest.len();
            rest = to.push_partial_slice(rest).1;
            if rest.len() == before {
                wait_a_bit();
            }
        }
        i += count as u64;
    }
}

#[unsafe(no_mangle)]
extern "C" fn rtrb_receive_batches(queue: *mut c_void, n: u64, sums: *mut Sums) {
    let from = far::<Message>(queue);
    let mut found = Sums { order: 0, sum: 0 };
    let mut batch = [[0; WORDS]; BATCH];
    let mut i = 0;
    while i < n {
        let (got, _) = from.pop_partial_slice(&mut batch);
        for message in &*got {
            found.check(message, i);
            i += 1;
        }
        if got.is_empty() {
            wait_a_bit();
        }
    }
    found.add_to(sums);
}

#[unsafe(no_mangle)]
extern "C" fn rtrb_send_words(queue: *mut c_void, n: u64) {
    let to = near::<u64>(queue);
    for i in 0..n {
        while to.push(i).is_err() {
            wait_a_bit();
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn rtrb_receive_words(queue: *mut c_void, n: u64, sums: *mut Sums) {
    let from = far::<u64>(queue);
    let mut found = Sums { order: 0, sum: 0 };
    for i in 0..n {
        let word = loop {
            match from.pop() {
                Ok(word) => break word,
                Err(_) => wait_a_bit(),
            }
        };
        found.order |= word ^ i;
        found.sum = found.sum.wrapping_add(word);
    }
    found.add_to(sums);
}
