//! What a file says of devices: `[[disk]]`, `[[net]]`, `[[pci]]`, `[[fs]]`, `[[vhost_user]]`.

use std::path::PathBuf;

use serde::Deserialize;

use crate::devices::served::Served;
use crate::devices::spec;
use crate::units::pci_address;

/// For who writes something else.
pub const FORMS: &str = "devices are tables: [[disk]] with path = \"/dev/vdb\", [[net]] with bridge = \"br0\", \
     [[pci]] with address = \"0000:01:00.0\", [[fs]] with path = \"/srv/www\" and tag = \"www\"";

/// As for `--disk`.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    path: PathBuf,
    #[serde(default)]
    ro: bool,
    queues: Option<i64>,
    iops: Option<i64>,
    bw: Option<String>,
    size: Option<String>,
}

impl Disk {
    /// Return the disk; the error names the key that is wrong.
    pub fn spec(&self) -> Result<spec::Disk, String> {
        if self.path.as_os_str().is_empty() {
            return Err("the path is empty".into());
        }
        let mut disk = spec::Disk::new(&self.path);
        disk.read_only = self.ro;
        for (key, value) in [
            ("queues", self.queues.map(|n| n.to_string())),
            ("iops", self.iops.map(|n| n.to_string())),
            ("bw", self.bw.clone()),
            ("size", self.size.clone()),
        ] {
            if let Some(value) = value {
                disk.set(key, Some(&value))?;
            }
        }
        Ok(disk)
    }
}

/// As for `--net`.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Net {
    bridge: Option<String>,
    #[serde(default)]
    p2p: bool,
    mac: Option<String>,
    queues: Option<i64>,
    mtu: Option<i64>,
    name: Option<String>,
}

impl Net {
    /// Return the network device; the error names the key that is wrong.
    pub fn spec(&self) -> Result<spec::Net, String> {
        if self.bridge.is_some() == self.p2p {
            return Err(
                "write either bridge = \"br0\", or p2p = true for a device of its own".into(),
            );
        }
        let mut net = spec::Net::new(self.bridge.as_deref())?;
        for (key, value) in [
            ("mac", self.mac.clone()),
            ("queues", self.queues.map(|n| n.to_string())),
            ("mtu", self.mtu.map(|n| n.to_string())),
            ("name", self.name.clone()),
        ] {
            if let Some(value) = value {
                net.set(key, Some(&value))?;
            }
        }
        Ok(net)
    }
}

/// As for `--fs`.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fs {
    path: PathBuf,
    tag: Option<String>,
    #[serde(default)]
    ro: bool,
}

impl Fs {
    /// Return the directory to share; the error names the key that is wrong.
    pub fn spec(&self) -> Result<Served, String> {
        Served::fs(&self.path, self.tag.as_deref(), self.ro)
    }
}

/// As for `--vhost-user`.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VhostUser {
    socket: PathBuf,
    #[serde(rename = "type")]
    kind: Option<String>,
    tag: Option<String>,
}

impl VhostUser {
    /// Return the daemon's device; the error names the key that is wrong.
    pub fn spec(&self) -> Result<Served, String> {
        Served::vhost_user(&self.socket, self.kind.as_deref(), self.tag.as_deref())
    }
}

/// As for `--vsock`: `true` for an address that is free, or the address.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Vsock {
    Any(bool),
    Cid(u32),
}

impl Vsock {
    /// Return what to share, if anything.
    pub fn spec(&self) -> Result<Option<Served>, String> {
        match self {
            Vsock::Any(false) => Ok(None),
            Vsock::Any(true) => Ok(Some(Served::Vsock { cid: None })),
            Vsock::Cid(cid) => Served::vsock(*cid).map(Some),
        }
    }
}

/// As for `--pci`.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pci {
    address: String,
    #[serde(rename = "unsafe", default)]
    is_unsafe: bool,
}

impl Pci {
    /// Return what to give; the error says what is wrong with it.
    pub fn spec(&self) -> Result<pci_address::Given, String> {
        Ok(pci_address::Given {
            address: pci_address::parse(&self.address)?,
            is_unsafe: self.is_unsafe,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::errors;

    fn disk(text: &str) -> Result<spec::Disk, String> {
        toml::from_str::<Disk>(text).unwrap().spec()
    }

    fn net(text: &str) -> Result<spec::Net, String> {
        toml::from_str::<Net>(text).unwrap().spec()
    }

    #[test]
    fn a_table_says_what_an_option_says() {
        let table = "path = 'a'\nro = true\nqueues = 2\niops = 500\nbw = '20M'\nsize = '1M'";
        let option = "a,ro,queues=2,iops=500,bw=20M,size=1M";
        assert_eq!(disk(table), spec::disk(option));
        assert_eq!(disk("path = 'a'"), spec::disk("a"));
        let table =
            "bridge = 'br0'\nmac = '02:00:00:00:00:01'\nqueues = 2\nmtu = 9000\nname = 'w%d'";
        let option = "br0,mac=02:00:00:00:00:01,queues=2,mtu=9000,name=w%d";
        assert_eq!(net(table), spec::net(option));
        assert_eq!(net("p2p = true"), spec::net("p2p"));
        let pci = toml::from_str::<Pci>("address = '01:00.0'").unwrap();
        assert_eq!(pci.spec(), pci_address::given("01:00.0"));
        let pci = toml::from_str::<Pci>("address = '01:00.0'\nunsafe = true").unwrap();
        assert_eq!(pci.spec(), pci_address::given("01:00.0,unsafe"));
    }

    #[test]
    fn a_path_with_a_comma() {
        assert_eq!(disk("path = 'a,ro'").unwrap().name(), "a,ro");
        assert!(!disk("path = 'a,ro'").unwrap().read_only);
    }

    #[test]
    fn what_makes_no_sense() {
        let text = errors(
            &[
                "path = ''",
                "path = 'a'\nqueues = 9",
                "path = 'a'\nqueues = -1",
                "path = 'a'\niops = 0",
                "path = 'a'\nbw = '1X'",
                "path = 'a'\nsize = '100'",
            ],
            disk,
        );
        insta::assert_snapshot!(text);
        let text = errors(
            &[
                "",
                "bridge = 'br0'\np2p = true",
                "bridge = ''",
                "bridge = 'br0'\nmtu = 1",
                "bridge = 'br0'\nmac = 'x'",
            ],
            net,
        );
        insta::assert_snapshot!(text);
    }
}
