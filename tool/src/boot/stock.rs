//! The modules that came with a kernel: /lib/modules/VERSION and depmod's lists.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A kernel's own modules.
pub struct Stock {
    directory: PathBuf,
    /// By name: the file, and those of all it depends on, the last to load first.
    modules: HashMap<String, (String, Vec<String>)>,
    builtin: HashSet<String>,
}

impl Stock {
    /// Read the lists. `None`: there are none for this version, or depmod has not seen
    /// them.
    pub fn of(version: &str) -> Option<Self> {
        Self::at(&Self::directory(version))
    }

    /// Return where a kernel's modules are.
    pub fn directory(version: &str) -> PathBuf {
        Path::new("/lib/modules").join(version)
    }

    fn at(directory: &Path) -> Option<Self> {
        let text = fs::read_to_string(directory.join("modules.dep")).ok()?;
        let mut modules = HashMap::new();
        for line in text.lines() {
            let Some((path, needs)) = line.split_once(':') else {
                continue;
            };
            let needs = needs.split_whitespace().map(String::from).collect();
            modules.insert(name_of(path), (path.to_string(), needs));
        }
        let builtin = fs::read_to_string(directory.join("modules.builtin")).unwrap_or_default();
        Some(Stock {
            directory: directory.into(),
            modules,
            builtin: builtin.lines().map(name_of).collect(),
        })
    }

    /// Return the files to load for `module`, in this order; none if it is built in.
    /// `None`: the kernel does not have it.
    pub fn files(&self, module: &str) -> Option<Vec<PathBuf>> {
        if let Some((path, needs)) = self.modules.get(module) {
            let in_order = needs.iter().rev().chain([path]);
            return Some(in_order.map(|p| self.directory.join(p)).collect());
        }
        self.builtin.contains(module).then(Vec::new)
    }
}

/// Return the module's name: "kernel/drivers/net/net-failover.ko.xz" is "net_failover".
pub fn name_of(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let name = file.split_once(".ko").map_or(file, |(name, _)| name);
    name.replace('-', "_")
}

/// Make modules as a distribution has them, with `files` in them.
#[cfg(test)]
pub fn example(dep: &str, builtin: &str, files: &[(&str, &[u8])]) -> (tempfile::TempDir, Stock) {
    let work = tempfile::tempdir().unwrap();
    fs::write(work.path().join("modules.dep"), dep).unwrap();
    fs::write(work.path().join("modules.builtin"), builtin).unwrap();
    for (path, data) in files {
        let path = work.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, data).unwrap();
    }
    let stock = Stock::at(work.path()).unwrap();
    (work, stock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_come_first() {
        let (work, stock) = example(
            "kernel/drivers/virtio/virtio.ko.xz:\n\
             kernel/drivers/net/virtio-net.ko.xz: kernel/a/b.ko.xz kernel/drivers/virtio/virtio.ko.xz\n",
            "kernel/drivers/block/virtio_blk.ko\n",
            &[],
        );
        let files = stock.files("virtio_net").unwrap();
        let shown: Vec<_> = files
            .iter()
            .map(|p| p.strip_prefix(work.path()).unwrap().to_str().unwrap())
            .collect();
        assert_eq!(
            shown,
            [
                "kernel/drivers/virtio/virtio.ko.xz",
                "kernel/a/b.ko.xz",
                "kernel/drivers/net/virtio-net.ko.xz",
            ]
        );
        assert_eq!(stock.files("virtio_blk"), Some(Vec::new()), "built in");
        assert_eq!(stock.files("failover"), None);
        assert!(Stock::at(Path::new("/nonexistent")).is_none());
    }

    #[test]
    fn names() {
        assert_eq!(name_of("kernel/x/net-failover.ko.zst"), "net_failover");
        assert_eq!(name_of("dim.ko"), "dim");
    }
}
