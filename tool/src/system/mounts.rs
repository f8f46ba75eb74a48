//! What is mounted, and what is swapped to, in the words of /proc.

use std::fs;

use super::{Number, System};

/// A file system that has a place in the tree of files.
#[derive(Debug, PartialEq, Eq)]
pub struct Mount {
    /// The number of its device; a file system on several has one of its own.
    pub number: Number,
    pub place: String,
    /// What was given to mount(8), mostly one of its devices.
    pub source: String,
}

impl Mount {
    /// Tell whether it is on the block device `name`, whose number may be unknown.
    pub fn is_on(&self, number: Option<Number>, name: &str) -> bool {
        number == Some(self.number) || is_node(&self.source, name)
    }

    /// Read a line of mountinfo.
    fn parse(line: &str) -> Option<Self> {
        // In between are fields of which there can be any number.
        let (mount, file_system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(2);
        Some(Mount {
            number: Number::parse(fields.next()?)?,
            place: unescaped(fields.nth(1)?),
            source: unescaped(file_system.split(' ').nth(1)?),
        })
    }
}

/// List all that this process sees.
pub fn mounts(system: &System) -> Vec<Mount> {
    let table = table(system, "proc/self/mountinfo");
    table.lines().filter_map(Mount::parse).collect()
}

/// Tell whether the block device `name` is swapped to.
pub fn is_swap(system: &System, name: &str) -> bool {
    let table = table(system, "proc/swaps");
    let mut paths = table
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    paths.any(|path| is_node(&unescaped(path), name))
}

/// Read a table whose names need not be UTF-8: a strange one must not hide the others.
fn table(system: &System, path: &str) -> String {
    let bytes = fs::read(system.path(path)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn is_node(path: &str, name: &str) -> bool {
    path.strip_prefix("/dev/") == Some(name)
}

/// Undo how the kernel writes what would end a field or a line: a space is `\040`.
fn unescaped(field: &str) -> String {
    let mut pieces = field.split('\\');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece.get(..3).and_then(|c| u8::from_str_radix(c, 8).ok());
        match (code, piece.get(3..)) {
            // Above ASCII nothing is escaped.
            (Some(code), Some(rest)) if code.is_ascii() => {
                text.push(code.into());
                text.push_str(rest);
            }
            _ => {
                text.push('\\');
                text.push_str(piece);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system;

    #[test]
    fn a_table_of_mounts() {
        let (_work, system) = system::example(&[(
            "proc/self/mountinfo",
            "22 28 0:21 / /proc rw,nosuid - proc proc rw\n\
             nonsense\n\
             29 1 254:17 /a /my\\040home rw shared:1 master:2 - ext4 /dev/disk\\0431 rw\n",
        )]);
        let mount = |number: &str, place: &str, source: &str| Mount {
            number: Number::parse(number).unwrap(),
            place: place.into(),
            source: source.into(),
        };
        assert_eq!(
            mounts(&system),
            [
                mount("0:21", "/proc", "proc"),
                mount("254:17", "/my home", "/dev/disk#1")
            ]
        );
        assert_eq!(mounts(&System::at("/nowhere")), []);
    }

    #[test]
    fn a_name_that_is_not_utf_8_hides_no_other() {
        let (work, system) = system::example(&[("proc/self/mountinfo", "")]);
        let table =
            b"29 1 8:1 / /a\xff rw - ext4 /dev/sda1 rw\n30 1 8:2 / /b rw - ext4 /dev/sda2 rw\n";
        fs::write(work.path().join("proc/self/mountinfo"), table).unwrap();
        let places: Vec<String> = mounts(&system).into_iter().map(|m| m.place).collect();
        assert_eq!(places, ["/a\u{fffd}", "/b"]);
    }

    #[test]
    fn on_a_device_by_its_number_or_its_name() {
        let line = "30 1 0:44 / /data rw - btrfs /dev/vdb2 rw";
        let mount = Mount::parse(line).unwrap();
        for (number, name, is_on) in [
            (Number::parse("0:44"), "vdb1", true),
            (Number::parse("254:18"), "vdb2", true),
            (None, "vdb2", true),
            (Number::parse("254:17"), "vdb", false),
            (None, "dev/vdb2", false),
        ] {
            assert_eq!(mount.is_on(number, name), is_on, "{number:?} {name}");
        }
    }

    #[test]
    fn swap_space() {
        let (_work, system) = system::example(&[(
            "proc/swaps",
            "Filename\t\t\t\tType\t\tSize\n\
             /dev/vdb2                               partition\t9\t0\t-2\n\
             /dev/my\\040disk partition 9 0 -3\n",
        )]);
        for (name, is) in [
            ("vdb2", true),
            ("my disk", true),
            ("vdb", false),
            ("Filename", false),
        ] {
            assert_eq!(is_swap(&system, name), is, "{name}");
        }
    }

    #[test]
    fn escapes() {
        for (field, text) in [
            ("/home", "/home"),
            ("\\040a\\011b\\012", " a\tb\n"),
            ("\\134040", "\\040"),
            ("\\04", "\\04"),
            ("\\999", "\\999"),
            ("\\", "\\"),
            ("ü\\040ü", "ü ü"),
            ("\\04ü", "\\04ü"),
        ] {
            assert_eq!(unescaped(field), text, "{field}");
        }
    }
}
