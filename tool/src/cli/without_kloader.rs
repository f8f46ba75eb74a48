//! What works where there is no KLoader, in a partition for example, or opens it if need be.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::devices::{Attach, Detach};
use super::ikc::{Perf, Ping};
use super::json::Json;
use super::names;
use super::oci::Pool;
use super::selftest::Selftest;
use super::values;
use crate::machine::rates::Sort;
use crate::units::duration;

#[derive(Debug, Subcommand)]
pub enum WithoutKLoader {
    /// Say what this machine can do, what is missing and how to fix it
    #[command(display_order = 0)]
    Doctor(Doctor),
    /// Try this machine rung by rung before it is trusted with partitions
    ///
    /// For the first time on hardware that nobody has tried. Each rung is told before it is
    /// climbed, risks little more than the one before, and gives back what it took. Which one it
    /// is is on the disk before: if the machine goes down, `shimos selftest` says where, and
    /// --continue goes on behind it. The report has machine, firmware, times, and the
    /// kernel's log if a rung fails; it has no serial numbers.
    Selftest(Selftest),
    /// Show everything about a partition, or a map of the machine
    ///
    /// Without a name: whose each CPU is, by node and core, and how busy; whose the memory
    /// is; the kernels, and the devices that they use. A kernel is a letter. In a terminal
    /// with colours it has one, and without UTF-8 (LANG), or on a vt100 or the console, the
    /// map is in ASCII. Works in a partition, too, for what it knows.
    #[command(display_order = 2)]
    Show(Show),
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
    /// Run a program in a partition
    ///
    /// Its exit code is the program's, 128 + n if signal n ended it; 125: it could not be run, 126:
    /// it is not executable, 127: there is none. Signals that end this command go to the program
    /// instead, and it reads standard input. The partition needs a vsock (--vsock of `run` and `attach`) and our service:
    /// there, `systemctl enable --now shimos-execd`, or `shimos execd &`.
    Exec(Exec),
    /// Copy a file or a directory to a partition, or from it
    ///
    /// One of both is NAME:PATH. Into a directory if there is one of that name, else as it. With
    /// owners, modes and links, by tar, which both sides need; for the rest see `exec`.
    Cp(Cp),
    /// Run what the host asks for by `exec`, in a partition
    #[command(hide = true)]
    Execd,
    /// Give a program of `execd` its terminal
    #[command(hide = true)]
    ExecTty {
        /// With its arguments
        #[arg(trailing_var_arg = true)]
        command: Vec<String>,
    },
    /// Keep partitions ready for containers
    ///
    /// A container that fits one of them does not wait for a kernel to boot. How many, with how
    /// much of the machine, is in /etc/shimos/oci.toml; see shimos-oci(1).
    #[command(subcommand)]
    Pool(Pool),
    /// Serve a device in the background; `run` and `attach` start it
    #[command(hide = true)]
    Serve(Serve),
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
pub struct Doctor {
    /// Print JSON
    #[arg(long, conflicts_with = "fix")]
    pub json: bool,
    /// Add the parameters that are missing to the host kernel's command line, by GRUB
    ///
    /// Shows the file that would be written, and asks. They take effect when the machine restarts.
    #[arg(long)]
    pub fix: bool,
    /// Do not ask
    #[arg(long, requires = "fix")]
    pub yes: bool,
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

#[derive(Debug, Args)]
pub struct Web {
    /// Port to listen at; 0: any that is free
    #[arg(short, long, value_name = "N", default_value = "7468")]
    pub port: u16,
    /// Address to listen at
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: IpAddr,
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
pub struct Exec {
    /// Give it a terminal [default: if standard input and output are one]
    #[arg(long)]
    pub tty: bool,

    /// Give it none, but pipes
    #[arg(long, conflicts_with = "tty")]
    pub no_tty: bool,

    /// Set a variable of its environment; may be given several times
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = values::variable)]
    pub env: Vec<String>,

    /// Directory to start in [default: /]
    #[arg(short, long, value_name = "DIRECTORY")]
    pub workdir: Option<String>,

    #[arg(add = names::partitions())]
    pub name: String,

    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        value_name = "PROGRAM [ARGS]"
    )]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Cp {
    /// PATH here, or NAME:PATH in a partition
    pub from: String,

    /// The same; one of both is in a partition
    pub to: String,
}

#[derive(Debug, Args)]
pub struct Serve {
    /// For whoever looks at the list of processes
    pub what: Vec<String>,
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
