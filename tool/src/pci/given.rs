//! What partitions have.

use std::fs;
use std::path::Path;

/// Return what the partition has, as KLoader lists it.
pub fn to(root: &Path, partition: &str) -> Vec<String> {
    let path = root.join("sys/class/shimos").join(partition).join("pci");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
