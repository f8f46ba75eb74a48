//! The command line.

mod ikc;
mod life;
mod rt;
#[cfg(test)]
mod tests;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::UnknownArgumentValueParser as Moved;
use clap::{ArgGroup, Args, Parser, Subcommand};

use crate::budget::{self, Budget};
use crate::config::{OnChange, OnReboot};
use crate::devices::spec::{self, Wanted};
use crate::top::rates::Sort;
use crate::{duration, name, pci, size};
pub use ikc::{Perf, Ping};
pub use life::{Names, Restart, Rm, Start, Stop, Wait};
pub use rt::{Rt, RtCheck, RtLatency, RtMore, RtMove, RtPolicy, RtPriority};
use values::CpuListParser;
pub use values::{CpuList, DetachKey, Format, Picture, detach_key};

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
  SHIMOS_INIT_BINARY  the init for partitions, instead of /usr/lib/shimos/init";

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
    /// Show everything about a partition
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
    Top(Top),
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
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Write the man pages into a directory
    Man { directory: PathBuf },
}

#[derive(Debug, Args)]
pub struct Json {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
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

#[derive(Debug, Default, Args)]
#[command(group = ArgGroup::new("own_cpus").args(["cpus", "cpuset"]))]
pub struct Run {
    /// Name of the partition: letters, digits, '.', '_', '-'
    #[arg(value_parser = name::parse, required_unless_present = "file")]
    pub name: Option<String>,

    /// Take what is not given here from a TOML file
    #[arg(long, value_name = "FILE.toml")]
    pub file: Option<PathBuf>,

    #[arg(short = 'f', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = Moved::suggest_arg("--file"))]
    pub f: Option<String>,

    /// How many CPUs to take from the host
    ///
    /// Whole cores that are neighbours, in a node with room for the memory if there is one.
    /// The host keeps its first core and those that real-time programs share.
    #[arg(long, value_name = "N", value_parser = values::cpu_count)]
    pub cpus: Option<u32>,

    /// CPUs to take from the host, as Linux numbers them: 2-3 or 1,4-7
    #[arg(long, value_name = "LIST", value_parser = CpuListParser)]
    pub cpuset: Option<CpuList>,

    /// Number of the CPU to share with a real-time program that goes before the host: 1
    ///
    /// Makes a real-time partition: --kernel names its program, which has no initrd, no
    /// command line and no devices. With --no-agent nobody waits until it says that it is
    /// up. On x86-64 only.
    #[arg(
        long,
        value_name = "LIST",
        value_parser = CpuListParser,
        conflicts_with_all = ["own_cpus", "initrd", "cmdline", "pci", "disks", "nets"]
    )]
    pub share_cpus: Option<CpuList>,

    /// How long a real-time program may have its CPU, of each period [default: 95%/10ms]
    ///
    /// 40%/10ms, or 40% for periods of 10 ms. The rest of each period is the host's.
    #[arg(long, value_name = "PERCENT%[/PERIOD]", value_parser = budget::parse, conflicts_with = "own_cpus")]
    pub budget: Option<Budget>,

    /// Which real-time program of a CPU goes first: the highest, 1 to 99 [default: 50]
    ///
    /// Of two with the same priority, who came first. The host goes after all of them.
    #[arg(long, value_name = "N", value_parser = values::priority(), conflicts_with = "own_cpus")]
    pub priority: Option<u32>,

    /// Keep the host away from a real-time program's memory while it runs
    ///
    /// The host can touch no more of it than both use: a stray access of its kernel or of
    /// one of its programs meets an exception there, and is counted. All CPUs of the host
    /// run under nested paging as long as there is such a program.
    #[arg(long, conflicts_with = "own_cpus")]
    pub protected: bool,

    /// Keep the partition's kernel from what is not its own
    ///
    /// Its CPUs run under nested paging: a stray access outside of its memory meets an
    /// exception there, a triple fault ends the partition and not the machine, and ports
    /// that reset the machine do nothing. It cannot share devices with others. On x86-64 only.
    #[arg(long, conflicts_with = "share_cpus")]
    pub guarded: bool,
    /// Watch another real-time program, on the same CPU or on another
    ///
    /// Its text and constants can be read by the program of this partition, and nothing else
    /// of it, whenever both run. monitor.elf looks at them four times a second; when one bit
    /// is not as it was linked, the other program ends at once: see --on-change.
    #[arg(long, value_name = "NAME", value_parser = name::parse, conflicts_with = "own_cpus")]
    pub watch: Option<String>,

    /// What to do when one that watches it finds it changed [default: stop]
    #[arg(long, value_name = "WHAT", conflicts_with = "own_cpus")]
    pub on_change: Option<OnChange>,

    /// Memory to take from the host: 512M, 1G
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub memory: Option<u64>,

    /// Kernel: a vmlinuz, on x86-64 also an ELF vmlinux [default: the one the host runs], or the real-time program
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,

    /// Initrd [default: /boot/initrd.img-<kernel version> if it exists]
    #[arg(long, value_name = "FILE")]
    pub initrd: Option<PathBuf>,

    /// Kernel parameters
    #[arg(long, value_name = "PARAMETERS", allow_hyphen_values = true)]
    pub cmdline: Option<String>,

    #[command(flatten)]
    pub share: Share,

    /// A PCIe device to give it whole, as lspci -D shows it; repeat for more (x86-64 only)
    #[arg(long, value_name = "ADDRESS", value_parser = pci::parse)]
    pub pci: Vec<pci::Address>,

    /// Do not put the agent into the initrd: no console, no orderly stop, weaker containment
    #[arg(long)]
    pub no_agent: bool,

    /// What to do when the partition reboots [default: stop]
    #[arg(long, value_name = "WHAT")]
    pub on_reboot: Option<OnReboot>,

    /// Seconds to wait until it is up
    #[arg(short, long, value_name = "SECONDS", value_parser = duration::parse, default_value = "60")]
    pub timeout: Duration,

    /// If it does not come up, keep it for a look instead of removing it
    #[arg(long)]
    pub keep: bool,

    /// Remove a partition of the same name first, if it is not running
    #[arg(long)]
    pub replace: bool,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What to share. On the command line of `run`, --disk replaces the file's disks and
