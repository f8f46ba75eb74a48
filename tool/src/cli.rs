//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::config::OnReboot;
use crate::{cpulist, duration, name, size};

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed; standard error says why and, where known, what to do
  2    wrong usage
  130  interrupted by Ctrl-C, what was half done is undone (128 + n: signal n)

Environment:
  SHIMOS_MODULES      directory with <kernel version>/shimos_ikc.ko and shimos_agent.ko,
                      instead of /lib/modules/<kernel version>/updates/dkms
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
    Run(Run),
    /// List the partitions
    #[command(visible_alias = "list")]
    Ls(Json),
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
    /// Start partitions again with the kernel they have
    Restart(Restart),
    /// Remove partitions: give their CPUs and memory back
    Rm(Rm),
    /// Write a partition's memory to a file for crash and drgn
    ///
    /// The file is an ELF vmcore. drgn opens any; crash needs hooks on the stacks
    /// of the running tasks and may give up ("read of stack ... failed") on a
    /// kernel that has not panicked and is built without CONFIG_X86_MCE, as
    /// Debian 12's cloud kernel is: use drgn, or crash --minimal, for these.
    Dump(Dump),
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
pub struct Run {
    /// Name of the partition: letters, digits, '.', '_', '-'
    #[arg(value_parser = name::parse, required_unless_present = "file")]
    pub name: Option<String>,

    /// Take what is not given here from a TOML file
    #[arg(short, long, value_name = "FILE.toml")]
    pub file: Option<PathBuf>,

    /// CPUs to take from the host, as Linux numbers them: 2-3 or 1,4-7
    #[arg(long, value_name = "LIST", value_parser = CpuListParser)]
    pub cpus: Option<CpuList>,

    /// Memory to take from the host: 512M, 1G
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub memory: Option<u64>,

    /// Kernel: a bzImage or ELF vmlinux [default: the one the host runs]
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,

    /// Initrd [default: /boot/initrd.img-<kernel version> if it exists]
    #[arg(long, value_name = "FILE")]
    pub initrd: Option<PathBuf>,

    /// Kernel parameters
    #[arg(long, value_name = "PARAMETERS", allow_hyphen_values = true)]
    pub cmdline: Option<String>,

    /// Do not put the agent into the initrd: no console, no orderly stop, weaker containment
    #[arg(long)]
    pub no_agent: bool,

    /// What to do when the partition reboots [default: stop]
    #[arg(long, value_name = "WHAT")]
    pub on_reboot: Option<OnReboot>,

    /// Seconds to wait until it is up
    #[arg(long, value_name = "SECONDS", value_parser = duration::parse, default_value = "60")]
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

/// A whole list as one value; clap takes a plain `Vec` for repeated options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

#[derive(Clone)]
struct CpuListParser;

impl clap::builder::TypedValueParser for CpuListParser {
    type Value = CpuList;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let parse = |text: &str| cpulist::parse(text).map(CpuList);
        clap::builder::TypedValueParser::parse_ref(&parse, command, arg, value)
    }
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
    #[arg(short, long)]
    pub follow: bool,
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
    #[arg(long, value_name = "SECONDS", value_parser = duration::parse)]
    pub timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetachKey(pub Option<u8>);

impl DetachKey {
    pub fn shown(self) -> Option<String> {
        let key = self.0?;
        Some(match key {
            0..32 => format!("Ctrl-{}", (key + 64) as char),
            127 => "Ctrl-?".into(),
            _ => (key as char).to_string(),
        })
    }
}

fn detach_key(text: &str) -> Result<DetachKey, String> {
    let key = match text.as_bytes() {
        b"none" => None,
        [b'^', b'?'] => Some(127),
        [b'^', key] if (64..96).contains(&key.to_ascii_uppercase()) => {
            Some(key.to_ascii_uppercase() & 31)
        }
        [key] if key.is_ascii() => Some(*key),
        _ => {
            return Err("a key is one character, ^ and a character for Ctrl, or \"none\"".into());
        }
    };
    Ok(DetachKey(key))
}

#[derive(Debug, Args)]
pub struct Names {
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Stop {
    #[command(flatten)]
    pub names: Names,
    /// Seconds to wait for the power-off before killing
    #[arg(long, value_name = "SECONDS", value_parser = duration::parse, default_value = "30")]
    pub timeout: Duration,
}

#[derive(Debug, Args)]
pub struct Restart {
    #[command(flatten)]
    pub names: Names,
    /// Kill it instead of asking it to power off
    #[arg(long)]
    pub force: bool,
    /// Seconds to wait for the power-off before killing
    #[arg(long, value_name = "SECONDS", value_parser = duration::parse, default_value = "30")]
    pub stop_timeout: Duration,
    /// Seconds to wait until it is up
    #[arg(long, value_name = "SECONDS", value_parser = duration::parse, default_value = "60")]
    pub timeout: Duration,
}

#[derive(Debug, Args)]
pub struct Rm {
    #[command(flatten)]
    pub names: Names,
    /// Kill it first if it runs
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct Dump {
    pub name: String,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Overwrite the file if it exists, and do not check the free space
    #[arg(long)]
    pub force: bool,
    /// The partition may be running: do not warn about it
    #[arg(long)]
    pub live: bool,
}

#[derive(Debug, Args)]
pub struct Ping {
    /// Name of a kernel: a partition's, or "host"
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
    #[arg(long, value_name = "SECONDS", value_parser = duration::parse, default_value = "5")]
    pub timeout: Duration,
    /// Print JSON, at the end
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Perf {
    /// Name of a kernel: a partition's, or "host"
    pub name: String,
    /// Seconds to send
    #[arg(short, long, value_name = "SECONDS", value_parser = duration::parse, default_value = "5")]
    pub time: Duration,
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Cli, String> {
        Cli::try_parse_from(line.split(' ')).map_err(|e| e.to_string())
    }

    #[test]
    fn clap_is_content() {
        Cli::command().debug_assert();
    }

    #[test]
    fn run_in_full() {
        let cli = parse("shimos run web --cpus 2-3 --memory 1G --cmdline -x --on-reboot restart")
            .unwrap();
        let Command::Run(run) = cli.command else {
            panic!()
        };
        assert_eq!(run.cpus, Some(CpuList(vec![2, 3])));
        assert_eq!(run.memory, Some(1 << 30));
        assert_eq!(run.on_reboot, Some(OnReboot::Restart));
        assert_eq!(run.timeout, Duration::from_secs(60));
    }

    #[test]
    fn bad_usage_says_what_is_wrong() {
        for (line, word) in [
            ("shimos run", "NAME"),
            ("shimos run a/b", "letters"),
            ("shimos run web --cpus 3-2", "backwards"),
            ("shimos run web --memory 1X", "unit"),
            ("shimos run web --timeout x", "no time"),
            ("shimos stop", "NAME"),
            ("shimos frob", "frob"),
            ("shimos ping", "NAME"),
            ("shimos ping web -c 0", "0 is not in"),
            ("shimos ping web -i -1", "-1"),
            ("shimos perf web -s 1X", "unit"),
            ("shimos console web --detach-key abc", "one character"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }

    #[test]
    fn detach_keys() {
        assert_eq!(detach_key("^]"), Ok(DetachKey(Some(0x1d))));
        assert_eq!(detach_key("^a"), Ok(DetachKey(Some(1))));
        assert_eq!(detach_key("~"), Ok(DetachKey(Some(b'~'))));
        assert_eq!(detach_key("none"), Ok(DetachKey(None)));
        assert_eq!(DetachKey(Some(0x1d)).shown().unwrap(), "Ctrl-]");
    }
}
