//! `shimos rt` and what can follow it.

use clap::{Args, Subcommand};

use super::json::Json;
use super::{names, values};
use crate::partition::HostPolicy;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Rt {
    #[command(flatten)]
    pub list: Json,

    #[command(subcommand)]
    pub more: Option<RtMore>,
}

#[derive(Debug, Subcommand)]
pub enum RtMore {
    /// Show how late a real-time program gets its timer's interrupts
    ///
    /// The layer below the host measures it, without the program's help: from the
    /// deadline that it asked for until it has the CPU and the interrupt. PAST are deadlines
    /// that were over when it asked; they are late from then on. Counted since its last
    /// start; of a program that has ended, its last run. A percentile is the upper end of its
    /// bucket: exact below 64 cycles of the CPU's clock, to 1/32 up to two million cycles,
    /// and the greatest of all above.
    Latency(RtLatency),
    /// Let a real-time program share another CPU, as it is, whether or not it runs
    ///
    /// It goes on where it was; a deadline that comes on the way is late by that. The other
    /// CPU may be shared already, if the budgets of its programs leave the host enough.
    ///
    /// One of the host's own CPUs, host:1, goes to another one's core, too, while any CPU is
    /// shared. They take turns there, after the real-time programs; its interrupts are sent
    /// after it. It comes home by its own number, or when nothing is shared any more.
    Move(RtMove),
    /// Say where the host's CPUs are while real-time programs share some of them, or show it
    ///
    /// With fixed, while a program has the core, the host's CPU there waits, and so do others
    /// that want a lock that it has. With lhp it runs on another core meanwhile, one without
    /// programs, and comes back when they halt; the program waits for the move. With
    /// user-only it does so whenever it enters the kernel, which is slow, and a program never
    /// waits for what the kernel does. With spread it is never on the program's core, and with
    /// pack all are, so that the other cores sleep.
    Policy(RtPolicy),
    /// Give a real-time program another priority, also while it runs; or the host's tasks one
    ///
    /// Of the programs on a CPU the one with the highest priority goes first, and of those
    /// with the same one the one that has had it longest. The program keeps it when it is
    /// started again.
    ///
    /// With host:1, tasks of the host on CPU 1 go before programs that are less urgent, by their
    /// own priority (SCHED_FIFO, SCHED_RR), up to the one that is given. 0: the host goes after
    /// all programs, as it does unless told otherwise.
    Priority(RtPriority),
    /// Show which interrupts shared CPUs have had, and whose they were
    ///
    /// A line for each vector that has been seen. The host's are those that it took since the
    /// CPU is shared, with the host's names for them, as in /proc/interrupts; a device's have
    /// none. What nobody has a use for is the host's, too. The layer's own, its timer and the
    /// programs' bell, the host never sees. A program has vectors of its own, at which the
    /// layer raises its timer's interrupt and the bell's, counted since its last start.
    Vectors(Json),
    /// Look whether a real-time program's text and constants are as they were loaded
    ///
    /// And the copy of its image that another start begins with. The host looks, so not while
    /// a program runs that is protected from it: `shimos run --watch` has another program
    /// look again and again. Exit code 1 if something has changed.
    Check(RtCheck),
}

#[derive(Debug, Args)]
pub struct RtCheck {
    /// Name of a real-time partition
    #[arg(add = names::partitions())]
    pub name: String,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RtPolicy {
    /// From now on; as it is without
    pub policy: Option<HostPolicy>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RtMove {
    /// Name of a real-time partition, or one of the host's CPUs, as `shimos rt` calls it
    #[arg(add = names::partitions())]
    pub name: String,

    /// The CPU, as Linux numbers them
    pub cpu: u32,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RtPriority {
    /// Name of a real-time partition, or host:1 for the host's tasks on CPU 1
    #[arg(add = names::partitions())]
    pub name: String,

    /// 1 to 99, the highest goes first; 0, for the host: after all programs
    #[arg(value_parser = values::priority_or_none())]
    pub priority: u32,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RtLatency {
    /// Name of a real-time partition
    #[arg(add = names::partitions())]
    pub name: String,

    /// Print the histogram, too: a line for each bucket, its bar on a logarithmic scale
    #[arg(long)]
    pub table: bool,

    /// Draw the histogram into a file, as SVG or PNG, which its name says: numbers on a
    /// logarithmic scale, over nanoseconds
    #[arg(long, value_name = "FILE.svg|FILE.png", value_parser = values::picture())]
    pub histogram: Option<values::Picture>,

    /// Print JSON, with all buckets, in nanoseconds and in cycles of the CPU's clock
    #[arg(long, conflicts_with = "table")]
    pub json: bool,
}
