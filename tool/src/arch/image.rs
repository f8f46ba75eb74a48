//! What a kernel's file says of itself, whatever its format.

use std::fs::File;
use std::os::unix::fs::FileExt;

use memchr::memmem;

use crate::error::{Error, IoContext, Result};

/// A kernel is larger than this, an initrd given by mistake may be too.
pub const MIN: u64 = 0x10000;

/// What kind of file a kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    BzImage,
    Elf,
    Image,
}

/// What a kernel's file says of itself.
#[derive(Debug, PartialEq, Eq)]
pub struct KernelImage {
    pub format: Format,
    /// `uname -r` of it.
    pub version: String,
}

/// Make the error of a file that is shorter, in bytes, than it says.
pub fn truncated(len: u64, need: u64) -> Error {
    Error::new(format!(
        "the kernel is truncated: {len} bytes, its header says {need}"
    ))
    .hint("copy it again")
}

/// Return the first word of a version text, if it looks like `uname -r`.
pub fn version_word(text: &[u8]) -> Option<String> {
    let end = text.iter().take(128).position(|b| !b.is_ascii_graphic())?;
    let word = text.get(..end)?;
    // It becomes part of a path.
    let fits = |b: &u8| b.is_ascii_alphanumeric() || b"._-+~".contains(b);
    if !word.first()?.is_ascii_digit() || !word.iter().all(fits) {
        return None;
    }
    String::from_utf8(word.to_vec()).ok()
}

/// Search the loaded part of a file for "Linux version 6.1.0 …".
pub fn banner(file: &File, end: u64) -> Result<Option<String>> {
    const CHUNK: usize = 1 << 20;
    const OVERLAP: usize = 256;
    let wanted = b"Linux version ";
    let mut buffer = vec![0; CHUNK + OVERLAP];
    let mut at = 0;
    while at < end {
        let got = read_up_to(file, &mut buffer, at).or_fail("cannot read it")?;
        let data = buffer.get(..got).unwrap_or_default();
        for found in memmem::find_iter(data, wanted) {
            let text = data.get(found + wanted.len()..).unwrap_or_default();
            if let Some(version) = version_word(text) {
                return Ok(Some(version));
            }
        }
        if got < buffer.len() {
            break;
        }
        at += CHUNK as u64;
    }
    Ok(None)
}

/// Fill `buffer` from `at`; less only at the end of the file.
pub fn read_up_to(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + done as u64)? {
            0 => break,
            n => done += n,
        }
    }
    Ok(done)
}
