//! arm64.

mod device_tree;

use super::Architecture;

pub static ARCHITECTURE: Architecture = Architecture {
    name: "arm64",
    describe: Some(device_tree::describe),
};
