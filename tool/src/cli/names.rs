//! Names that a shell can complete. Whoever types may not be root, so they come from sysfs and
//! IKC's device where that is readable, and where they do not, there is nothing to offer.

use std::fs;
use std::path::Path;

use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use crate::ikc::view::View;
use crate::oci::settings;
use crate::units::name::HOST;

/// Complete to partitions of this host.
pub fn partitions() -> ArgValueCandidates {
    ArgValueCandidates::new(|| candidates(entries(Path::new("/sys/class/shimos"))))
}

/// Complete to partitions of this host, and those that have a file which `start` can make
/// them from. That of containers is for another purpose.
pub fn startable() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let mut names = entries(Path::new("/sys/class/shimos"));
        names.extend(described(Path::new("/etc/shimos")));
        names.retain(|name| !Path::new(settings::FILE).ends_with(format!("{name}.toml")));
        candidates(names)
    })
}

/// Complete to kernels that this one can talk to.
pub fn kernels() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let view = View::read().ok();
        let peers = view.into_iter().flat_map(|view| view.kernels);
        let mut names: Vec<String> = peers.filter(|k| !k.is_self).map(|k| k.name).collect();
        // Not everybody may open IKC's device.
        names.extend(entries(Path::new("/sys/class/shimos")));
        names.push(HOST.into());
        candidates(names)
    })
}

/// Complete to bridges of this kernel, and what `--net` has for none.
pub fn bridges() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let interfaces = Path::new("/sys/class/net");
        let mut names = entries(interfaces);
        names.retain(|name| interfaces.join(name).join("bridge").exists());
        names.push("p2p".into());
        candidates(names)
    })
}

/// Complete to PCI devices, as `--pci` takes them.
pub fn pci_devices() -> ArgValueCandidates {
    ArgValueCandidates::new(|| candidates(entries(Path::new("/sys/bus/pci/devices"))))
}

fn candidates(mut names: Vec<String>) -> Vec<CompletionCandidate> {
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// What a directory has; nothing if it is not there.
fn entries(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// NAME for each NAME.toml.
fn described(directory: &Path) -> Vec<String> {
    let files = entries(directory).into_iter();
    files
        .filter_map(|file| Some(file.strip_suffix(".toml")?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_and_once() {
        let values = candidates(vec!["web".into(), "db".into(), "web".into()]);
        let values: Vec<_> = values.iter().map(CompletionCandidate::get_value).collect();
        assert_eq!(values, ["db", "web"]);
    }

    #[test]
    fn files_of_partitions() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("web.toml"), "").unwrap();
        fs::write(folder.path().join("README"), "").unwrap();
        assert_eq!(described(folder.path()), ["web"]);
        assert!(described(Path::new("/nonexistent")).is_empty());
    }
}
