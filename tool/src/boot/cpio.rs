//! A cpio archive in the "newc" format, which the kernel unpacks as initramfs:
//! Documentation/driver-api/early-userspace/buffer-format.rst.

use std::fmt::Write;

const S_IFDIR: u32 = 0o040_000;
const S_IFREG: u32 = 0o100_000;
const S_IFCHR: u32 = 0o020_000;
const S_IFLNK: u32 = 0o120_000;

/// An archive in the making.
#[derive(Default)]
pub struct Archive {
    data: Vec<u8>,
    inode: u32,
}

impl Archive {
    /// Add a directory, which all may read.
    pub fn directory(&mut self, path: &str) {
        self.entry(path, S_IFDIR | 0o755, 2, &[], (0, 0));
    }

    /// Add a file with contents of up to 4 GiB, the format's limit; ours are a few hundred
    /// KiB.
    pub fn file(&mut self, path: &str, mode: u32, contents: &[u8]) {
        self.entry(path, S_IFREG | mode, 1, contents, (0, 0));
    }

    /// Add a symbolic link.
    pub fn symlink(&mut self, path: &str, to: &str) {
        self.entry(path, S_IFLNK | 0o777, 1, to.as_bytes(), (0, 0));
    }

    /// Add a device's node.
    pub fn character_device(&mut self, path: &str, mode: u32, major: u32, minor: u32) {
        self.entry(path, S_IFCHR | mode, 1, &[], (major, minor));
    }

    /// Return the archive, padded so that another one can follow.
    pub fn finish(mut self) -> Vec<u8> {
        self.inode = 0;
        self.entry("TRAILER!!!", 0, 1, &[], (0, 0));
        self.data.resize(self.data.len().next_multiple_of(512), 0);
        self.data
    }

    fn entry(&mut self, path: &str, mode: u32, links: u32, contents: &[u8], rdev: (u32, u32)) {
        // Paths in the archive are relative to the root.
        let path = path.trim_start_matches('/');
        if mode != 0 {
            self.inode += 1;
        }
        let size = u32::try_from(contents.len()).unwrap_or(0);
        let fields = [
            self.inode,
            mode,
            0, // uid
            0, // gid
            links,
            0, // mtime: the same input gives the same archive
            size,
            0, // device of the archive
            0,
            rdev.0,
            rdev.1,
            path.len() as u32 + 1,
            0, // checksum, unused in newc
        ];
        let mut header = String::from("070701");
        for field in fields {
            let _ = write!(header, "{field:08x}");
        }
        self.data.extend_from_slice(header.as_bytes());
        self.data.extend_from_slice(path.as_bytes());
        self.data.push(0);
        self.pad();
        self.data.extend_from_slice(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.data.resize(self.data.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    #[test]
    fn layout() {
        let mut archive = Archive::default();
        archive.file("/a", 0o644, b"hello");
        let data = archive.finish();
        assert_eq!(data.len() % 512, 0);
        assert!(data.starts_with(b"07070100000001000081a4"));
        assert_eq!(&data[110..112], b"a\0");
        assert_eq!(&data[112..120], b"hello\0\0\0");
        assert!(data[120..].starts_with(b"070701"));
        assert_eq!(&data[120 + 110..120 + 121], b"TRAILER!!!\0");
    }

    #[test]
    fn cpio_reads_it() {
        let mut archive = Archive::default();
        archive.directory("/shimos");
        archive.file("/shimos/init", 0o755, &[7; 1001]);
        archive.character_device("/dev/console", 0o600, 5, 1);
        archive.symlink("/init", "/shimos/init");
        let data = archive.finish();
        let cpio = Command::new("cpio")
            .args(["-itv", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut cpio) = cpio else { return };
        cpio.stdin.take().unwrap().write_all(&data).unwrap();
        let output = cpio.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success());
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.contains("init -> /shimos/init"), "{text}");
        assert!(text.contains("drwxr-xr-x"), "{text}");
        assert!(text.contains("1001"), "{text}");
        assert!(text.contains("5,   1"), "{text}");
    }
}
