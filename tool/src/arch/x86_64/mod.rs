//! x86-64.

use super::Architecture;

pub static ARCHITECTURE: Architecture = Architecture {
    name: "x86-64",
    describe: None,
};
