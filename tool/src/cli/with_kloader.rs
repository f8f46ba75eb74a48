//! What is done with partitions, through KLoader.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::UnknownArgumentValueParser as Moved;
use clap::{Args, Subcommand};

use super::life::{Names, Resize, Restart, Rm, Start, Stop, Wait};
use super::names;
use super::rt::Rt;
use super::run::Run;
use super::values::{DetachKey, detach_key};
use crate::units::duration;

#[derive(Debug, Subcommand)]
pub enum WithKLoader {
    /// Make a partition, load a kernel, start it and wait until it is up
    Run(Box<Run>),
    /// List the partitions
    #[command(visible_alias = "list")]
    Ls(Ls),
    /// Print a partition's kernel log, also after its death
    Logs(Logs),
    /// Connect the terminal to a partition's console
    Console(Console),
    /// Ask partitions to power off, wait, then kill
    Stop(Stop),
    /// Stop partitions at once, whatever they do
    Kill(Names),
    /// Start partitions that do not run
    ///
    /// One that has ended, or was never started, starts as it is: the same CPUs, memory,
    /// kernel and devices. If there is none of that name, it is made as
    /// /etc/shimos/NAME.toml says. One that runs is left alone.
    Start(Start),
    /// Wait until a partition has ended, and say how
    ///
    /// Prints its state and why it ended. If it starts again by itself (--on-reboot
    /// restart, --on-change restart), this waits for its next end.
    ///
    /// Exit codes: 0 it powered off; 3 it rebooted, halted or was killed; 4 it crashed or
    /// is stuck.
    Wait(Wait),
    /// Start partitions again with the kernel they have
    Restart(Restart),
    /// Give a running partition more CPUs or memory, or take some back
    ///
    /// It gets CPUs of which its kernel was told when it started, see `run --max-cpus`, and
    /// gives back any but its first. Either all of them change hands or none.
    Resize(Resize),
    /// Remove partitions: give their CPUs and memory back
    Rm(Rm),
    /// Write a partition's memory to a file for crash and drgn
    ///
    /// The file is an ELF vmcore. drgn opens any; crash needs hooks on the stacks
    /// of the running tasks and may give up ("read of stack ... failed") on a
    /// kernel that has not panicked and is built without CONFIG_X86_MCE, as
    /// Debian 12's cloud kernel is: use drgn, or crash --minimal, for these. Of a
    /// real-time program it has the memory only, at the addresses that the program uses.
    Dump(Dump),
    /// Show how CPUs are shared with real-time programs
    ///
    /// A line for each virtual CPU: the host's, then the programs', of every CPU that is
    /// shared. Of two programs the one with the higher PRIORITY goes first. Theirs are counted since its last start: TIME that it had the CPU,
    /// EXITS, the times that it left the CPU for whatever reason, ENTERED, the times that
    /// it got the CPU, of which MASKED while the host had interrupts disabled, TIMERS, the
    /// interrupts of its timer, PAST, deadlines that were over when it asked for them, and
    /// THROTTLED, the times that its budget was used up while it wanted more, and MOVES from
    /// one CPU to another. The host's
    /// EXITS are counted since the CPU is shared. "-" is not counted.
    Rt(Rt),
}

#[derive(Debug, Args)]
pub struct Ls {
    /// Print the names only, one a line
    #[arg(short, long)]
    pub quiet: bool,

    /// Print JSON
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Logs {
    #[arg(add = names::partitions())]
    pub name: String,
    /// Go on printing new lines, until the partition ends
    #[arg(short = 'F', long)]
    pub follow: bool,
    #[arg(short = 'f', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = Moved::suggest_arg("--follow (-F)"))]
    pub f: Option<String>,
    /// Print the console's output instead of the kernel log
    #[arg(long)]
    pub console: bool,
    /// Only the last N lines
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "console")]
    pub lines: Option<usize>,
    /// Print JSON, one object per line
    #[arg(long, conflicts_with = "console")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Console {
    #[arg(add = names::partitions())]
    pub name: String,
    /// Only watch: what is typed goes nowhere
    #[arg(short, long)]
    pub read_only: bool,
    /// Key that ends the connection: ^] is Ctrl-], ^a is Ctrl-A; "none" for no such key
    #[arg(long, value_name = "KEY", default_value = "^]", value_parser = detach_key)]
    pub detach_key: DetachKey,
    /// End after so many seconds
    #[arg(short, long, value_name = "SECONDS", value_parser = duration::parse)]
    pub timeout: Option<Duration>,
}

#[derive(Debug, Args)]
pub struct Dump {
    #[arg(add = names::partitions())]
    pub name: String,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Overwrite the file if it exists, and do not check the free space
    #[arg(short, long)]
    pub force: bool,
    /// The partition may be running: do not warn about it
    #[arg(long)]
    pub live: bool,
}
