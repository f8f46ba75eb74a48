//! Does the host use a device? What it runs from is never given away.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;

use crate::error::{Error, Result};
use crate::system::{Number, System, mounts};
use crate::ui::output::printable;
use crate::units::pci_address::Address;

/// Check that nothing uses a device. `directory` is the device's in sysfs.
pub fn check(root: &Path, device: Address, directory: &Path) -> Result<()> {
    let refuse = |why: String| {
        Error::new(format!(
            "PCI device {device} cannot be given to a partition: {why}"
        ))
    };
    check_disks(root, directory, &refuse)?;
    check_interfaces(root, directory, &refuse)
}

type Refuse<'a> = &'a dyn Fn(String) -> Error;

fn check_disks(root: &Path, directory: &Path, refuse: Refuse<'_>) -> Result<()> {
    let disks = with_holders(root, disks_of(root, directory));
    let mounts = mounts_of(root, &disks);
    if mounts.iter().any(|(_, place)| place == "/") {
        return Err(refuse("the host's root file system is on it".into())
            .hint("there is no way to do that"));
    }
    if let Some((disk, place)) = mounts.first() {
        let place = printable(place);
        return Err(refuse(format!("{disk} is mounted on {place}"))
            .hint(format!("try: umount {}", shell_word(&place))));
    }
    let system = System::at(root);
    if let Some(disk) = disks.iter().find(|disk| mounts::is_swap(&system, disk)) {
        return Err(
            refuse(format!("the host swaps to {disk}")).hint(format!("try: swapoff /dev/{disk}"))
        );
    }
    for disk in &disks {
        if let Some(holder) = names(&class(root, disk).join("holders")).first() {
            return Err(refuse(format!("{disk} is part of {holder}"))
                .hint("take that apart first: RAID, volume group or encryption"));
        }
    }
    // Mounted in another namespace, or used by what sysfs does not tell.
    match disks.iter().find(|disk| is_claimed(root, disk)) {
        Some(disk) => Err(refuse(format!("somebody uses {disk}"))
            .hint(format!("try: lsblk /dev/{disk}; fuser -v /dev/{disk}"))),
        None => Ok(()),
    }
}

fn class(root: &Path, disk: &str) -> PathBuf {
    root.join("sys/class/block").join(disk)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The names in a directory, in order; none if there is no such directory.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Disks and their partitions that are on the device.
fn disks_of(root: &Path, directory: &Path) -> BTreeSet<String> {
    let controllers = names(&directory.join("nvme"));
    let is_on = |path: &Path| {
        // An NVMe disk with several ways to it is below its subsystem instead.
        path.starts_with(directory)
            || path
                .ancestors()
                .any(|a| controllers.iter().any(|c| a.join(c).is_symlink()))
    };
    names(&root.join("sys/class/block"))
        .into_iter()
        .filter(|disk| fs::canonicalize(class(root, disk)).is_ok_and(|path| is_on(&path)))
        .collect()
}

/// The same, and what is made of them: RAID, volumes, encryption.
fn with_holders(root: &Path, disks: BTreeSet<String>) -> BTreeSet<String> {
    let mut all = disks.clone();
    let mut next: Vec<String> = disks.into_iter().collect();
    while let Some(disk) = next.pop() {
        for holder in names(&class(root, &disk).join("holders")) {
            if all.insert(holder.clone()) {
                next.push(holder);
            }
        }
    }
    all
}

/// Which of the disks are mounted where.
fn mounts_of(root: &Path, disks: &BTreeSet<String>) -> Vec<(String, String)> {
    let all = mounts::mounts(&System::at(root));
    let mut found = Vec::new();
    for disk in disks {
        let number = Number::parse(&read(&class(root, disk).join("dev")));
        let its = all.iter().filter(|mount| mount.is_on(number, disk));
        found.extend(its.map(|mount| (disk.clone(), mount.place.clone())));
    }
    found
}

/// A path that a shell takes for one word, so that a hint can be copied.
fn shell_word(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%,".contains(c);
    match path.chars().all(is_plain) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

/// The kernel lets nobody open exclusively what a file system or the like has.
fn is_claimed(root: &Path, disk: &str) -> bool {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_EXCL | OFlag::O_NONBLOCK).bits())
        .open(root.join("dev").join(disk));
    opened.is_err_and(|e| e.raw_os_error() == Some(Errno::EBUSY as i32))
}

fn check_interfaces(root: &Path, directory: &Path, refuse: Refuse<'_>) -> Result<()> {
    const UP: u32 = 1;
    let net = root.join("sys/class/net");
    for name in names(&net) {
        let Ok(path) = fs::canonicalize(net.join(&name)) else {
            continue;
        };
        if !path.starts_with(directory) {
            continue;
        }
        if has_default_route(root, &name) {
            return Err(refuse(format!("the host's default route goes over {name}"))
                .hint("give the host another way out first: ip route"));
        }
        if let Ok(master) = fs::read_link(path.join("master")) {
            let master = master.file_name().unwrap_or_default().to_string_lossy();
            return Err(refuse(format!("{name} is part of {master}"))
                .hint(format!("try: ip link set {name} nomaster")));
        }
        let flags = read(&path.join("flags"));
        let flags = u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16);
        if flags.is_ok_and(|flags| flags & UP != 0) {
            return Err(refuse(format!("the network interface {name} is up"))
                .hint(format!("try: ip link set {name} down")));
        }
    }
    Ok(())
}

