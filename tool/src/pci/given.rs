//! What partitions have.

use std::fs;
use std::path::Path;

use serde::Serialize;

/// A device that a partition has whole.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    pub address: String,
    /// An IOMMU keeps it to its partition's memory.
    pub confined: bool,
    /// How often it was seen to be refused more.
    pub strays: u64,
}

/// Return the devices that the partition has, as KLoader lists them.
pub fn all(root: &Path, partition: &str) -> Vec<Device> {
    let path = root.join("sys/class/shimos").join(partition).join("pci");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(device).collect()
}

/// Return their addresses.
pub fn to(root: &Path, partition: &str) -> Vec<String> {
    all(root, partition)
        .into_iter()
        .map(|d| d.address)
        .collect()
}

fn device(line: &str) -> Option<Device> {
    let mut words = line.split_whitespace();
    Some(Device {
        address: words.next()?.to_owned(),
        confined: words.next() == Some("confined"),
        strays: words.next().and_then(|n| n.parse().ok()).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::example;

    #[test]
    fn what_kloader_lists() {
        let text = "0000:01:00.0 confined 3\n0000:02:00.0 unsafe 0\n";
        let (work, _) = example(&[("sys/class/shimos/web/pci", text)]);
        let [first, second] = all(work.path(), "web").try_into().unwrap();
        assert_eq!((first.confined, first.strays), (true, 3));
        assert_eq!((second.confined, second.strays), (false, 0));
        assert_eq!(to(work.path(), "web"), ["0000:01:00.0", "0000:02:00.0"]);
        assert!(all(work.path(), "db").is_empty());
    }
}
