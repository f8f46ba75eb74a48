//! Can a device be given to a partition? KLoader checks the hardware, too, and
//! has the last word; who uses the device is only known here.

use std::fs;
use std::path::{Path, PathBuf};

use super::{given, in_use};
use crate::error::{Error, Result};
use crate::units::pci_address::{self, Address, Given};

const DRIVER: &str = "shimos-pci";
const MSI: u8 = 0x05;
const MSI_X: u8 = 0x11;

/// Check that nothing speaks against giving all of these to one partition.
pub fn check(root: &Path, devices: &[Given]) -> Result<()> {
    let addresses: Vec<Address> = devices.iter().map(|given| given.address).collect();
    for (i, given) in devices.iter().enumerate() {
        let address = given.address;
        if addresses.iter().take(i).any(|other| *other == address) {
            return Err(Error::new(format!(
                "PCI device {address} is in the list twice"
            )));
        }
        let function = Function::find(root, address)?;
        function.kind()?;
        in_use::check(root, address, &function.directory)?;
        function.place(&addresses)?;
        function.interrupts()?;
        function.configuration(root)?;
        if given.is_unsafe {
            function.addresses()?;
        } else {
            function.confinement(&addresses)?;
        }
    }
    Ok(())
}

/// Return the devices that could be given now, each by itself.
pub fn candidates(root: &Path) -> Vec<Address> {
    let Ok(list) = fs::read_dir(root.join("sys/bus/pci/devices")) else {
        return Vec::new();
    };
    let mut found: Vec<Address> = list
        .flatten()
        .filter_map(|entry| pci_address::parse(&entry.file_name().to_string_lossy()).ok())
        .filter(|address| could_be_given(root, *address))
        .collect();
    found.sort();
    found
}

/// Confined, or without.
fn could_be_given(root: &Path, address: Address) -> bool {
    [false, true].into_iter().any(|is_unsafe| {
        let given = Given { address, is_unsafe };
        check(root, &[given]).is_ok()
    })
}

/// A device as sysfs shows it.
struct Function {
    address: Address,
    /// Below the bridge that it is behind, links followed.
    directory: PathBuf,
}

impl Function {
    fn find(root: &Path, address: Address) -> Result<Self> {
        let link = root.join("sys/bus/pci/devices").join(address.to_string());
        let Ok(directory) = fs::canonicalize(link) else {
            return Err(Error::new(format!("there is no PCI device {address}"))
                .hint("lspci -D shows them all"));
        };
        let function = Function { address, directory };
        if function.driver().as_deref() == Some(DRIVER) {
            return Err(function.already_given(root));
        }
        Ok(function)
    }

    fn refuse(&self, why: &str) -> Error {
        Error::new(format!(
            "PCI device {} cannot be given to a partition: {why}",
            self.address
        ))
    }

    fn read(&self, file: &str) -> String {
        let text = fs::read_to_string(self.directory.join(file)).unwrap_or_default();
        text.trim().to_owned()
    }

    fn driver(&self) -> Option<String> {
        let link = fs::read_link(self.directory.join("driver")).ok()?;
        Some(link.file_name()?.to_string_lossy().into_owned())
    }