fn has_default_route(root: &Path, interface: &str) -> bool {
    let v4 = read(&root.join("proc/net/route"));
    let v6 = read(&root.join("proc/net/ipv6_route"));
    let is_v4 = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words[..], [name, "00000000", _, _, _, _, _, "00000000", ..] if name == interface)
    };
    let is_v6 = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() == 10
            && words.first().is_some_and(|w| w.bytes().all(|b| b == b'0'))
            && words.get(1) == Some(&"00")
            && words.get(9) == Some(&interface)
    };
    v4.lines().any(is_v4) || v6.lines().any(is_v6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::failures;
    use crate::pci::tree::Tree;
    use crate::units::pci_address::parse;

    const DISK: &str = "0000:01:00.0";

    fn look(tree: &Tree) -> Result<()> {
        check(tree.root(), parse(DISK).unwrap(), &tree.directory(DISK))
    }

    fn tree_with_disk() -> Tree {
        let tree = Tree::new();
        tree.endpoint(DISK, "0x010802");
        tree.block(DISK, "nvme/nvme0/nvme0n1", "259:0");
        tree.block(DISK, "nvme/nvme0/nvme0n1/nvme0n1p1", "259:1");
        tree
    }

    fn mount(tree: &Tree, number: &str, place: &str, source: &str) {
        let line = format!("29 1 {number} / {place} rw shared:1 - ext4 {source} rw\n");
        tree.file("proc/self/mountinfo", &line);
    }

    #[test]
    fn disks() {
        let tree = tree_with_disk();
        assert_eq!(look(&tree), Ok(()));
        mount(&tree, "8:1", "/", "/dev/sda1");
        assert_eq!(look(&tree), Ok(()));
        let mounted = |number, place, source| {
            mount(&tree, number, place, source);
            look(&tree)
        };
        let mut cases = vec![
            ("mounted", mounted("259:1", "/srv", "/dev/root")),
            (
                "a place with blanks and the like",
                mounted("259:1", "/my\\040\\134disk's", "/dev/root"),
            ),
            (
                "a file system without a number",
                mounted("0:40", "/srv", "/dev/nvme0n1"),
            ),
            ("the root", mounted("259:1", "/", "/dev/root")),
        ];
        mount(&tree, "8:1", "/", "/dev/sda1");
        tree.file("proc/swaps", "Filename Type\n/dev/nvme0n1p1 partition 9\n");
        cases.push(("swap", look(&tree)));
        insta::assert_snapshot!(failures(cases));
    }

    #[test]
    fn what_is_made_of_disks() {
        let tree = tree_with_disk();
        tree.file("sys/devices/virtual/block/dm-0/dev", "253:0\n");
        tree.link("sys/class/block/dm-0", "sys/devices/virtual/block/dm-0");
        tree.file("sys/class/block/nvme0n1p1/holders/dm-0", "");
        let mut cases = vec![("a volume", look(&tree))];
        mount(&tree, "253:0", "/home", "/dev/mapper/vg-home");
        cases.push(("a mounted volume", look(&tree)));
        mount(&tree, "253:0", "/", "/dev/mapper/vg-root");
        cases.push(("the root's volume", look(&tree)));
        insta::assert_snapshot!(failures(cases));
    }

    #[test]
    fn a_disk_with_several_ways() {
        let tree = Tree::new();
        tree.endpoint(DISK, "0x010802");
        tree.write(DISK, "nvme/nvme0/state", "live\n");
        let subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0";
        tree.file(&format!("{subsystem}/nvme0n1/dev"), "259:0\n");
        tree.link("sys/class/block/nvme0n1", &format!("{subsystem}/nvme0n1"));
        mount(&tree, "259:0", "/srv", "/dev/nvme0n1");
        assert_eq!(look(&tree), Ok(()));
        let controller = tree.directory(DISK).join("nvme/nvme0");
        std::os::unix::fs::symlink(controller, tree.root().join(subsystem).join("nvme0")).unwrap();
        insta::assert_snapshot!(failures([("mounted", look(&tree))]));
    }

    #[test]
    fn interfaces() {
        let tree = Tree::new();
        tree.endpoint(DISK, "0x020000");
        tree.write(DISK, "net/eth1/flags", "0x1002\n");
        let path = tree.directory(DISK).join("net/eth1");
        tree.link("sys/class/net/eth1", path.to_str().unwrap());
        assert_eq!(look(&tree), Ok(()));
        tree.write(DISK, "net/eth1/flags", "0x1003\n");
        let mut cases = vec![("up", look(&tree))];
        std::os::unix::fs::symlink("../br0", path.join("master")).unwrap();
        cases.push(("in a bridge", look(&tree)));
        tree.file(
            "proc/net/ipv6_route",
            &format!("{0} 00 {0} 00 {0} 00000400 1 0 1 eth1\n", "0".repeat(32)),
        );
        cases.push(("the way out, by IPv6", look(&tree)));
        tree.file("proc/net/ipv6_route", "");
        tree.file(
            "proc/net/route",
            "Iface\tDestination\neth1\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n",
        );
        cases.push(("the way out", look(&tree)));
        insta::assert_snapshot!(failures(cases));
    }
}
