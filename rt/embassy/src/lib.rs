//! Embassy's executor on the layer's board.
//!
//! A program names its first function by [`program!`], spawns tasks there, and is ready by
//! [`ready`]. Time, as `embassy-time` has it, is the CPU's clock; a task that waits for it
//! is woken by the board's timer. When no task has anything to do, the core is Linux's.
#![cfg_attr(target_os = "none", no_std)]

#[cfg(target_os = "none")]
mod board;
pub mod clock;
#[cfg(target_os = "none")]
mod executor;
#[cfg(target_os = "none")]
mod text;
#[cfg(target_os = "none")]
mod time;

#[cfg(target_os = "none")]
pub use board::{asked_to_stop, now, rate, ready, stop, strays};
#[cfg(target_os = "none")]
pub use executor::{run, rung};
#[cfg(target_os = "none")]
pub use text::{fail, print};

/// Write a line on the partition's console.
#[macro_export]
macro_rules! say {
    ($($what:tt)*) => {
        $crate::print(::core::format_args!("{}\n", ::core::format_args!($($what)*)))
    };
}
