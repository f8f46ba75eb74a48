//! What differs between the architectures. All of it is compiled and tested on each of
//! them; which is meant is chosen here and nowhere else.

mod aarch64;
mod x86_64;

use crate::device::{Description, Platform};

#[cfg(target_arch = "aarch64")]
pub static NATIVE: &Architecture = &aarch64::ARCHITECTURE;
#[cfg(target_arch = "x86_64")]
pub static NATIVE: &Architecture = &x86_64::ARCHITECTURE;

pub static ALL: [&Architecture; 2] = [&x86_64::ARCHITECTURE, &aarch64::ARCHITECTURE];

pub struct Architecture {
    pub name: &'static str,
    /// Writes what a kernel with this command line is told of its platform, where
    /// KLoader leaves that to us.
    pub describe: Option<fn(&Platform, &str) -> Result<Description, String>>,
}
