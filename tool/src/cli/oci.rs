//! `shimos-oci`: the command line of OCI runtimes, as podman, docker and others call it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::json::Json;
use crate::oci::process::{self, User};
use crate::oci::{bundle, record};
use crate::units::duration;

/// How errors are written into the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Json,
    Text,
}

/// Who makes cgroups on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CgroupManager {
    Cgroupfs,
    Systemd,
}

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "shimos-oci",
    version,
    about = "Run each container on a stock kernel of its own",
    after_help = AFTER,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Oci {
    /// Where containers are remembered
    #[arg(long, value_name = "DIRECTORY", default_value = record::ROOT)]
    pub root: PathBuf,

    /// Write errors into a file, too
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,

    /// How they are written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,

    /// Let systemd make the cgroups on the host
    #[arg(long)]
    pub systemd_cgroup: bool,

    /// The same, in crun's words
    #[arg(long, value_name = "MANAGER", hide = true)]
    pub cgroup_manager: Option<CgroupManager>,

    /// Taken for who gives it; nothing more is said
    #[arg(long, hide = true)]
    pub debug: bool,

    #[command(subcommand)]
    pub command: OciCommand,
}

const AFTER: &str = "\
podman --runtime shimos run IMAGE COMMAND

Annotations (podman run --annotation):
  org.shimos.kernel   version of a kernel in /boot, or a file [default: the host's]
  org.shimos.cpus     how many CPUs [default: of --cpuset-cpus or --cpus, or 1]
  org.shimos.memory   of the partition [default: of --memory and some more, or 512M]

Files:
  /etc/shimos/oci.toml  which CPUs containers may have, and the partitions that wait for them:
                        `shimos pool`; all keys are in docs/containers.md";

/// What can be done with a container.
#[derive(Debug, Subcommand)]
pub enum OciCommand {
    /// Make a container, up to its program's first step
    Create(Create),
    /// Let its program begin
    Start {
        /// The container
        id: String,
    },
    /// Make a container, run it to its end, and remove it
    Run(Run),
    /// Print its state as JSON
    State {
        /// The container
        id: String,
    },
    /// Send it a signal
    Kill(Kill),
    /// Remove what has ended
    Delete {
        /// Kill it first; it is fine if there is none
        #[arg(short, long)]
        force: bool,
        /// The container
        id: String,
    },
    /// Run one more program in it
    Exec(Exec),
    /// List its programs
    Ps {
        /// table or json
        #[arg(short, long, value_name = "FORMAT", default_value = "table")]
        format: String,
        /// The container
        id: String,
    },
    /// Print what it uses, one JSON object a line, until it has ended
    ///
    /// The objects are those of runc: `stats`, and `oom` if a program was killed because of the
    /// limit of memory since the last one.
    Events {
        /// Print it once
        #[arg(long)]
        stats: bool,
        /// From one to the next
        #[arg(long, value_name = "SECONDS", value_parser = duration::parse, default_value = "5")]
        interval: Duration,
        /// The container
        id: String,
    },
    /// Let its programs stand still
    Pause {
        /// The container
        id: String,
    },
    /// Let them go on
    Resume {
        /// The container
        id: String,
    },
    /// Change its limits of memory and processes
    Update {
        /// File with `linux.resources` as JSON
        #[arg(short, long, value_name = "FILE")]
        resources: PathBuf,
        /// The container
        id: String,
    },
    /// List all containers
    List {
        /// Print JSON
        #[arg(short, long, value_name = "FORMAT", default_value = "table")]
        format: String,
        /// Print the ids only
        #[arg(short, long)]
        quiet: bool,
    },
    /// Print what can be had, as JSON
    Features,
    /// Be the container's program on the host
    #[command(hide = true)]
    Proxy {
        /// Of its partition's vsock
        cid: u32,
        /// The container
        id: String,
        /// In the share: the process that joins it
        process: Option<String>,
        /// What a crash of its kernel can be found by
        #[arg(long)]
        partition: Option<String>,
    },
}

/// What a process is given on the host.
#[derive(Debug, Args)]
pub struct Outside {
    /// Unix socket that gets its terminal
    #[arg(long, value_name = "SOCKET")]
    pub console_socket: Option<PathBuf>,

    /// File that gets the number of its process on the host
    #[arg(long, value_name = "FILE")]
    pub pid_file: Option<PathBuf>,

    /// Refused if it is not 0: open files do not reach another kernel
    #[arg(long, value_name = "N", default_value = "0")]
    pub preserve_fds: u32,
}

/// What is made.
#[derive(Debug, Args)]
pub struct Create {
    /// Directory with config.json
    #[arg(short, long, value_name = "DIRECTORY", default_value = ".")]
    pub bundle: PathBuf,

    /// Another file than config.json; in the bundle, if it does not begin with '/'
    #[arg(short = 'f', long, value_name = "FILE", default_value = bundle::CONFIG)]
    pub config: PathBuf,

    #[command(flatten)]
    pub outside: Outside,

    /// Taken for who gives it: the root of its partition can always be changed
    #[arg(long, hide = true)]
    pub no_pivot: bool,

    /// Taken for who gives it: its keyring is another kernel's
    #[arg(long, hide = true)]
    pub no_new_keyring: bool,

    /// The container
    pub id: String,
}

/// What is made and run.
#[derive(Debug, Args)]
pub struct Run {
    /// Return when it has begun, and leave the rest to `delete`
    #[arg(short, long)]
    pub detach: bool,

    /// Do not remove it at its end
    #[arg(long)]
    pub keep: bool,

    #[command(flatten)]
    pub create: Create,
}

/// Who gets which signal.
#[derive(Debug, Args)]
pub struct Kill {
    /// Send it to all of its programs
    #[arg(short, long)]
    pub all: bool,

    /// The container
    pub id: String,

    /// A name or a number
    #[arg(default_value = "SIGTERM")]
    pub signal: String,
}

/// What joins a container.
#[derive(Debug, Args)]
pub struct Exec {
    /// File with the process as JSON, instead of a command
    #[arg(short, long, value_name = "FILE", conflicts_with = "command")]
    pub process: Option<PathBuf>,

    /// Return when it has begun
    #[arg(short, long)]
    pub detach: bool,

    /// Give it a terminal
    #[arg(short, long)]
    pub tty: bool,

    /// Another user than the container's, and another group
    #[arg(short, long, value_name = "UID[:GID]", value_parser = process::user, conflicts_with = "process")]
    pub user: Option<User>,

    /// Another variable of its environment, or another value
    #[arg(short, long, value_name = "NAME=VALUE", conflicts_with = "process")]
    pub env: Vec<String>,

    /// Another directory to begin in
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "process")]
    pub cwd: Option<String>,

    /// One more capability
    #[arg(short, long, value_name = "CAPABILITY", conflicts_with = "process")]
    pub cap: Vec<String>,

    /// A cgroup below the container's
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<String>,

    /// It gains no rights by the files that it executes
    #[arg(long, conflicts_with = "process")]
    pub no_new_privs: bool,

    #[command(flatten)]
    pub outside: Outside,

    /// The container
    pub id: String,

    /// The program and its arguments
    #[arg(
        required_unless_present = "process",
        trailing_var_arg = true,
        value_name = "PROGRAM [ARGS]"
    )]
    pub command: Vec<String>,
}

