//! What `--disk` and `--net` take: `PATH,ro,iops=100`, `br0,mac=…`; and all that a command
//! shares.

use std::path::{Path, PathBuf};

use super::served::Served;
use super::{Mac, ifname};
use crate::units::size;

/// As many as the back end serves.
const MAX_DISK_QUEUES: u32 = 8;
const MAX_NET_QUEUES: u32 = 16;
const MIN_MTU: u16 = 68;
/// The word for "no bridge".
const POINT_TO_POINT: &str = "p2p";

/// A disk as the user wants to share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// A block device or a file.
    pub path: PathBuf,
    pub read_only: bool,
    /// 0: as many as the user has CPUs.
    pub queues: u32,
    pub limit: Limit,
    /// Only so many bytes of it.
    pub size: Option<u64>,
}

impl Disk {
    /// Take all of it, without limits.
    pub fn new(path: &Path) -> Self {
        Disk {
            path: path.into(),
            read_only: false,
            queues: 0,
            limit: Limit::default(),
            size: None,
        }
    }

    /// Set an option as it is written.
    pub fn set(&mut self, key: &str, value: Option<&str>) -> Result<(), String> {
        match (key, value) {
            ("ro", None) => self.read_only = true,
            ("queues", Some(value)) => self.queues = queues(value, MAX_DISK_QUEUES)?,
            ("iops", Some(value)) => self.limit.iops = Some(iops(value)?),
            ("bw", Some(value)) => {
                let value = value.strip_suffix("/s").unwrap_or(value);
                self.limit.bytes = Some(size::parse(value)?);
            }
            ("size", Some(value)) => self.size = Some(sectors(value)?),
            ("ro", Some(_)) => return Err("'ro' takes no value".into()),
            ("queues" | "iops" | "bw" | "size", None) => {
                return Err(format!("'{key}' needs a value: {key}=…"));
            }
            _ => {
                return Err(format!(
                    "'{key}' is no option of a disk: there are ro, queues=, iops=, bw= and size= (a path cannot have a comma here)"
                ));
            }
        }
        Ok(())
    }

    /// Return the path as it was written.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Each for reading and for writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Requests per second.
    pub iops: Option<u64>,
    /// Bytes per second.
    pub bytes: Option<u64>,
}

impl Limit {
    /// Tell whether nothing is limited.
    pub fn is_none(self) -> bool {
        self == Limit::default()
    }
}

/// A network device as the user wants to share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Net {
    /// `None`: a device of its own, in no bridge.
    pub bridge: Option<String>,
    /// Zero: derived from names.
    pub mac: Mac,
    pub queues: u32,
    /// 0: the bridge's, or 1500.
    pub mtu: u16,
    /// Of the interface on this side.
    pub name: Option<String>,
}

impl Net {
    /// Make one in a bridge, or point to point; the error says what is wrong with the
    /// bridge's name.
    pub fn new(bridge: Option<&str>) -> Result<Self, String> {
        if let Some(name) = bridge {
            ifname::check(name).map_err(|why| format!("bridge '{name}': {why}"))?;
        }
        Ok(Net {
            bridge: bridge.map(String::from),
            mac: Mac::default(),
            queues: 0,
            mtu: 0,
            name: None,
        })
    }

    /// Set an option as it is written.
    pub fn set(&mut self, key: &str, value: Option<&str>) -> Result<(), String> {
        match (key, value) {
            ("mac", Some(value)) => self.mac = mac(value)?,
            ("queues", Some(value)) => self.queues = queues(value, MAX_NET_QUEUES)?,
            ("mtu", Some(value)) => self.mtu = mtu(value)?,
            ("name", Some(value)) => {
                ifname::check_pattern(value).map_err(|why| format!("name '{value}': {why}"))?;
                self.name = Some(value.into());
            }
            ("mac" | "queues" | "mtu" | "name", None) => {
                return Err(format!("'{key}' needs a value: {key}=…"));
            }
            _ => {
                return Err(format!(
                    "'{key}' is no option of a network: there are mac=, queues=, mtu= and name="
                ));
            }
        }
        Ok(())
    }
}

/// Everything that one command shares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub disks: Vec<Disk>,
    pub nets: Vec<Net>,
    /// What programs serve.
    pub served: Vec<Served>,
}

impl Wanted {
    /// Tell whether nothing shall be shared.
    pub fn is_empty(&self) -> bool {
        self.disks.is_empty() && self.nets.is_empty() && self.served.is_empty()
    }
}

/// Read a disk, for clap. The error names the key that is wrong.
pub fn disk(text: &str) -> Result<Disk, String> {
    let mut words = text.split(',');
    let path = words.next().unwrap_or_default();
    if path.is_empty() {
        return Err(format!(
            "'{text}' names no disk: write /dev/vdb or disk.img, then options"
        ));
    }
    let mut disk = Disk::new(Path::new(path));
    for word in words {
        let (key, value) = option(word);
        disk.set(key, value)?;
    }
    Ok(disk)
}

