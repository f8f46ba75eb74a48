//! Who uses a block device of this kernel, for the words after "it is in use".

use super::Status;
use crate::system::{Number, System, mounts};
use crate::ui::output::printable;

/// Tell who uses it: "/dev/vdb1 is mounted on /home; …", or `None` if nobody is found.
pub fn of(system: &System, number: Number, shared: &[Status]) -> Option<String> {
    let block = system.block(number)?;
    let whole = block.whole();
    // A claim on a disk is one on its partitions, and the other way round.
    let mut family = vec![block.clone()];
    if whole.number == block.number {
        family.extend(block.partitions());
    } else {
        family.push(whole);
    }
    let mounts = mounts::mounts(system);
    let mut uses = Vec::new();
    for member in &family {
        let name = member.name();
        // One place is enough to tell.
        if let Some(mount) = mounts.iter().find(|m| m.is_on(Some(member.number), &name)) {
            let place = printable(&mount.place);
            uses.push(format!("/dev/{name} is mounted on {place}"));
        }
        if mounts::is_swap(system, &name) {
            uses.push(format!("/dev/{name} is swap space"));
        }
        for holder in member.holders() {
            uses.push(format!("{holder} is made of /dev/{name}"));
        }
        for device in shared.iter().filter(|s| is_it(s, member.number)) {
            uses.push(format!(
                "'{}' has /dev/{name} (id {})",
                device.user_name, device.id
            ));
        }
    }
    if uses.is_empty() {
        return None;
    }
    Some(uses.join("; "))
}

/// Tell whether this device is the disk of that number.
pub fn is_it(status: &Status, number: Number) -> bool {
    status.kind == super::Kind::Disk
        && u64::from(status.major) == number.major
        && u64::from(status.minor) == number.minor
}

#[cfg(test)]
mod tests {
    use super::super::fake;
    use super::*;
    use crate::system;

    const MOUNTS: &str = "\
22 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw
29 1 254:17 / /my\\040home rw,relatime shared:1 - ext4 /dev/vdb1 rw
30 1 0:44 / /data rw shared:1 - btrfs /dev/vdb2 rw
";

    fn number(minor: u64) -> Number {
        Number { major: 254, minor }
    }

    #[test]
    fn mounts_swap_and_holders() {
        let (_work, system) = system::example(&[
            ("proc/self/mountinfo", MOUNTS),
            (
                "proc/swaps",
                "Filename Type Size\n/dev/vdb2 partition 9 0 -2\n",
            ),
            ("sys/devices/pci/block/vdb/vdb2/holders/dm-0/x", ""),
        ]);
        let vdb2 =
            "/dev/vdb2 is mounted on /data; /dev/vdb2 is swap space; dm-0 is made of /dev/vdb2";
        assert_eq!(of(&system, number(18), &[]).unwrap(), vdb2);
        assert_eq!(
            of(&system, number(16), &[]).unwrap(),
            format!("/dev/vdb1 is mounted on /my home; {vdb2}")
        );
    }

    #[test]
    fn another_kernel_has_it() {
        let (_work, system) = system::example(&[]);
        assert_eq!(of(&system, number(16), &[]), None);
        let shared = [fake::disk(3, "db", "/dev/vdb")];
        assert_eq!(
            of(&system, number(17), &shared).unwrap(),
            "'db' has /dev/vdb (id 3)"
        );
        assert_eq!(of(&system, number(99), &shared), None);
    }
}
