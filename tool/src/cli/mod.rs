//! The command line.

mod devices;
mod ikc;
mod json;
mod life;
mod names;
mod rt;
mod run;
#[cfg(test)]
mod tests;
mod values;

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::UnknownArgumentValueParser as Moved;
use clap::{Args, Parser, Subcommand};

use crate::machine::rates::Sort;
use crate::units::duration;
pub use devices::{Attach, Detach};
pub use ikc::{Perf, Ping};
pub use json::Json;
pub use life::{Names, Restart, Rm, Start, Stop, Wait};
pub use rt::{Rt, RtCheck, RtLatency, RtMore, RtMove, RtPolicy, RtPriority};
pub use run::Run;
pub use values::{DetachKey, Format, Picture, detach_key};

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed; standard error says why and, where known, what to do
  2    wrong usage
  3    `wait`: the partition rebooted, halted or was killed
  4    `wait`: the partition crashed
  125, 126, 127
       `trust run`: the program did not run; see its --help
  130  interrupted by Ctrl-C, what was half done is undone (128 + n: signal n)

Environment:
  SHIMOS_MODULES      directory with <kernel version>/shimos_ikc.ko, shimos_agent.ko and
                      shimos_virtio.ko, instead of /lib/modules/<kernel version>/updates/dkms
  SHIMOS_INIT_BINARY  the init for partitions, instead of /usr/lib/shimos/init

Files:
  /etc/shimos/NAME.toml  partitions that `start` makes: shimos.toml(5)";

#[derive(Debug, Parser)]
#[command(
    name = "shimos",
    version,
    about = "Run several stock Linux kernels side by side on one machine, without a hypervisor",
    after_help = EXIT_CODES,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// Say more about what is done, on standard error
    #[arg(short, long, global = true)]
    pub verbose: bool,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what this machine can do, what is missing and how to fix it
    Doctor(Json),
    /// Make a partition, load a kernel, start it and wait until it is up
    Run(Box<Run>),
    /// List the partitions
    #[command(visible_alias = "list")]
    Ls(Ls),
    /// Show everything about a partition, or a map of the machine
    ///
    /// Without a name: whose each CPU is, by node and core, and how busy; whose the memory
    /// is; the kernels, and the devices that they use. A kernel is a letter. In a terminal
    /// with colours it has one, and without UTF-8 (LANG), or on a vt100 or the console, the
    /// map is in ASCII. Works in a partition, too, for what it knows.
    Show(Show),
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
    /// Share disks and networks of this kernel with another one that runs
    ///
    /// The other kernel gets a virtio disk (/dev/vda and so on) for each --disk and a
    /// network interface for each --net. Works on the host, with the name of a
    /// partition, and in a partition, with the name of another one or "host".
    Attach(Attach),
    /// Take a shared device away from another kernel
    ///
    /// Refused while it is in use there, by a mount for example. Works on the host and
    /// in a partition, for what that kernel shares.
    Detach(Detach),
    /// List the devices that this kernel shares with others
    ///
    /// Reads and writes are the user's; for networks what it received and sent. DIRECT
    /// went to and from the user's own pages, COPIED was copied on the way. Works on
    /// the host and in a partition.
    Devices(Json),
    /// Watch what partitions do: CPUs, memory, disks, networks, doorbells
    ///
    /// Rates are per second, as the partition sees them, for the devices that this
    /// kernel shares. "-" is what is not there or cannot be known. Keys: q quits, up and
    /// down choose a partition whose devices are shown, s (or left and right) chooses
    /// the column to sort by, r reverses. Works in a partition, too, for its peers.
    ///
    /// Above is the map of `shimos show`, with a curve of each kernel's load, if the terminal
    /// has 16 rows. A terminal that cannot draw (TERM=dumb) gets one picture after the
    /// other, and who reads no terminal gets one table.
    Top(Top),
    /// Show the map of the machine on a page for a browser, live
    ///
    /// Serves http://127.0.0.1:7468/ until Ctrl-C. The page can be read and changes nothing; it
    /// needs nothing from elsewhere. Whoever can reach the address can read it: for another
    /// machine, `ssh -L 7468:127.0.0.1:7468 HOST` is safer than --bind.
    Web(Web),
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
    /// Measure the round trip of messages to another kernel
    ///
    /// Through the echo service that every kernel of the machine has. Works on the
    /// host and in a partition. Ctrl-C ends it and prints the statistics. Exit code 1
    /// if an answer is missing.
    Ping(Ping),
    /// Measure how many messages another kernel takes
    ///
    /// Sends in one direction as fast as it goes, then has the other kernel say how
    /// many it has got, which must be all, then measures some round trips. Works on
    /// the host and in a partition.
    Perf(Perf),
    /// Show the kernels of the machine, their queues and the memory they share
    ///
    /// Works on the host and in a partition.
    Ikc(Json),
    /// Run programs in kernel mode, and show which do
    ///
    /// The module shimos_kml runs programs of the administrator's choice in ring 0, as
    /// ordinary processes, so that their system calls cost less. Ring 0 is ring 0: such
    /// a program can do whatever the kernel can. Works on the host and in a partition, on
    /// x86-64 only.
    #[command(subcommand)]
    Trust(Trust),
    /// Compare native Linux, SHIMOS and KVM on this machine
    ///
    /// Runs bench/run --here of the source tree: the same work as in the emulated
    /// machine, on real CPUs. Takes four CPUs, switches the others off while it runs and
    /// gives back what it took. Options after "--" are those of bench/run, --quick
    /// for example.
    Bench(Bench),
    /// Print a completion script for a shell, which asks the tool for names
    Completions { shell: clap_complete::Shell },
    /// Write the man pages into a directory
    Man { directory: PathBuf },
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
pub struct Bench {
    /// The source tree, if this is not run inside it
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,

    /// Options for bench/run
    #[arg(last = true, value_name = "OPTIONS")]
    pub more: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct Show {
    #[arg(add = names::partitions())]
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
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

#[derive(Debug, Subcommand)]
pub enum Trust {
    /// Run a program in kernel mode, wherever its file lies
    ///
    /// The file and its directories must be root's alone to write. What is known to be
    /// refused is said before the program starts; the kernel has the last word, and
    /// `shimos trust status` shows it.
    ///
    /// The exit code is the program's, or one of those that env and nohup have: 127 if it was
    /// not found, 126 if it was found and cannot be run, 125 if something else failed.
    Run(TrustRun),
    /// Show what runs in kernel mode, what was refused, and what is counted
    Status(Json),
}

#[derive(Debug, Args)]
pub struct TrustRun {
    /// The program, found in PATH as usual, and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        value_name = "PROGRAM [ARGS]"
    )]
    pub command: Vec<OsString>,
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

#[derive(Debug, Args)]
pub struct Web {
    /// Port to listen at; 0: any that is free
    #[arg(short, long, value_name = "N", default_value = "7468")]
    pub port: u16,
    /// Address to listen at
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: IpAddr,
}

#[derive(Debug, Args)]
pub struct Top {
    /// Seconds from one look to the next
    #[arg(short, long, value_name = "SECONDS", value_parser = duration::parse, default_value = "1")]
    pub interval: Duration,
    /// Print one table after one interval, for scripts
    #[arg(long, visible_alias = "batch")]
    pub once: bool,
    /// Sort by this column
    #[arg(long, value_name = "COLUMN", default_value = "name")]
    pub sort: Sort,
    /// Print JSON, once
    #[arg(long)]
    pub json: bool,
}
