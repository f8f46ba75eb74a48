//! The command-line tool of SHIMOS.

mod abi;
mod arch;
mod boot;
mod cli;
mod commands;
mod config;
mod devices;
mod error;
mod exec;
mod guest;
mod ikc;
mod kml;
mod machine;
mod memory;
mod oci;
mod partition;
mod pci;
mod system;
mod ui;
mod units;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command, Oci, Trust, WithKLoader, WithoutKLoader};
use error::Result;
use partition::kloader::KLoader;
use ui::{output, terminal};

fn main() -> ExitCode {
    terminal::restore_on_panic();
    match called_as() {
        Name::Shimos => {}
        Name::Oci => return oci_runtime(),
        Name::Init => return exit(oci::init::run()),
    }
    commands::docs::complete();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // What is wrong would look like the program's exit code 2.
        Err(e) if e.use_stderr() && is_trust_run(std::env::args_os().skip(1)) => {
            let _ = e.print();
            return ExitCode::from(kml::program::FAILED);
        }
        Err(e) => e.exit(),
    };
    abi::catch_signals();
    exit(dispatch(cli))
}

/// One program, three names.
enum Name {
    Shimos,
    /// An OCI runtime, and its proxy.
    Oci,
    /// The first process of a container's partition.
    Init,
}

fn called_as() -> Name {
    let name = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&name);
    match name.file_name().and_then(|name| name.to_str()) {
        Some("shimos-oci" | ".shimos-oci") => Name::Oci,
        _ if name == Path::new("/init") && std::process::id() == 1 => Name::Init,
        _ => Name::Shimos,
    }
}

fn oci_runtime() -> ExitCode {
    let oci = Oci::parse();
    abi::catch_signals();
    exit(commands::oci::run(&oci))
}

fn exit(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            output::error(&e);
            ExitCode::from(e.exit_code())
        }
    }
}

fn is_trust_run(words: impl Iterator<Item = OsString>) -> bool {
    let mut commands = words.filter(|word| !word.as_encoded_bytes().starts_with(b"-"));
    commands.by_ref().take(2).eq(["trust", "run"])
}

fn dispatch(cli: Cli) -> Result<()> {
    match cli.command {
        Command::WithKLoader(command) => with_kloader(&KLoader::open()?, command, cli.verbose),
        Command::WithoutKLoader(command) => without_kloader(command),
    }
}

fn with_kloader(device: &KLoader, command: WithKLoader, verbose: bool) -> Result<()> {
    use WithKLoader as With;
    match command {
        With::Run(args) => commands::run::run(device, &args, verbose),
        With::Ls(args) => commands::ls::run(device, &args),
        With::Logs(args) => commands::logs::run(device, &args, verbose),
        With::Console(args) => commands::console::run(device, &args),
        With::Stop(args) => commands::stop::run(device, &args),
        With::Kill(args) => commands::kill::run(device, &args),
        With::Resize(args) => commands::resize::run(Path::new("/"), device, &args),
        With::Start(args) => commands::start::run(device, &args, verbose),
        With::Wait(args) => commands::wait::run(device, &args),
        With::Restart(args) => commands::restart::run(device, &args),
        With::Rm(args) => commands::rm::run(device, &args),
        With::Dump(args) => commands::dump::run(device, &args),
        With::Rt(args) => commands::rt::run(device, &args),
    }
}

fn without_kloader(command: WithoutKLoader) -> Result<()> {
    use WithoutKLoader as Without;
    match command {
        Without::Doctor(args) => commands::doctor::run(&args),
        Without::Selftest(args) => commands::selftest::run(&args),
        Without::Show(args) => commands::show::run(&args),
        Without::Attach(args) => commands::attach::run(&args),
        Without::Detach(args) => commands::detach::run(&args),
        Without::Serve(_) => commands::serve::run(),
        Without::Exec(args) => commands::exec::run(&args),
        Without::Execd => exec::server::run(|| Ok(())),
        Without::ExecTty { command } => exec::server::in_its_terminal(&command),
        Without::Pool(command) => commands::pool::run(&command),
        Without::Cp(args) => commands::cp::run(&args),
        Without::Devices(args) => commands::devices::run(&args),
        Without::Top(args) => commands::top::run(&args),
        Without::Web(args) => commands::web::run(&args),
        Without::Ping(args) => commands::ping::run(&args),
        Without::Perf(args) => commands::perf::run(&args),
        Without::Ikc(args) => commands::ikc::run(&args),
        Without::Trust(Trust::Run(args)) => commands::trust::run(&args),
        Without::Trust(Trust::Status(args)) => commands::trust::status(&args),
        Without::Bench(args) => commands::bench::run(&args),
        Without::Completions { shell } => commands::docs::completions(shell),
        Without::Man { directory } => commands::docs::man(&directory),
    }
}
