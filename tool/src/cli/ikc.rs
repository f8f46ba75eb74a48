//! `shimos ping` and `shimos perf`.

use std::time::Duration;

use clap::Args;
use clap::builder::UnknownArgumentValueParser as Moved;

use super::names;
use crate::units::{duration, size};

#[derive(Debug, Args)]
pub struct Ping {
    /// Name of a kernel: a partition's, or "host"
    #[arg(add = names::kernels())]
    pub name: String,
    /// Stop after so many messages [default: at Ctrl-C]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Seconds from one message to the next; 0: at once, and no line for each
    #[arg(short, long, value_name = "SECONDS", value_parser = duration::parse, default_value = "1")]
    pub interval: Duration,
    /// Bytes of a message
    #[arg(short, long, value_name = "SIZE", value_parser = size::parse, default_value = "64")]
    pub size: u64,
    /// Never sleep while waiting for the answer: this CPU is busy, no doorbell comes
    #[arg(long)]
    pub poll: bool,
    /// Seconds to wait for the service, and for each answer
    #[arg(short, long, value_name = "SECONDS", value_parser = duration::parse, default_value = "5")]
    pub timeout: Duration,
    /// Print JSON, at the end
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Perf {
    /// Name of a kernel: a partition's, or "host"
    #[arg(add = names::kernels())]
    pub name: String,
    /// Seconds to send
    #[arg(long, value_name = "SECONDS", value_parser = duration::parse, default_value = "5")]
    pub time: Duration,
    #[arg(short = 't', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = Moved::suggest_arg("--time"))]
    pub t: Option<String>,
    /// Bytes of a message
    #[arg(short, long, value_name = "SIZE", value_parser = size::parse, default_value = "64")]
    pub size: u64,
    /// Seconds to wait for the service, for room, and for each answer
    #[arg(long, value_name = "SECONDS", value_parser = duration::parse, default_value = "5")]
    pub timeout: Duration,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
