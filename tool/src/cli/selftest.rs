//! Trying a machine step by step.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::units::size;

/// What is tried, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Rung {
    /// What doctor checks
    Checks,
    /// A CPU off and on again, by Linux alone
    Cpu,
    /// CPU and memory taken and given back
    Memory,
    /// The CPU stopped, sent through KLoader's trampoline, and parked
    Parking,
    /// A kernel on that CPU, without devices
    Kernel,
    /// Messages and doorbells between it and the host
    Doorbell,
    /// A kernel with two CPUs and a disk: stopped, restarted, killed
    All,
}

#[derive(Debug, Args)]
pub struct Selftest {
    /// Go on behind the rung from which the last one did not come back
    #[arg(long = "continue", conflicts_with = "anew")]
    pub go_on: bool,

    /// Begin at the first rung, though the last one did not come back from its own
    #[arg(long)]
    pub anew: bool,

    /// Climb no further than this rung
    #[arg(long, value_name = "RUNG", default_value = "all")]
    pub to: Rung,

    /// Memory for the partitions that are tried
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "512M")]
    pub memory: u64,

    /// Their kernel [default: the one the host runs]
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,

    /// Their initrd [default: /boot/initrd.img-<kernel version> if it exists]
    #[arg(long, value_name = "FILE")]
    pub initrd: Option<PathBuf>,

    /// Where the report is written, and which rung is being climbed
    #[arg(long, value_name = "DIR", default_value = "/var/lib/shimos/selftest")]
    pub directory: PathBuf,
}
