//! A ring's size and counts; the ring itself is C, see `sys`.

use crate::abi::{MIN_SLOT_SIZE, SLOT_ALIGN, SLOT_HEADER};
use crate::sys;

/// What the writing end of a ring has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets written.
    pub packets: u64,
    /// Doorbells.
    pub rung: u64,
    /// Flushes that needed none, because the peer was awake.
    pub saved: u64,
    /// Writes that found no room.
    pub full: u64,
}

/// Return the bytes that a ring takes in the shared area; `None` if there is no such ring.
pub fn ring_bytes(slots: u32, slot_size: u32) -> Option<u64> {
    match sys::ring_bytes(slots, slot_size) {
        0 => None,
        bytes => Some(bytes),
    }
}

/// Return the smallest size of a slot, in bytes, for messages of so many bytes.
pub fn slot_size_for(message: usize) -> usize {
    message
        .saturating_add(SLOT_HEADER)
        .max(MIN_SLOT_SIZE)
        .checked_next_multiple_of(SLOT_ALIGN)
        .unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::sync::Arc;
    use std::thread;

    use nix::errno::Errno;

    use super::*;
    use crate::sys::{Consumer, Mapping, Producer};

    fn ring(slots: u32, slot_size: u32) -> (Producer, Consumer, Arc<Mapping>) {
        let bytes = usize::try_from(ring_bytes(slots, slot_size).unwrap()).unwrap();
        let memory = Arc::new(Mapping::anonymous(NonZeroUsize::new(bytes).unwrap()).unwrap());
        memory.init_ring(slots, slot_size).unwrap();
        let consumer = Consumer::new(memory.clone(), slots, slot_size).unwrap();
        (Producer::new(memory.clone()).unwrap(), consumer, memory)
    }

    #[test]
    fn sizes() {
        assert_eq!(ring_bytes(2, 16), Some(256 + 32));
        for (slots, slot_size) in [(1, 16), (2, 0), (2, 24), (2, 16400), (u32::MAX, 16)] {
            assert_eq!(ring_bytes(slots, slot_size), None, "{slots} x {slot_size}");
        }
        for (message, slot) in [(0, 16), (8, 16), (9, 32), (24, 32), (4088, 4096)] {
            assert_eq!(slot_size_for(message), slot);
        }
    }

    #[test]
    fn messages_come_out_as_they_went_in() {
        let (mut producer, mut consumer, _) = ring(4, 32);
        let mut buffer = [0; 24];
        assert_eq!(producer.max(), 24);
        assert_eq!(consumer.read(&mut buffer), Err(Errno::EAGAIN));
        for message in [&b"one"[..], b"", &[7; 24]] {
            producer.write(message).unwrap();
            assert_eq!(consumer.read(&mut buffer), Ok(message.len()));
            assert_eq!(&buffer[..message.len()], message);
        }
        assert_eq!(producer.write(&[0; 25]), Err(Errno::EMSGSIZE));
        producer.write(b"four").unwrap();
        assert_eq!(consumer.read(&mut buffer[..3]), Err(Errno::EMSGSIZE));
        assert_eq!(consumer.read(&mut buffer), Ok(4), "it has stayed");
    }

    #[test]
    fn a_full_ring_says_so() {
        let (mut producer, mut consumer, _) = ring(4, 16);
        let mut buffer = [0; 8];
        for n in 0..4u64 {
            producer.write(&n.to_ne_bytes()).unwrap();
        }
        assert!(!producer.has_room());
        assert_eq!(producer.write(b"x"), Err(Errno::EAGAIN));
        consumer.read(&mut buffer).unwrap();
        assert!(producer.has_room());
        producer.write(b"x").unwrap();
        assert!(producer.must_ring(), "nobody has read when it began");
        assert!(!producer.must_ring(), "a wish is granted once");
        assert_eq!(producer.counts(), [5, 1, 0, 1]);
    }

    #[test]
    fn a_ring_larger_than_its_memory_is_refused() {
        let (_, _, memory) = ring(4, 16);
        assert!(Consumer::new(memory.clone(), 4096, 16384).is_err());
        let empty = Arc::new(Mapping::anonymous(NonZeroUsize::new(4096).unwrap()).unwrap());
        assert!(Producer::new(empty).is_err(), "there is no ring in it");
    }

    #[test]
    fn two_threads() {
        const MESSAGES: u64 = 200_000;
        let (mut producer, mut consumer, _) = ring(8, 32);
        let writer = thread::spawn(move || {
            for n in 0..MESSAGES {
                let message = [n.to_ne_bytes(), (!n).to_ne_bytes()].concat();
                while producer.write(&message) == Err(Errno::EAGAIN) {
                    thread::yield_now();
                }
            }
        });
        let mut buffer = [0; 24];
        for n in 0..MESSAGES {
            let len = loop {
                match consumer.read(&mut buffer) {
                    Ok(len) => break len,
                    Err(Errno::EAGAIN) => thread::yield_now(),
                    Err(error) => panic!("{error}"),
                }
            };
            assert_eq!(
                buffer[..len],
                [n.to_ne_bytes(), (!n).to_ne_bytes()].concat()
            );
        }
        writer.join().unwrap();
    }
}
