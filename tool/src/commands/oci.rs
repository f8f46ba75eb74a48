//! `shimos-oci`

use std::fs::File;
use std::io::Write;

use serde_json::{Value, json};

use crate::cli::{
    CgroupManager, LogFormat, Oci, OciCommand, OciCreate, OciExec, OciOutside, OciRun,
};
use crate::error::{Error, IoContext, Result};
use crate::oci::bundle::{self, Bundle};
use crate::oci::life::{Outside, Runtime};
use crate::oci::process::Changes;
use crate::oci::{events, proxy, shadow};
use crate::ui::output;

/// Do what the command line says; what goes wrong is in the log as well.
pub fn run(oci: &Oci) -> Result<()> {
    let result = dispatch(oci);
    if let (Err(error @ Error::Failed { .. }), Some(path)) = (&result, &oci.log) {
        let log = File::options().create(true).append(true).open(path);
        let written =
            log.and_then(|mut log| log.write_all(entry(oci.log_format, error).as_bytes()));
        written.or_fail(format_args!("cannot write {}", path.display()))?;
    }
    result
}

fn entry(format: LogFormat, error: &Error) -> String {
    match format {
        LogFormat::Json => format!("{}\n", json!({"level": "error", "msg": error.to_string()})),
        LogFormat::Text => format!("{error}\n"),
    }
}

fn dispatch(oci: &Oci) -> Result<()> {
    use OciCommand as Command;
    let runtime = Runtime {
        root: oci.root.clone(),
        systemd: oci.systemd_cgroup || oci.cgroup_manager == Some(CgroupManager::Systemd),
    };
    match &oci.command {
        Command::Create(args) => {
            let outside = outside(&args.outside)?;
            runtime.create(&args.id, read(args)?, &outside)
        }
        Command::Run(args) => run_one(&runtime, args),
        Command::Start { id } => runtime.start(id),
        Command::State { id } => print(&runtime.state(id)?),
        Command::Kill(args) => runtime.kill(&args.id, &args.signal, args.all),
        Command::Delete { force, id } => runtime.delete(id, *force),
        Command::Exec(args) => exec(&runtime, args),
        Command::Ps { format, id } => output::line(runtime.ps(id, format)?.trim_end()),
        Command::Events {
            stats,
            interval,
            id,
        } => {
            let every = (!stats).then_some(*interval);
            events::follow(&runtime, id, every, |event| output::line(event))
        }
        Command::Pause { id } => runtime.pause(id, true),
        Command::Resume { id } => runtime.pause(id, false),
        Command::Update { resources, id } => runtime.update(id, bundle::json(resources)?),
        Command::List { format, quiet } => list(&runtime.list(), format, *quiet),
        Command::Features => output::line(shadow::features()?.trim_end()),
        Command::Proxy {
            cid,
            id,
            process,
            partition,
        } => {
            let key = process.as_ref().unwrap_or(id);
            proxy::run(*cid, key, partition.as_deref())
        }
    }
}

fn read(args: &OciCreate) -> Result<Bundle> {
    Bundle::read(&args.bundle, &args.config)
}

fn run_one(runtime: &Runtime, args: &OciRun) -> Result<()> {
    let outside = outside(&args.create.outside)?;
    let (id, bundle) = (&args.create.id, read(&args.create)?);
    match args.detach {
        true => runtime.begin(id, bundle, &outside),
        false => runtime.run(id, bundle, &outside, args.keep),
    }
}

fn no_files(count: u32) -> Result<()> {
    match count {
        0 => Ok(()),
        _ => Err(Error::new(format!(
            "--preserve-fds {count}: open files do not reach another kernel"
        ))),
    }
}

fn outside(args: &OciOutside) -> Result<Outside> {
    no_files(args.preserve_fds)?;
    Ok(Outside {
        console_socket: args.console_socket.clone(),
        pid_file: args.pid_file.clone(),
    })
}

fn exec(runtime: &Runtime, args: &OciExec) -> Result<()> {
    let outside = outside(&args.outside)?;
    let process = match &args.process {
        Some(path) => bundle::json(path)?,
        None => changes(args).of(runtime.process(&args.id)?),
    };
    let cgroup = args.cgroup.as_deref();
    runtime.exec(&args.id, process, cgroup, args.detach, &outside)
}

fn changes(args: &OciExec) -> Changes {
    Changes {
        args: args.command.clone(),
        terminal: args.tty,
        user: args.user,
        env: args.env.clone(),
        cwd: args.cwd.clone(),
        capabilities: args.cap.clone(),
        no_new_privileges: args.no_new_privs,
    }
}

/// As the specification has it, without a format of ours.
fn print(value: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value);
    output::line(text.map_err(|e| Error::new(e.to_string()))?)
}

fn list(all: &[Value], format: &str, quiet: bool) -> Result<()> {
    let field = |state: &Value, name: &str| match &state[name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match (quiet, format) {
        (true, _) => all
            .iter()
            .try_for_each(|state| output::line(field(state, "id"))),
        (_, "json") => print(&Value::Array(all.to_vec())),
        (_, "table") => {
            output::line("ID\tPID\tSTATUS\tPARTITION\tBUNDLE")?;
            all.iter().try_for_each(|state| {
                let row =
                    ["id", "pid", "status", "partition", "bundle"].map(|name| field(state, name));
                output::line(row.join("\t"))
            })
        }
        (_, other) => Err(Error::new(format!("'{other}' is no format: table or json"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log() {
        let error = Error::new("no \"x\"").hint("do y");
        assert_eq!(entry(LogFormat::Text, &error), "no \"x\"\n");
        let json: Value = serde_json::from_str(&entry(LogFormat::Json, &error)).unwrap();
        assert_eq!(
            (&json["msg"], &json["level"]),
            (&json!("no \"x\""), &json!("error"))
        );
        assert_eq!(no_files(0), Ok(()));
        assert!(no_files(1).is_err());
        assert!(list(&[], "xml", false).is_err());
    }
}
