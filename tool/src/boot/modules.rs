//! Which modules a partition loads before anything else runs in it, in this order.

use std::path::Path;

use crate::boot::module_file;
use crate::boot::stock::{self, Stock};
use crate::error::{Error, Result};

/// Our transport, for the drivers below.
const TRANSPORT: &str = "shimos_virtio";
/// What the transport needs of the kernel's own.
const CORE: [&str; 2] = ["virtio", "virtio_ring"];
const DISK: &str = "virtio_blk";
const NET: &str = "virtio_net";

/// What the partition will be given at once; the rest is nice to have, for
/// `shimos attach`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub disk: bool,
    pub net: bool,
}

impl Needs {
    fn any(self) -> bool {
        self.disk || self.net
    }
}

/// A module, decompressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    pub name: String,
    pub data: Vec<u8>,
}

/// All that a partition loads, in this order.
#[derive(Debug, Default)]
pub struct Modules {
    pub list: Vec<Module>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// Read them for the kernel `version`.
pub fn read(version: &str, needs: Needs) -> Result<Modules> {
    let stock = Stock::of(version);
    collect(version, needs, stock.as_ref(), &|name| {
        module_file::read(version, name)
    })
}

/// Tell what a kernel lacks for shared devices; `None`: nothing.
pub fn missing(version: &str) -> Option<String> {
    let Some(stock) = Stock::of(version) else {
        return Some(no_list(version));
    };
    if module_file::find(version, TRANSPORT).is_none() {
        return Some(format!("there is no module {TRANSPORT}"));
    }
    let all = CORE.into_iter().chain([DISK, NET]);
    let lacks: Vec<&str> = all.filter(|name| stock.files(name).is_none()).collect();
    match lacks.as_slice() {
        [] => None,
        lacks => Some(format!("it has no {}", lacks.join(" and no "))),
    }
}

/// Read modules of the kernel's own, each after all that it depends on, and once.
pub fn stock(version: &str, names: &[&str]) -> Result<Vec<Module>> {
    let stock = Stock::of(version);
    let kernel = Kernel {
        version,
        stock: stock.as_ref(),
    };
    let mut modules = Modules::default();
    for name in names {
        modules.extend(kernel.read(name)?);
    }
    Ok(modules.list)
}

fn no_list(version: &str) -> String {
    let directory = Stock::directory(version);
    format!("there is no {}/modules.dep", directory.display())
}

fn collect(
    version: &str,
    needs: Needs,
    stock: Option<&Stock>,
    ours: &dyn Fn(&str) -> Result<Vec<u8>>,
) -> Result<Modules> {
    let mut modules = Modules::default();
    for name in ["shimos_ikc", "shimos_agent"] {
        modules.add(name, ours(name)?);
    }
    let kernel = Kernel { version, stock };
    match transport(&kernel, ours) {
        Ok(list) => modules.extend(list),
        Err(error) if needs.any() => {
            return Err(error.context("shared devices cannot be used"));
        }
        Err(error) => {
            modules
                .notes
                .push(format!("without shared devices: {error}"));
            return Ok(modules);
        }
    }
    for (name, needed) in [(DISK, needs.disk), (NET, needs.net)] {
        match kernel.read(name) {
            Ok(list) => modules.extend(list),
            Err(error) if needed => return Err(error),
            Err(error) => modules.notes.push(format!("without {name}: {error}")),
        }
    }
    Ok(modules)
}

fn transport(kernel: &Kernel<'_>, ours: &dyn Fn(&str) -> Result<Vec<u8>>) -> Result<Vec<Module>> {
    let mut list = Vec::new();
    for name in CORE {
        list.extend(kernel.read(name)?);
    }
    list.push(Module {
        name: TRANSPORT.into(),
        data: ours(TRANSPORT)?,
    });
    Ok(list)
}

impl Modules {
    fn add(&mut self, name: &str, data: Vec<u8>) {
        self.extend(vec![Module {
            name: name.into(),
            data,
        }]);
    }

    /// Each once: several need the same.
    fn extend(&mut self, more: Vec<Module>) {
        for module in more {
            if !self.list.iter().any(|m| m.name == module.name) {
                self.list.push(module);
            }
        }
    }
}

struct Kernel<'a> {
    version: &'a str,
    stock: Option<&'a Stock>,
}