    fn already_given(&self, root: &Path) -> Error {
        let address = self.address.to_string();
        let owner = fs::read_dir(root.join("sys/class/shimos"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .find(|name| given::to(root, name).contains(&address));
        match owner {
            Some(name) => self
                .refuse(&format!("partition '{name}' has it"))
                .hint(format!("try: shimos rm {name}")),
            None => self.refuse("a partition has it"),
        }
    }

    fn kind(&self) -> Result<()> {
        if self.read("class").starts_with("0x06") {
            return Err(self
                .refuse("it is a bridge")
                .hint("give the device behind it; lspci -t shows which that is"));
        }
        if self.directory.join("physfn").exists() {
            return Err(self
                .refuse("it is a virtual function (SR-IOV) and cannot be found without the others")
                .hint("give the physical function"));
        }
        if !matches!(self.read("sriov_numvfs").as_str(), "" | "0") {
            return Err(self
                .refuse("it has virtual functions (SR-IOV) on the host")
                .hint(format!(
                    "try: echo 0 > /sys/bus/pci/devices/{}/sriov_numvfs",
                    self.address
                )));
        }
        Ok(())
    }

    /// The partition sees its whole bus: nothing on it may stay with the host.
    fn place(&self, devices: &[Address]) -> Result<()> {
        let parent = self.directory.parent();
        let port = parent
            .and_then(Path::file_name)
            .and_then(|n| pci_address::parse(&n.to_string_lossy()).ok());
        let (Some(parent), Some(_)) = (parent, port) else {
            return Err(self
                .refuse("it is on the root bus, together with devices that the host needs")
                .hint("only a device behind a PCIe port of its own can be given: another slot"));
        };
        let mut strangers: Vec<Address> = fs::read_dir(parent)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| pci_address::parse(&entry.file_name().to_string_lossy()).ok())
            .filter(|other| !devices.contains(other))
            .collect();
        strangers.sort();
        if strangers.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = strangers.iter().map(Address::to_string).collect();
        let options: Vec<String> = names.iter().map(|n| format!("--pci {n}")).collect();
        Err(self
            .refuse(&format!(
                "the partition would see {} on the same bus",
                names.join(", ")
            ))
            .hint(format!("give all of them: {}", options.join(" "))))
    }

    /// Its own messages are the only interrupts that reach a partition.
    fn interrupts(&self) -> Result<()> {
        let Ok(space) = fs::read(self.directory.join("config")) else {
            return Ok(());
        };
        // Only root sees more than the header.
        if space.len() <= 64
            || capabilities(&space)
                .iter()
                .any(|id| [MSI, MSI_X].contains(id))
        {
            return Ok(());
        }
        Err(self
            .refuse("it has neither MSI nor MSI-X, and its interrupt line belongs to the host")
            .hint("there is no way around that: use another device"))
    }

    fn configuration(&self, root: &Path) -> Result<()> {
        let table = fs::read(root.join("sys/firmware/acpi/tables/MCFG")).unwrap_or_default();
        if in_mcfg(&table, self.address) {
            return Ok(());
        }
        Err(self
            .refuse(
                "the firmware names no memory-mapped configuration space for it (ACPI table MCFG)",
            )
            .hint("look for MMCONFIG, ECAM or PCIe configuration in the firmware's setup"))
    }

    /// An IOMMU can keep it to the partition's memory, and it alone.
    fn confinement(&self, devices: &[Address]) -> Result<()> {
        let address = self.address;
        if self.read("iommu_group/type").is_empty() {
            return Err(self
                .refuse("no IOMMU keeps it from the memory of others")
                .hint(format!(
                    "switch the IOMMU on in the firmware's setup, and, for Intel's, add intel_iommu=on to GRUB_CMDLINE_LINUX in /etc/default/grub; or give it all the same: --pci {address},unsafe"
                )));
        }
        let strangers: Vec<String> = self
            .group()
            .into_iter()
            .filter(|other| !devices.contains(other))
            .map(|other| other.to_string())
            .collect();
        if strangers.is_empty() {
            return Ok(());
        }
        Err(self
            .refuse(&format!(
                "the IOMMU cannot tell it from {}",
                strangers.join(", ")
            ))
            .hint(format!(
                "use a slot whose port separates its devices (ACS), or give it all the same: --pci {address},unsafe"
            )))
    }

    /// All that the IOMMU takes for one device, but for the bridges, which have no memory to go to.
    fn group(&self) -> Vec<Address> {
        let devices = self.directory.join("iommu_group/devices");
        let mut found: Vec<Address> = fs::read_dir(&devices)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| {
                let class = fs::read_to_string(entry.path().join("class")).unwrap_or_default();
                !class.starts_with("0x0604")
            })
            .filter_map(|entry| pci_address::parse(&entry.file_name().to_string_lossy()).ok())
            .collect();
        found.sort();
        found
    }

