//! An echo service for unit tests: a thread of this process.

use std::thread;
use std::time::Duration;

use shimos_ikc::{Channel, EchoMessage, Op};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Honest,
    Silent,
    /// Sends back something else.
    Garbles,
    /// Counts one less than there were.
    Loses,
    /// Is gone after the first message.
    Leaves,
}

/// The channel to a service that takes messages of up to 248 bytes.
pub fn service(manner: Manner) -> Channel {
    let (own, peer) = Channel::pair(16, 256).unwrap();
    thread::spawn(move || serve(peer, manner));
    own
}

/// Until the other end is closed.
fn serve(mut channel: Channel, manner: Manner) {
    let mut buffer = [0; 256];
    let (mut messages, mut bytes) = (0, 0);
    while let Ok(Some(message)) = channel.receive(&mut buffer, Some(Duration::from_secs(20))) {
        let mut message = message.to_vec();
        let mut header = EchoMessage::get(&message).unwrap();
        match manner {
            Manner::Silent => continue,
            Manner::Leaves => return,
            _ => {}
        }
        if header.op == Op::Sink as u16 {
            messages += 1;
            bytes += message.len() as u64;
            continue;
        }
        if header.op == Op::Count as u16 {
            let missing = u64::from(manner == Manner::Loses && messages > 0);
            (header.cookie, header.bytes) = (messages - missing, bytes);
            (messages, bytes) = (0, 0);
            header.put(&mut message);
        } else if manner == Manner::Garbles {
            *message.last_mut().unwrap() ^= 1;
        }
        if channel.send(&message, None).is_err() {
            return;
        }
    }
}
