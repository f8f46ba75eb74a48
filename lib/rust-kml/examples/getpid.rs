//! How long getpid takes: `shimos trust run ./getpid` beside `./getpid`.
#![allow(unsafe_code, clippy::print_stdout, clippy::unwrap_used)]

use std::time::Instant;

const GETPID: usize = 39;

fn main() {
    let rounds: u32 = std::env::args()
        .nth(1)
        .map_or(1_000_000, |n| n.parse().unwrap());
    let way = match shimos_kml::init() {
        Ok(()) => "by direct call".to_string(),
        Err(why) => format!("by SYSCALL ({why})"),
    };
    let wanted = std::process::id() as isize;
    let start = Instant::now();
    for _ in 0..rounds {
        // SAFETY: getpid touches no memory.
        let pid = unsafe { shimos_kml::syscall0(GETPID) };
        assert_eq!(pid, wanted);
    }
    let each = start.elapsed().as_nanos() / u128::from(rounds.max(1));
    println!("getpid {way}: {each} ns");
}
