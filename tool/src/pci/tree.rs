//! A made-up /sys and /proc for unit tests.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

pub struct Tree {
    root: tempfile::TempDir,
}

impl Tree {
    /// A machine with configuration space for segment 0 and nothing else.
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let tree = Tree { root };
        let mut mcfg = vec![0; 60];
        mcfg[55] = 0xff;
        let path = tree.made("sys/firmware/acpi/tables/MCFG");
        fs::write(path, mcfg).unwrap();
        tree
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The path of a file, with the directories that it is in.
    fn made(&self, path: &str) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    pub fn file(&self, path: &str, text: &str) {
        fs::write(self.made(path), text).unwrap();
    }

    pub fn link(&self, path: &str, target: &str) {
        symlink(self.root().join(target), self.made(path)).unwrap();
    }

    fn device(&self, address: &str, class: &str, below: &str) {
        let path = format!("sys/devices/pci0000:00/{below}{address}");
        self.file(&format!("{path}/class"), &format!("{class}\n"));
        let link = format!("sys/bus/pci/devices/{address}");
        if !self.root().join(&link).exists() {
            self.link(&link, &path);
        }
    }

    /// A function behind the port 00:01.0.
    pub fn endpoint(&self, address: &str, class: &str) {
        self.device("0000:00:01.0", "0x060400", "");
        self.device(address, class, "0000:00:01.0/");
    }

    pub fn on_root_bus(&self, address: &str, class: &str) {
        self.device(address, class, "");
    }

    pub fn directory(&self, address: &str) -> PathBuf {
        fs::canonicalize(self.root().join("sys/bus/pci/devices").join(address)).unwrap()
    }

    pub fn write(&self, address: &str, file: &str, text: &str) {
        self.bytes(address, file, text.as_bytes());
    }

    pub fn bytes(&self, address: &str, file: &str, bytes: &[u8]) {
        let path = self.directory(address).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn driver(&self, address: &str, name: &str) {
        let target = format!("../../drivers/{name}");
        symlink(target, self.directory(address).join("driver")).unwrap();
    }

    /// A disk or partition at a path below the device.
    pub fn block(&self, address: &str, path: &str, number: &str) {
        self.write(address, &format!("{path}/dev"), &format!("{number}\n"));
        let name = path.rsplit('/').next().unwrap();
        let target = self.directory(address).join(path);
        self.link(&format!("sys/class/block/{name}"), target.to_str().unwrap());
    }
}
