//! What starts and ends partitions that exist.

use std::time::Duration;

use clap::{ArgGroup, Args};

use super::names;
use super::values::{CpuList, Difference, cpu_difference, cpuset_difference, memory_difference};
use crate::units::duration;

#[derive(Debug, Args)]
pub struct Names {
    #[arg(required = true, value_name = "NAME", add = names::partitions())]
    pub names: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Start {
    #[arg(required = true, value_name = "NAME", add = names::startable())]
    pub names: Vec<String>,
    /// Seconds to wait until it is up
    #[arg(short, long, value_name = "SECONDS", value_parser = duration::parse, default_value = "60")]
    pub timeout: Duration,
}

#[derive(Debug, Args)]
pub struct Stop {
    #[command(flatten)]
    pub names: Names,
    /// Seconds to wait for the power-off before killing
    #[arg(short, long, value_name = "SECONDS", value_parser = duration::parse, default_value = "30")]
    pub timeout: Duration,
}

#[derive(Debug, Args)]
pub struct Wait {
    #[arg(add = names::partitions())]
    pub name: String,
    /// Seconds to wait at most [default: until it ends]
    #[arg(short, long, value_name = "SECONDS", value_parser = duration::parse)]
    pub timeout: Option<Duration>,
}

#[derive(Debug, Args)]
pub struct Restart {
    #[command(flatten)]
    pub names: Names,
    /// Kill it instead of asking it to power off
    #[arg(short, long)]
    pub force: bool,
    /// Seconds to wait for the power-off before killing
    #[arg(long, value_name = "SECONDS", value_parser = duration::parse, default_value = "30")]
    pub stop_timeout: Duration,
    /// Seconds to wait until it is up
    #[arg(short, long, value_name = "SECONDS", value_parser = duration::parse, default_value = "60")]
    pub timeout: Duration,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("difference").args(["cpus", "cpuset", "memory"]).required(true))]
pub struct Resize {
    #[arg(add = names::partitions())]
    pub name: String,
    /// By how many CPUs: +2 or -1
    #[arg(long, value_name = "+N|-N", value_parser = cpu_difference, allow_hyphen_values = true)]
    pub cpus: Option<Difference<u32>>,
    /// By which CPUs, as the host numbers them: +4-5 or -4
    #[arg(long, value_name = "+LIST|-LIST", value_parser = cpuset_difference, allow_hyphen_values = true)]
    pub cpuset: Option<Difference<CpuList>>,
    /// By how much memory: +512M or -1G
    ///
    /// It keeps what it has started with.
    #[arg(long, value_name = "+SIZE|-SIZE", value_parser = memory_difference, allow_hyphen_values = true)]
    pub memory: Option<Difference<u64>>,
}

#[derive(Debug, Args)]
pub struct Rm {
    #[command(flatten)]
    pub names: Names,
    /// Kill it first if it runs
    #[arg(short, long)]
    pub force: bool,
}