/// What is done with the pool.
#[derive(Debug, Subcommand)]
pub enum Pool {
    /// Keep the pool as full as /etc/shimos/oci.toml says, until Ctrl-C or SIGTERM
    ///
    /// Makes what is missing, also when a container takes a partition or gives one back. Those
    /// that still wait at the end are removed; containers keep theirs.
    Keep,
    /// List the warm partitions and the containers that have them
    Ls(Json),
    /// Remove those that nobody keeps and no container has
    Drain,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn sound() {
        Oci::command().debug_assert();
        insta::assert_snapshot!(Oci::command().render_long_help());
    }

    #[test]
    fn as_conmon_calls_it() {
        let line = "shimos-oci --log-format=json --log=/l --systemd-cgroup create \
            --bundle /b --pid-file /p --console-socket /c a1";
        let oci = Oci::try_parse_from(line.split_whitespace()).unwrap();
        assert!(oci.systemd_cgroup && oci.log_format == LogFormat::Json);
        let OciCommand::Create(create) = oci.command else {
            panic!()
        };
        assert_eq!((create.id.as_str(), create.outside.preserve_fds), ("a1", 0));
        let line = "shimos-oci exec --pid-file /p --process /x --detach --tty a1";
        let OciCommand::Exec(exec) = Oci::try_parse_from(line.split_whitespace())
            .unwrap()
            .command
        else {
            panic!()
        };
        assert!(exec.detach && exec.command.is_empty());
        let line = "shimos-oci exec a1 ls -l";
        let OciCommand::Exec(exec) = Oci::try_parse_from(line.split_whitespace())
            .unwrap()
            .command
        else {
            panic!()
        };
        assert_eq!(exec.command, ["ls", "-l"]);
        let line = "shimos-oci --cgroup-manager systemd run -d --config c/x.json a1";
        let oci = Oci::try_parse_from(line.split_whitespace()).unwrap();
        assert_eq!(oci.cgroup_manager, Some(CgroupManager::Systemd));
        let OciCommand::Run(run) = oci.command else {
            panic!()
        };
        assert!(run.detach && !run.keep && run.create.config.ends_with("x.json"));
    }
}
