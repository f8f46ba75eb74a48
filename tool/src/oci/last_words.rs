//! How a container's kernel crashed, for the container's log. The proxy is kept from everything
//! on the host, and has the partition's memory as an open file.

use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::abi::pass;
use crate::error::{Error, Result};
use crate::guest::log::{self, Whose};
use crate::memory::FileMemory;
use crate::partition::kloader::KLoader;
use crate::partition::{Device, Range, lookup};
use crate::ui::refusal::OrRefuse;

/// How many open files a command gets from `give`, as crun is told.
pub const FILES: &str = "1";

/// What one has to know to find a log in a partition's memory.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastWords {
    name: String,
    kernel_version: String,
    ranges: Vec<Range>,
}

impl LastWords {
    /// Describe a partition that runs, as one word of a command line.
    pub fn describe(partition: &str) -> Result<String> {
        let status = lookup::find(&KLoader::open()?, partition)?;
        let described = LastWords {
            name: status.name,
            kernel_version: status.kernel_version,
            ranges: status.ranges,
        };
        serde_json::to_string(&described).map_err(|e| Error::new(e.to_string()))
    }

    /// Let a command that is about to start have the partition's memory.
    pub fn give(partition: &str, command: &mut Command) -> Result<()> {
        let device = KLoader::open()?;
        let status = lookup::find(&device, partition)?;
        let memory = device
            .memory(status.id)
            .or_refuse(format_args!("cannot read the memory of '{partition}'"))?;
        pass::give(command, memory);
        Ok(())
    }

    /// Read how the kernel crashed, from the file that this program was given. Empty: it has
    /// not, or its memory is gone.
    pub fn of(description: &str) -> Vec<String> {
        let Ok(known) = serde_json::from_str::<LastWords>(description) else {
            return Vec::new();
        };
        let memory = FileMemory::new(pass::given(), &known.ranges);
        let whose = Whose {
            name: &known.name,
            kernel_version: &known.kernel_version,
            // No container's kernel is started twice.
            starts: 1,
        };
        log::crash(&memory, whose)
    }
}