/// Read a network device, for clap. The error names the key that is wrong.
pub fn net(text: &str) -> Result<Net, String> {
    let mut words = text.split(',');
    let bridge = words.next().unwrap_or_default();
    if bridge.is_empty() {
        return Err(format!(
            "'{text}' names no bridge: write br0, or {POINT_TO_POINT} for a device of its own, then options"
        ));
    }
    let mut net = Net::new((bridge != POINT_TO_POINT).then_some(bridge))?;
    for word in words {
        let (key, value) = option(word);
        net.set(key, value)?;
    }
    Ok(net)
}

/// Split an option into its key and, if it has one, its value.
pub fn option(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim())),
        None => (word.trim(), None),
    }
}

fn queues(value: &str, most: u32) -> Result<u32, String> {
    match value.parse() {
        Ok(n) if (1..=most).contains(&n) => Ok(n),
        _ => Err(format!("queues={value}: write a number from 1 to {most}")),
    }
}

fn iops(value: &str) -> Result<u64, String> {
    match value.parse() {
        // The kernel's limit is 32 bits wide.
        Ok(n) if n >= 1 && u32::try_from(n).is_ok() => Ok(n),
        _ => Err(format!(
            "iops={value}: write how many requests per second, 1 or more"
        )),
    }
}

fn sectors(value: &str) -> Result<u64, String> {
    let bytes = size::parse(value)?;
    match bytes % 512 {
        0 => Ok(bytes),
        _ => Err(format!("size={value} is not a multiple of 512 bytes")),
    }
}

fn mtu(value: &str) -> Result<u16, String> {
    match value.parse() {
        Ok(n) if n >= MIN_MTU => Ok(n),
        _ => Err(format!(
            "mtu={value}: write a number from {MIN_MTU} to {}",
            u16::MAX
        )),
    }
}

fn mac(value: &str) -> Result<Mac, String> {
    let wrong = || format!("mac={value}: write six bytes like 52:54:00:12:34:56");
    let mut bytes = [0; 6];
    let mut parts = value.split(':');
    for byte in &mut bytes {
        let part = parts.next().ok_or_else(wrong)?;
        if part.len() != 2 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
    }
    if parts.next().is_some() {
        return Err(wrong());
    }
    let [first, ..] = bytes;
    if first & 1 != 0 {
        return Err(format!(
            "mac={value} is the address of a group: the first byte must be even"
        ));
    }
    if bytes == [0; 6] {
        return Err(format!("mac={value} is no address: all zero"));
    }
    Ok(Mac(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::errors;

    #[test]
    fn disks() {
        let d = disk("/dev/vdb").unwrap();
        assert_eq!(d.name(), "/dev/vdb");
        assert!(!d.read_only && d.limit.is_none());
        let d = disk("root.img,ro,queues=2,iops=100,bw=10M/s,size=1G").unwrap();
        assert!(d.read_only);
        assert_eq!((d.queues, d.size), (2, Some(1 << 30)));
        assert_eq!((d.limit.iops, d.limit.bytes), (Some(100), Some(10 << 20)));
    }

    #[test]
    fn nets() {
        let n = net("br0").unwrap();
        assert_eq!(n.bridge.as_deref(), Some("br0"));
        assert_eq!(n.mac, Mac::default());
        let n = net("p2p,mac=52:54:00:12:34:5a,queues=4,mtu=9000,name=web%d").unwrap();
        assert_eq!(n.bridge, None);
        assert_eq!(n.mac.to_string(), "52:54:00:12:34:5a");
        assert_eq!((n.queues, n.mtu), (4, 9000));
        assert_eq!(n.name.as_deref(), Some("web%d"));
    }

    #[test]
    fn bad_disks() {
        let text = errors(
            &[
                "",
                ",ro",
                "a,rw",
                "a,",
                "a,ro=1",
                "a,iops",
                "a,queues=0",
                "a,queues=9",
                "a,iops=0",
                "a,iops=99999999999",
                "a,bw=1X",
                "a,size=1000",
            ],
            disk,
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn bad_nets() {
        let text = errors(
            &[
                "",
                "a/b",
                "br0,ro",
                "br0,mac=1:2:3:4:5:6",
                "br0,mac=52:54:00:12:34",
                "br0,mac=52:54:00:12:34:56:78",
                "br0,mac=+2:54:00:12:34:56",
                "br0,mac=01:54:00:12:34:56",
                "br0,mac=00:00:00:00:00:00",
                "br0,mtu=67",
                "br0,queues=17",
                "br0,mtu=65536",
                "br0,mtu",
                "br0,name=a%d%d",
            ],
            net,
        );
        insta::assert_snapshot!(text);
    }
}