impl Kernel<'_> {
    /// A module of the kernel's own after all that it depends on.
    fn read(&self, name: &str) -> Result<Vec<Module>> {
        let version = self.version;
        let Some(stock) = self.stock else {
            return Err(Error::new(no_list(version)).hint(format!(
                "install the kernel's modules (apt install linux-image-{version}); if they are there: depmod {version}"
            )));
        };
        let Some(files) = stock.files(name) else {
            return Err(
                Error::new(format!("kernel {version} has no module {name}")).hint(format!(
                    "install the package with all its modules (apt install linux-image-{version}), or use a kernel that has it"
                )),
            );
        };
        files.iter().map(|path| self.module(path)).collect()
    }

    fn module(&self, path: &Path) -> Result<Module> {
        Ok(Module {
            name: stock::name_of(&path.to_string_lossy()),
            data: module_file::read_file(path, self.version)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: &str = "6.1.0-1";
    const DEP: &str = "\
kernel/virtio.ko:
kernel/virtio_ring.ko:
kernel/virtio_blk.ko: kernel/virtio_ring.ko kernel/virtio.ko
kernel/virtio_net.ko: kernel/net_failover.ko kernel/failover.ko kernel/virtio_ring.ko kernel/virtio.ko
kernel/net_failover.ko: kernel/failover.ko
kernel/failover.ko:
";

    fn stock(dep: &str, builtin: &str) -> (tempfile::TempDir, Stock) {
        let data = format!("\x7fELF\0vermagic={VERSION} SMP\0");
        let paths: Vec<&str> = dep.lines().filter_map(|l| l.split(':').next()).collect();
        let files: Vec<(&str, &[u8])> = paths.iter().map(|p| (*p, data.as_bytes())).collect();
        stock::example(dep, builtin, &files)
    }

    fn names(modules: &Modules) -> Vec<&str> {
        modules.list.iter().map(|m| m.name.as_str()).collect()
    }

    fn there(_: &str) -> Result<Vec<u8>> {
        Ok(b"ours".to_vec())
    }

    fn not_built(name: &str) -> Result<Vec<u8>> {
        match name {
            TRANSPORT => Err(Error::new("there is no module shimos_virtio").hint("build it")),
            _ => there(name),
        }
    }

    const BOTH: Needs = Needs {
        disk: true,
        net: true,
    };

    #[test]
    fn all_in_order_and_once() {
        let (_work, stock) = stock(DEP, "");
        let modules = collect(VERSION, BOTH, Some(&stock), &there).unwrap();
        assert_eq!(
            names(&modules),
            [
                "shimos_ikc",
                "shimos_agent",
                "virtio",
                "virtio_ring",
                "shimos_virtio",
                "virtio_blk",
                "failover",
                "net_failover",
                "virtio_net",
            ]
        );
        assert!(modules.notes.is_empty());
    }

    #[test]
    fn what_is_built_in_needs_no_module() {
        let (_work, stock) = stock(
            "kernel/virtio_net.ko:\n",
            "kernel/virtio.ko\nkernel/virtio_ring.ko\nkernel/virtio_blk.ko\n",
        );
        let modules = collect(VERSION, BOTH, Some(&stock), &there).unwrap();
        assert_eq!(
            names(&modules),
            ["shimos_ikc", "shimos_agent", "shimos_virtio", "virtio_net"]
        );
    }

    #[test]
    fn what_is_not_there_is_left_out_or_refused() {
        let (_work, stock) = stock(DEP, "");
        for (stock, ours, word) in [
            (
                None,
                &there as &dyn Fn(&str) -> Result<Vec<u8>>,
                "modules.dep",
            ),
            (Some(&stock), &not_built, "no module shimos_virtio"),
        ] {
            let modules = collect(VERSION, Needs::default(), stock, ours).unwrap();
            assert_eq!(names(&modules), ["shimos_ikc", "shimos_agent"]);
            assert_eq!(modules.notes.len(), 1);
            assert!(modules.notes[0].contains(word), "{:?}", modules.notes);
            let Error::Failed { message, hint } = collect(VERSION, BOTH, stock, ours).unwrap_err()
            else {
                panic!()
            };
            assert!(message.contains(word) && hint.is_some(), "{message}");
        }
    }

    #[test]
    fn only_the_driver_that_is_needed() {
        let (_work, stock) = stock(
            "kernel/virtio.ko:\nkernel/virtio_ring.ko:\nkernel/virtio_blk.ko:\n",
            "",
        );
        let disk = Needs {
            disk: true,
            net: false,
        };
        let modules = collect(VERSION, disk, Some(&stock), &there).unwrap();
        assert_eq!(modules.list.last().unwrap().name, "virtio_blk");
        assert!(modules.notes[0].contains("without virtio_net"));
        let error = collect(VERSION, BOTH, Some(&stock), &there).unwrap_err();
        assert!(error.to_string().contains("no module virtio_net"));
    }

    #[test]
    fn modules_of_another_kernel_are_refused() {
        let (_work, stock) = stock(DEP, "");
        let error = collect("6.12", BOTH, Some(&stock), &there).unwrap_err();
        assert!(
            error.to_string().contains("was built for kernel 6.1.0-1"),
            "{error}"
        );
    }
}
