//! Making a partition.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::UnknownArgumentValueParser as Moved;
use clap::{ArgGroup, Args};

use super::devices::Share;
use super::names;
use super::values::{self, CpuList, CpuListParser};
use crate::partition::{OnChange, OnReboot};
use crate::units::budget::{self, Budget};
use crate::units::{duration, name, pci_address, percent, size};

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

    /// Choose those of --cpus among these: 4-7
    #[arg(long, value_name = "LIST", value_parser = CpuListParser, requires = "cpus")]
    pub among: Option<CpuList>,

    /// CPUs to take from the host, as Linux numbers them: 2-3 or 1,4-7
    #[arg(long, value_name = "LIST", value_parser = CpuListParser)]
    pub cpuset: Option<CpuList>,

    /// How many CPUs it may have later, by `shimos resize` [default: no more]
    ///
    /// Its kernel learns when it boots which they could be: the nearest, whoever has them
    /// then. It spends some memory on each.
    #[arg(long, value_name = "N", value_parser = values::cpu_count, conflicts_with_all = ["share_cpus", "guarded"])]
    pub max_cpus: Option<u32>,

    /// Take CPUs and memory of this node only: 1
    ///
    /// Without it all of the memory is in the node of the first CPU if there is room, and
    /// what is missing in others.
    #[arg(long, value_name = "N", conflicts_with = "share_cpus")]
    pub node: Option<u32>,

    /// A share of the L3 cache of its CPUs, for it alone: 50%
    ///
    /// By the kernel's resctrl: the host keeps the rest. Needs a processor that can share out
    /// its cache.
    #[arg(long, value_name = "PERCENT", value_parser = percent::parse, conflicts_with = "share_cpus")]
    pub l3: Option<u32>,

    /// The most of the memory bandwidth that its CPUs may use: 30%
    ///
    /// By the kernel's resctrl, as --l3.
    #[arg(long, value_name = "PERCENT", value_parser = percent::parse, conflicts_with = "share_cpus")]
    pub mb: Option<u32>,

    /// Number of the CPU to share with a real-time program that goes before the host: 1
    ///
    /// Makes a real-time partition: --kernel names its program, which has no initrd, no
    /// command line and no devices. With --no-agent nobody waits until it says that it is
    /// up. On x86-64 only.
    #[arg(
        long,
        value_name = "LIST",
        value_parser = CpuListParser,
        conflicts_with_all = ["own_cpus", "initrd", "cmdline", "pci", "disks", "nets", "fs", "vsock", "vhost_user"]
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
    #[arg(long, value_name = "NAME", value_parser = name::parse, conflicts_with = "own_cpus", add = names::partitions())]
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
    ///
    /// An IOMMU keeps it to the partition's memory.
    /// Without one it is given only as ADDRESS,unsafe: it can then write to all memory of the machine.
    #[arg(long, value_name = "ADDRESS[,unsafe]", value_parser = pci_address::given, add = names::pci_devices())]
    pub pci: Vec<pci_address::Given>,

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
