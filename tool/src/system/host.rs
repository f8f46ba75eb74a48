//! What the host's kernel says about itself and the machine.

use std::path::PathBuf;

/// What it says, below a directory that tests can
/// choose.
pub struct Host {
    pub root: PathBuf,
}

impl Host {
    /// Look at the machine below `root`, which is `/` but in tests.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Host { root: root.into() }
    }

    /// Read a file below the root, without white space around it; `None`: it cannot be
    /// read.
    pub fn read(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.root.join(path)).ok()?;
        Some(text.trim().to_string())
    }

    /// Return the running kernel's release, as `uname -r` prints it.
    pub fn release(&self) -> String {
        self.read("proc/sys/kernel/osrelease").unwrap_or_default()
    }

    /// Tell whether the running kernel is one of Debian's.
    pub fn is_debians(&self) -> bool {
        self.read("proc/sys/kernel/version")
            .is_some_and(|version| version.contains(" Debian "))
    }

    /// Tell whether the running kernel was started with this word.
    pub fn has_parameter(&self, parameter: &str) -> bool {
        self.read("proc/cmdline")
            .unwrap_or_default()
            .split_whitespace()
            .any(|word| word.replace('-', "_") == parameter)
    }

    /// Tell whether the first CPU has this flag.
    pub fn has_flag(&self, flag: &str) -> bool {
        let text = self.read("proc/cpuinfo").unwrap_or_default();
        text.lines()
            .find(|line| line.starts_with("flags"))
            .is_some_and(|line| line.split_whitespace().any(|word| word == flag))
    }
}