/// --net its nets.
#[derive(Clone, Debug, Default, Args)]
pub struct Share {
    /// Share a disk with it, a block device or a file: PATH[,ro][,queues=N][,iops=N][,bw=SIZE][,size=SIZE]
    ///
    /// May be given several times. ro: it may only read. queues: how many, each with a
    /// thread here [default: as many as it has CPUs]. iops, bw: at most so many requests
    /// and bytes per second, each for reading and for writing. size: only so much of the
    /// file. A block device must not be in use here, mounted for example.
    #[arg(long = "disk", value_name = "SPEC", value_parser = spec::disk)]
    pub disks: Vec<spec::Disk>,

    /// Give it a network interface in a bridge here: BRIDGE[,mac=MAC][,queues=N][,mtu=N][,name=IFNAME]
    ///
    /// May be given several times. "p2p" instead of a bridge: connected with an interface
    /// here and nothing else. mac: of its interface [default: made from the names, always
    /// the same]. queues: pairs of them [default: as many as it has CPUs]. mtu [default:
    /// the bridge's, or 1500]. name: of the interface here, %d becomes a number [default:
    /// shm-NAME%d].
    #[arg(long = "net", value_name = "SPEC", value_parser = spec::net)]
    pub nets: Vec<spec::Net>,
}

impl Share {
    pub fn wanted(&self) -> Wanted {
        Wanted {
            disks: self.disks.clone(),
            nets: self.nets.clone(),
        }
    }
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").args(["disks", "nets"]).required(true).multiple(true))]
pub struct Attach {
    /// Name of a kernel: a partition's, or "host"
    pub name: String,

    #[command(flatten)]
    pub share: Share,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").args(["disk", "net", "id"]).required(true))]
pub struct Detach {
    /// Name of the kernel that has it: a partition's, or "host"
    pub name: String,

    /// The disk: the path that it was shared by, or another one that leads to it
    #[arg(long, value_name = "PATH")]
    pub disk: Option<String>,

    /// The network device: its interface here
    #[arg(long, value_name = "IFNAME")]
    pub net: Option<String>,

    /// The number that `shimos devices` shows
    #[arg(long, value_name = "N")]
    pub id: Option<u32>,

    /// Even if it is in use there: whoever uses it gets errors
    #[arg(short, long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct Show {
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Logs {
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
