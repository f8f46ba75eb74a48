//! Cores that simultaneous multithreading would share between two kernels.

use std::fs;
use std::path::Path;

use crate::units::cpulist;

/// Return all that run on the core of `cpu`, itself included; alone where nothing is said
/// of cores.
pub fn threads(root: &Path, cpu: u32) -> Vec<u32> {
    cpulist::parse(&siblings(root, cpu)).unwrap_or_else(|_| vec![cpu])
}

fn siblings(root: &Path, cpu: u32) -> String {
    let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let list = fs::read_to_string(root.join(path)).unwrap_or_default();
    list.trim().to_owned()
}

/// Return the threads of each core of which `cpus` takes some and leaves others, as Linux
/// writes them ("2-3"). `root` is `/` but in tests.
pub fn split_cores(root: &Path, cpus: &[u32]) -> Vec<String> {
    let mut split: Vec<String> = Vec::new();
    for cpu in cpus {
        let list = siblings(root, *cpu);
        let stays =
            cpulist::parse(&list).is_ok_and(|threads| threads.iter().any(|t| !cpus.contains(t)));
        if stays && !split.contains(&list) {
            split.push(list);
        }
    }
    split
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_split_cores() {
        let root = tempfile::tempdir().unwrap();
        for (cpu, list) in ["0-1\n", "0-1\n", "2-3\n", "2-3\n"].iter().enumerate() {
            let dir = root
                .path()
                .join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("thread_siblings_list"), list).unwrap();
        }
        assert!(split_cores(root.path(), &[2, 3]).is_empty());
        assert_eq!(split_cores(root.path(), &[2]), ["2-3"]);
        assert_eq!(split_cores(root.path(), &[3, 1]), ["2-3", "0-1"]);
        assert!(split_cores(root.path(), &[9]).is_empty());
    }
}