    /// A partition hands the device physical addresses.
    fn addresses(&self) -> Result<()> {
        match self.read("iommu_group/type").as_str() {
            "" | "identity" => Ok(()),
            kind => Err(self
                .refuse(&format!("an IOMMU translates its addresses (mode {kind}), and a partition uses physical ones"))
                .hint("give it without 'unsafe'; or add iommu=pt to GRUB_CMDLINE_LINUX in /etc/default/grub, then: update-grub && reboot")),
        }
    }
}

/// The ids in the list of capabilities, PCI 3.0 section 6.7.
fn capabilities(space: &[u8]) -> Vec<u8> {
    const STATUS: usize = 0x06;
    const HAS_LIST: u8 = 1 << 4;
    const FIRST: usize = 0x34;
    const MOST: usize = 48;
    let byte = |at: usize| space.get(at).copied().unwrap_or(0);
    let mut ids = Vec::new();
    if byte(STATUS) & HAS_LIST == 0 {
        return ids;
    }
    let mut at = usize::from(byte(FIRST) & !3);
    while at >= 0x40 && ids.len() < MOST {
        ids.push(byte(at));
        at = usize::from(byte(at + 1) & !3);
    }
    ids
}

/// The ACPI table: a header, then entries of 16 bytes.
fn in_mcfg(table: &[u8], address: Address) -> bool {
    const HEADER: usize = 44;
    let entries = table.get(HEADER..).unwrap_or_default();
    entries.chunks_exact(16).any(|entry| {
        matches!(entry, [_, _, _, _, _, _, _, _, low, high, first, last, ..]
            if u16::from_le_bytes([*low, *high]) == address.segment
                && (*first..=*last).contains(&address.bus))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::failures;
    use crate::pci::tree::Tree;
    use crate::units::pci_address::parse;

    fn given(tree: &Tree, devices: &[&str]) -> Result<()> {
        let unsafely = |d: &&str| pci_address::given(&format!("{d},unsafe")).unwrap();
        let devices: Vec<Given> = devices.iter().map(unsafely).collect();
        check(tree.root(), &devices)
    }

    fn confined(tree: &Tree, devices: &[&str]) -> Result<()> {
        let devices: Vec<Given> = devices
            .iter()
            .map(|d| pci_address::given(d).unwrap())
            .collect();
        check(tree.root(), &devices)
    }

    fn fine(tree: &Tree, devices: &[&str]) -> bool {
        given(tree, devices).is_ok()
    }

    #[test]
    fn a_disk_behind_a_port() {
        let tree = Tree::new();
        tree.endpoint("0000:01:00.0", "0x010802");
        assert!(fine(&tree, &["01:00.0"]));
        assert_eq!(candidates(tree.root()), [parse("01:00.0").unwrap()]);
        let text = failures([
            ("twice", given(&tree, &["01:00.0", "01:00.0"])),
            ("not there", given(&tree, &["02:00.0"])),
        ]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn kinds_that_cannot_be_given() {
        let tree = Tree::new();
        tree.endpoint("0000:01:00.0", "0x010802");
        let bridge = given(&tree, &["00:01.0"]);
        tree.write("0000:01:00.0", "sriov_numvfs", "2\n");
        let whole = given(&tree, &["01:00.0"]);
        tree.write("0000:01:00.0", "physfn", "");
        let text = failures([
            ("a bridge", bridge),
            ("with virtual functions", whole),
            ("a virtual function", given(&tree, &["01:00.0"])),
        ]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn neighbours_on_the_bus() {
        let tree = Tree::new();
        tree.endpoint("0000:01:00.0", "0x020000");
        tree.endpoint("0000:01:00.1", "0x020000");
        let alone = given(&tree, &["01:00.0"]);
        assert!(fine(&tree, &["01:00.0", "01:00.1"]));
        assert!(candidates(tree.root()).is_empty());
        tree.on_root_bus("0000:00:1f.2", "0x010601");
        let text = failures([
            ("without its neighbour", alone),
            ("on the root bus", given(&tree, &["00:1f.2"])),
        ]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn who_has_it_already() {
        let tree = Tree::new();
        tree.endpoint("0000:01:00.0", "0x010802");
        tree.driver("0000:01:00.0", "shimos-pci");
        let somebody = given(&tree, &["01:00.0"]);
        tree.file("sys/class/shimos/web/pci", "0000:01:00.0\n");
        let text = failures([
            ("one without a name", somebody),
            ("one with a name", given(&tree, &["01:00.0"])),
        ]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn what_the_hardware_lacks() {
        let tree = Tree::new();
        tree.endpoint("0000:01:00.0", "0x010802");
        let mut space = vec![0; 256];
        tree.bytes("0000:01:00.0", "config", &space[..64]);
        assert!(fine(&tree, &["01:00.0"]), "not root: nothing is known");
        tree.bytes("0000:01:00.0", "config", &space);
        let no_interrupts = given(&tree, &["01:00.0"]);
        // two capabilities, the second one points at itself
        space[6] = 0x10;
        space[0x34] = 0x40;
        (space[0x40], space[0x41]) = (0x01, 0x50);
        (space[0x50], space[0x51]) = (0x11, 0x50);
        tree.bytes("0000:01:00.0", "config", &space);
        assert!(fine(&tree, &["01:00.0"]));
        tree.write("0000:01:00.0", "iommu_group/type", "identity\n");
        assert!(fine(&tree, &["01:00.0"]));
        tree.write("0000:01:00.0", "iommu_group/type", "DMA-FQ\n");
        let translated = given(&tree, &["01:00.0"]);
        tree.file("sys/firmware/acpi/tables/MCFG", "nothing");
        let text = failures([
            ("no MSI", no_interrupts),
            ("behind an IOMMU", translated),
            ("no table", given(&tree, &["01:00.0"])),
        ]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn kept_by_an_iommu() {
        let tree = Tree::new();
        tree.endpoint("0000:01:00.0", "0x020000");
        tree.endpoint("0000:01:00.1", "0x020000");
        let both = ["01:00.0", "01:00.1"];
        let none = confined(&tree, &both);
        for address in both {
            tree.write(&format!("0000:{address}"), "iommu_group/type", "DMA-FQ\n");
            for member in both
                .map(|a| format!("0000:{a}"))
                .iter()
                .chain([&"0000:00:01.0".to_string()])
            {
                let class = if member.contains("00:01") {
                    "0x060400"
                } else {
                    "0x020000"
                };
                tree.write(
                    &format!("0000:{address}"),
                    &format!("iommu_group/devices/{member}/class"),
                    class,
                );
            }
        }
        assert_eq!(confined(&tree, &both), Ok(()));
        tree.write(
            "0000:01:00.0",
            "iommu_group/devices/0000:02:00.0/class",
            "0x010802",
        );
        let text = failures([
            ("there is none", none),
            ("with a stranger", confined(&tree, &both)),
        ]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn tables_of_any_length() {
        let mut table = vec![0; 60];
        table[54] = 0x10;
        table[55] = 0x1f;
        let there = |bus: &str| in_mcfg(&table, parse(bus).unwrap());
        assert!(there("10:00.0") && there("1f:00.0"));
        assert!(!there("0f:00.0") && !there("0001:10:00.0"));
        assert!(!in_mcfg(&table[..59], parse("10:00.0").unwrap()));
        assert!(!in_mcfg(&[], parse("10:00.0").unwrap()));
        assert!(capabilities(&[0xff; 256]).len() <= 48);
        assert!(capabilities(&[]).is_empty());
    }
}
