//! Programs in a partition, started from the host over a vsock: what both sides say.
//!
//! One connection for each program. Both sides send frames: a byte that says what it is, four
//! for its length, and so many more. The first one is the host's, START. After that the host
//! sends INPUT, as much as there is room for (WINDOW at first, and what TAKEN says), its end,
//! sizes of the terminal and signals; the partition sends output, and EXIT at the end.

pub mod client;
pub mod kept;
pub mod orphans;
mod program;
pub mod server;
mod session;

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

/// Where the partition's side listens: a port of vsock's.
pub const PORT: u32 = 7469;
/// The host's address, always.
pub const HOST_CID: u32 = 2;
/// How much input may be on its way.
pub const WINDOW: usize = 256 << 10;
/// The longest frame; longer ones are nonsense.
pub const MAX_FRAME: usize = 64 << 10;

/// Rows and columns of a terminal, until its user's are known.
pub const USUAL_SIZE: (u16, u16) = (24, 80);

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::FromRepr)]
#[repr(u8)]
pub enum Kind {
    /// JSON of `Start`.
    Start = 1,
    Input,
    /// No more input.
    InputEnd,
    /// Rows and columns, 16 bits each.
    Size,
    /// A signal's number, a byte.
    Signal,
    /// There is room for so many bytes of input more, 32 bits.
    Taken = 16,
    /// What goes to standard output; nothing: the program has closed it.
    Output,
    /// What goes to standard error, likewise.
    Errors,
    /// JSON of `Exit`, the last one.
    Exit,
}

/// What is to run.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    pub command: Vec<String>,
    /// KEY=VALUE, beside what the service has itself.
    pub env: Vec<String>,
    pub directory: Option<String>,
    /// Rows and columns of a terminal; `None`: pipes.
    pub terminal: Option<(u16, u16)>,
    /// `None`: the command is the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Container>,
}

/// A container's program, by a name that it has between both; the commands are those of an OCI
/// runtime.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Container {
    /// The command makes it, and ends. Its input and output are kept for `Join`.
    Create(String),
    /// No command: whoever asks is its input and output from now on, until it has ended.
    Join(String),
    /// No command: what its cgroup uses, of that name, as JSON of `Figures`.
    Figures(String),
}

/// How it ended.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(u8),
    Signal(u8),
    /// It did not run: the exit code for that, and why.
    NotRun(u8, String),
}

/// The exit codes that say that a program did not run, as podman's: for another reason than
/// the next two.
pub const FAILED: u8 = 125;
/// It is no program, or cannot start where it shall.
pub const NOT_EXECUTABLE: u8 = 126;
/// There is none of that name.
pub const NOT_FOUND: u8 = 127;

/// Send a frame, of at most `MAX_FRAME` bytes.
pub fn send(to: &mut impl Write, kind: Kind, payload: &[u8]) -> io::Result<()> {
    let len = u32::try_from(payload.len()).map_err(io::Error::other)?;
    let head = [&[kind as u8][..], &len.to_le_bytes()].concat();
    to.write_all(&[&head[..], payload].concat())
}

/// Send a frame of JSON.
pub fn send_json(to: &mut impl Write, kind: Kind, value: &impl Serialize) -> io::Result<()> {
    send(to, kind, &serde_json::to_vec(value)?)
}

/// Receive a frame; `None`: the other side has closed the connection.
pub fn receive(from: &mut impl Read) -> io::Result<Option<(Kind, Vec<u8>)>> {
    let mut kind = [0];
    if from.read(&mut kind)? == 0 {
        return Ok(None);
    }
    let mut len = [0; 4];
    from.read_exact(&mut len)?;
    let (kind, len) = (Kind::from_repr(kind[0]), u32::from_le_bytes(len) as usize);
    match kind {
        Some(kind) if len <= MAX_FRAME => {
            let mut payload = vec![0; len];
            from.read_exact(&mut payload)?;
            Ok(Some((kind, payload)))
        }
        _ => Err(io::Error::other("that is no frame")),
    }
}

/// Read two 16-bit numbers.
fn pair(payload: &[u8]) -> Option<(u16, u16)> {
    let word = |at: usize| {
        Some(u16::from_le_bytes(
            payload.get(at..at + 2)?.try_into().ok()?,
        ))
    };
    Some((word(0)?, word(2)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames() {
        let mut wire = Vec::new();
        send(&mut wire, Kind::Input, b"abc").unwrap();
        send(&mut wire, Kind::InputEnd, b"").unwrap();
        let mut from = &wire[..];
        assert_eq!(
            receive(&mut from).unwrap(),
            Some((Kind::Input, b"abc".to_vec()))
        );
        assert_eq!(
            receive(&mut from).unwrap(),
            Some((Kind::InputEnd, Vec::new()))
        );
        assert_eq!(receive(&mut from).unwrap(), None);
    }

    #[test]
    fn what_is_no_frame() {
        let long = [&[2][..], &(MAX_FRAME as u32 + 1).to_le_bytes()].concat();
        for wire in [&[9, 0, 0, 0, 0][..], &[2, 5, 0, 0, 0, 1], &[2], &long] {
            assert!(receive(&mut &wire[..]).is_err(), "{wire:?}");
        }
        assert_eq!(pair(&[1, 0, 2]), None);
        assert_eq!(pair(&[1, 0, 2, 1]), Some((1, 258)));
    }
}
