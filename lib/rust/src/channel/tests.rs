//! Channels within one process: everything but the device.

use std::thread;
use std::time::{Duration, Instant};

use super::*;

const SOON: Option<Duration> = Some(Duration::from_millis(10));
const LONG: Option<Duration> = Some(Duration::from_secs(20));

fn pair(slots: u32) -> (Channel, Channel) {
    Channel::pair(slots, 32).unwrap()
}

#[test]
fn there_and_back() {
    let (mut a, mut b) = pair(4);
    let mut buffer = [0; 24];
    assert_eq!(a.try_receive(&mut buffer), Ok(None));
    a.try_send(b"ping").unwrap();
    assert_eq!(b.receive(&mut buffer, SOON), Ok(Some(&b"ping"[..])));
    b.send(b"pong", SOON).unwrap();
    assert_eq!(a.receive(&mut buffer, SOON), Ok(Some(&b"pong"[..])));
    assert_eq!(a.receive(&mut buffer, SOON), Ok(None));
}

#[test]
fn limits() {
    let (mut a, mut b) = pair(4);
    assert_eq!(a.sender().max(), 24);
    assert_eq!(
        a.try_send(&[0; 25]),
        Err(Error::TooLarge {
            size: 25,
            limit: 24
        })
    );
    a.try_send(&[1; 24]).unwrap();
    let mut small = [0; 23];
    assert_eq!(
        b.try_receive(&mut small),
        Err(Error::BufferTooSmall { size: 23 })
    );
    assert!(Channel::pair(1, 32).is_err());
    assert!(Channel::pair(4, 33).is_err());
}

#[test]
fn a_full_ring() {
    let (mut a, mut b) = pair(4);
    for _ in 0..4 {
        a.put(b"x").unwrap();
    }
    assert!(matches!(a.put(b"x"), Err(Error::NoRoom { .. })));
    let begin = Instant::now();
    assert!(matches!(a.send(b"x", SOON), Err(Error::NoRoom { .. })));
    assert!(begin.elapsed() >= Duration::from_millis(10));
    let mut buffer = [0; 24];
    b.try_receive(&mut buffer).unwrap();
    a.try_send(b"x").unwrap();
}

#[test]
fn a_batch_rings_once() {
    let (mut a, mut b) = pair(16);
    for _ in 0..10 {
        a.put(b"x").unwrap();
    }
    a.flush().unwrap();
    let counts = a.sender().counts();
    assert_eq!((counts.packets, counts.rung, counts.saved), (10, 1, 0));
    // The other side is awake, as far as it has said.
    a.try_send(b"x").unwrap();
    assert_eq!(a.sender().counts().saved, 1);
    let mut buffer = [0; 24];
    for _ in 0..11 {
        assert_eq!(b.try_receive(&mut buffer), Ok(Some(&b"x"[..])));
    }
}

#[test]
fn the_peer_leaves() {
    let (mut a, mut b) = pair(4);
    b.try_send(b"last words").unwrap();
    let waiting = thread::spawn(move || {
        let mut buffer = [0; 24];
        let first = a.receive(&mut buffer, LONG).unwrap().unwrap().to_vec();
        (
            first,
            a.receive(&mut buffer, LONG).map(|_| ()),
            a.try_send(b"x"),
        )
    });
    thread::sleep(Duration::from_millis(5));
    drop(b);
    let (first, second, sent) = waiting.join().unwrap();
    assert_eq!(first, b"last words");
    assert!(matches!(second, Err(Error::Gone { .. })));
    assert!(matches!(sent, Err(Error::Gone { .. })));
}

#[test]
fn who_waits_for_room_learns_that_the_peer_left() {
    let (mut a, b) = pair(2);
    a.put(b"x").unwrap();
    a.put(b"x").unwrap();
    let waiting = thread::spawn(move || a.send(b"x", LONG));
    thread::sleep(Duration::from_millis(5));
    drop(b);
    assert!(matches!(waiting.join().unwrap(), Err(Error::Gone { .. })));
}

/// Both ends sleep again and again: a lost wake-up would stop the whole.
fn stream(spin: Duration) {
    const MESSAGES: u64 = 30_000;
    let (a, b) = pair(4);
    let (mut sender, _keep) = a.split();
    let (_keep_too, mut receiver) = b.split();
    sender.set_spin(spin);
    receiver.set_spin(spin);
    let writer = thread::spawn(move || {
        for n in 0..MESSAGES {
            sender.send(&n.to_ne_bytes(), LONG).unwrap();
        }
        (sender, _keep)
    });
    let mut buffer = [0; 24];
    for n in 0..MESSAGES {
        let message = receiver.receive(&mut buffer, LONG).unwrap();
        assert_eq!(message, Some(&n.to_ne_bytes()[..]));
    }
    writer.join().unwrap();
}

#[test]
fn a_stream_without_spinning() {
    stream(Duration::ZERO);
}

#[test]
fn a_stream_with_spinning() {
    stream(Duration::from_micros(20));
}

#[test]
fn a_stream_without_sleeping() {
    let (mut a, mut b) = pair(4);
    let peer = thread::spawn(move || {
        let mut buffer = [0; 24];
        while let Ok(message) = b.receive(&mut buffer, LONG) {
            let Some(message) = message else { break };
            let message = message.to_vec();
            b.send(&message, LONG).unwrap();
        }
    });
    a.receiver().set_spin(Duration::MAX);
    let mut buffer = [0; 24];
    for n in 0..100u64 {
        a.send(&n.to_ne_bytes(), LONG).unwrap();
        assert_eq!(a.receive(&mut buffer, LONG), Ok(Some(&n.to_ne_bytes()[..])));
    }
    assert_eq!(a.receive(&mut buffer, SOON), Ok(None), "deadlines hold");
    drop(a);
    peer.join().unwrap();
}
