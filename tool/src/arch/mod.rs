//! What differs between the architectures. All of it is compiled and tested on each of
//! them; which is meant is chosen here and nowhere else.

pub mod aarch64;
mod architecture;
pub mod image;
pub mod x86_64;

pub use aarch64::AARCH64;
pub use architecture::Architecture;
pub use x86_64::X86_64;

/// The architecture that this tool is compiled for.
#[cfg(target_arch = "aarch64")]
pub static NATIVE: &Architecture = &AARCH64;
/// The architecture that this tool is compiled for.
#[cfg(target_arch = "x86_64")]
pub static NATIVE: &Architecture = &X86_64;

/// All that the tool knows, to be tested on each of them.
pub static ALL: [&Architecture; 2] = [&X86_64, &AARCH64];
