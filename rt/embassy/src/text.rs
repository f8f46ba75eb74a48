//! Texts for the console: there is no memory to be had for them.

use core::fmt::{Arguments, Write};

use crate::board;

/// The board cuts longer ones, too.
const LINE: usize = 256;

struct Text {
    bytes: [u8; LINE],
    length: usize,
}

impl Text {
    fn of(what: Arguments<'_>) -> Self {
        let mut text = Self {
            bytes: [0; LINE],
            length: 0,
        };
        // It fails when there is no more room, and what fits is there.
        let _ = text.write_fmt(what);
        text
    }

    fn get(&self) -> &str {
        let bytes = self.bytes.get(..self.length).unwrap_or_default();
        // A character that was cut is none.
        match core::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => core::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }
}

impl Write for Text {
    fn write_str(&mut self, more: &str) -> core::fmt::Result {
        let room = &mut self.bytes[self.length..];
        let fits = room.len().min(more.len());
        room[..fits].copy_from_slice(&more.as_bytes()[..fits]);
        self.length += fits;
        if fits == more.len() {
            Ok(())
        } else {
            Err(core::fmt::Error)
        }
    }
}

/// Write on the partition's console.
pub fn print(what: Arguments<'_>) {
    board::print(Text::of(what).get());
}

/// Say what went wrong, without a newline at the end, and end as failed.
pub fn fail(what: Arguments<'_>) -> ! {
    board::fail(Text::of(what).get())
}
