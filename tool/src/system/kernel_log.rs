//! This kernel's log, as /dev/kmsg gives and takes it.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;

/// Read it as far as it is kept, and if it may be read. `root`: "/", or a test's.
pub fn read(root: &Path) -> Option<String> {
    const MAX_RECORDS: usize = 1 << 16;
    let mut kmsg = OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(root.join("dev/kmsg"))
        .ok()?;
    let mut log = String::new();
    let mut record = [0; 8192];
    // Each read gives one record; EPIPE means that one was overwritten.
    for _ in 0..MAX_RECORDS {
        match kmsg.read(&mut record) {
            Ok(0) => break,
            Ok(n) => {
                log.push_str(&String::from_utf8_lossy(
                    record.get(..n).unwrap_or_default(),
                ));
            }
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {}
            Err(_) => break,
        }
    }
    Some(log)
}

/// Write an error into it: for a process that nobody watches.
pub fn error(text: impl fmt::Display) {
    const ERROR: u8 = 3;
    if let Ok(mut kmsg) = OpenOptions::new().write(true).open("/dev/kmsg") {
        // In one piece: each write is a record.
        let _ = kmsg.write_all(format!("<{ERROR}>shimos: {text}\n").as_bytes());
    }
}
