//! The messages of the service behind [`crate::abi::ECHO_CHANNEL`] of every kernel.

/// What the service shall do with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Send it back.
    Echo = 0,
    /// Count it.
    Sink = 1,
    /// Send back how many were counted, and begin at 0.
    Count = 2,
}

/// What each message begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoMessage {
    /// What to do, as a number of [`Op`].
    pub op: u16,
    /// Where the answer goes: the sender's own channel.
    pub channel: u16,
    /// Comes back; the number of messages in the answer to `Count`.
    pub cookie: u64,
    /// The number of bytes in the answer to `Count`.
    pub bytes: u64,
}

impl EchoMessage {
    /// The size of this, and so of the smallest message.
    pub const BYTES: usize = 24;

    /// Make a message for `op` with nothing counted yet.
    pub fn new(op: Op, channel: u32, cookie: u64) -> Self {
        Self {
            op: op as u16,
            // Channel numbers are small: see abi::CHANNELS.
            channel: channel as u16,
            cookie,
            bytes: 0,
        }
    }

    /// Write it to the beginning of `message`, if that is large enough.
    pub fn put(self, message: &mut [u8]) {
        let mut bytes = [0; Self::BYTES];
        bytes[0..2].copy_from_slice(&self.op.to_ne_bytes());
        bytes[2..4].copy_from_slice(&self.channel.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.bytes.to_ne_bytes());
        if let Some(place) = message.get_mut(..Self::BYTES) {
            place.copy_from_slice(&bytes);
        }
    }

    /// Read it from the beginning of `message`.
    pub fn get(message: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = message.first_chunk()?;
        let [op0, op1, channel0, channel1, _, _, _, _, rest @ ..] = *bytes;
        let [c0, c1, c2, c3, c4, c5, c6, c7, size @ ..] = rest;
        Some(Self {
            op: u16::from_ne_bytes([op0, op1]),
            channel: u16::from_ne_bytes([channel0, channel1]),
            cookie: u64::from_ne_bytes([c0, c1, c2, c3, c4, c5, c6, c7]),
            bytes: u64::from_ne_bytes(size),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let mut message = [0xff; 32];
        let sent = EchoMessage {
            bytes: 5,
            ..EchoMessage::new(Op::Count, 30, 0x0102_0304_0506_0708)
        };
        sent.put(&mut message);
        assert_eq!(EchoMessage::get(&message), Some(sent));
        assert_eq!(message[4..8], [0; 4], "reserved");
        assert_eq!(message[24..], [0xff; 8], "what follows is the sender's");
        assert_eq!(EchoMessage::get(&message[..23]), None);
    }
}
