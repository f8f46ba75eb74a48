//! The command line.

mod devices;
mod ikc;
mod json;
mod life;
mod names;
mod oci;
mod rt;
mod run;
mod selftest;
#[cfg(test)]
mod tests;
mod values;
mod with_kloader;
mod without_kloader;

use clap::{Parser, Subcommand};

pub use devices::{Attach, Detach};
pub use ikc::{Perf, Ping};
pub use json::Json;
pub use life::{Names, Resize, Restart, Rm, Start, Stop, Wait};
pub use oci::{
    CgroupManager, Create as OciCreate, Exec as OciExec, LogFormat, Oci, OciCommand,
    Outside as OciOutside, Pool, Run as OciRun,
};
pub use rt::{Rt, RtCheck, RtLatency, RtMore, RtMove, RtPolicy, RtPriority};
pub use run::Run;
pub use selftest::{Rung, Selftest};
pub use values::{DetachKey, Difference, Format, Picture};
pub use with_kloader::{Console, Dump, Logs, Ls, WithKLoader};
pub use without_kloader::{
    Bench, Cp, Doctor, Exec, Show, Top, Trust, TrustRun, Web, WithoutKLoader,
};

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
  /etc/shimos/NAME.toml  partitions that `start` makes: shimos.toml(5)
  /etc/shimos/oci.toml   what containers may have, and what waits for them: shimos-oci(1)";

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

/// Both print their commands in one list; `display_order` mends it where that matters.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    WithKLoader(WithKLoader),
    #[command(flatten)]
    WithoutKLoader(WithoutKLoader),
}
